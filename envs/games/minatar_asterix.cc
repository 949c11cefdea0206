#include "envs/games/minatar_asterix.h"

#include "envs/games/minatar_spec.h"

namespace starling::envs {

EnvSpec MinatarAsterix::Spec() { return MinatarSpec("asterix", kChannels); }

}  // namespace starling::envs
