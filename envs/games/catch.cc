#include "envs/games/catch.h"

namespace starling::envs {

EnvSpec Catch::Spec() {
  return {.name = "catch",
          .height = kRows,
          .width = kColumns,
          .channels = 1,
          .num_actions = kNumActions,
          .action_names = {"stay", "left", "right"}};
}

}  // namespace starling::envs
