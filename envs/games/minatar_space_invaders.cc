#include "envs/games/minatar_space_invaders.h"

namespace starling::envs {

EnvSpec MinatarSpaceInvaders::Spec() {
  return {.name = "minatar/space_invaders",
          .height = kSide,
          .width = kSide,
          .channels = kChannels,
          .num_actions = kNumActions,
          .action_names = {"noop", "left", "up", "right", "down", "fire"}};
}

}  // namespace starling::envs
