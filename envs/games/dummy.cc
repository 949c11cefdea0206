#include "envs/games/dummy.h"

namespace starling::envs {

EnvSpec Dummy::Spec() {
  return {.name = "dummy",
          .height = 1,
          .width = 1,
          .channels = 3,
          .num_actions = kNumActions,
          .action_names = {"noop", "left", "right"}};
}

}  // namespace starling::envs
