#include "envs/games/arcade_pong.h"

namespace starling::envs {

EnvSpec ArcadePong::Spec() {
  return {.name = "arcade/pong",
          .height = kSide,
          .width = kSide,
          .channels = 1,
          .num_actions = kNumActions,
          .action_names = {"noop", "up", "down"}};
}

}  // namespace starling::envs
