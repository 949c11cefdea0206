#include "envs/games/minatar_freeway.h"

#include "envs/games/minatar_spec.h"

namespace starling::envs {

EnvSpec MinatarFreeway::Spec() { return MinatarSpec("freeway", kChannels); }

}  // namespace starling::envs
