#include "envs/games/minatar_freeway.h"

namespace starling::envs {

EnvSpec MinatarFreeway::Spec() {
  return {.name = "minatar/freeway",
          .height = kSide,
          .width = kSide,
          .channels = kChannels,
          .num_actions = kNumActions,
          .action_names = {"noop", "left", "up", "right", "down", "fire"}};
}

}  // namespace starling::envs
