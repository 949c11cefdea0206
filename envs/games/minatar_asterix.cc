#include "envs/games/minatar_asterix.h"

namespace starling::envs {

EnvSpec MinatarAsterix::Spec() {
  return {.name = "minatar/asterix",
          .height = kSide,
          .width = kSide,
          .channels = kChannels,
          .num_actions = kNumActions,
          .action_names = {"noop", "left", "up", "right", "down", "fire"}};
}

}  // namespace starling::envs
