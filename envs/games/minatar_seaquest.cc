#include "envs/games/minatar_seaquest.h"

namespace starling::envs {

EnvSpec MinatarSeaquest::Spec() {
  return {.name = "minatar/seaquest",
          .height = kSide,
          .width = kSide,
          .channels = kChannels,
          .num_actions = kNumActions,
          .action_names = {"noop", "left", "up", "right", "down", "fire"}};
}

}  // namespace starling::envs
