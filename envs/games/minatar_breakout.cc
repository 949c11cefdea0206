#include "envs/games/minatar_breakout.h"

namespace starling::envs {

EnvSpec MinatarBreakout::Spec() {
  return {.name = "minatar/breakout",
          .height = kSide,
          .width = kSide,
          .channels = kChannels,
          .num_actions = kNumActions,
          .action_names = {"noop", "left", "up", "right", "down", "fire"}};
}

}  // namespace starling::envs
