#include "envs/games/minatar_breakout.h"

#include "envs/games/minatar_spec.h"

namespace starling::envs {

EnvSpec MinatarBreakout::Spec() { return MinatarSpec("breakout", kChannels); }

}  // namespace starling::envs
