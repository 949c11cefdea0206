#include "envs/games/minatar_seaquest.h"

#include "envs/games/minatar_spec.h"

namespace starling::envs {

EnvSpec MinatarSeaquest::Spec() { return MinatarSpec("seaquest", kChannels); }

}  // namespace starling::envs
