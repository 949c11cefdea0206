#include "envs/games/minatar_space_invaders.h"

#include "envs/games/minatar_spec.h"

namespace starling::envs {

EnvSpec MinatarSpaceInvaders::Spec() { return MinatarSpec("space_invaders", kChannels); }

}  // namespace starling::envs
