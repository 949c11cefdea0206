#include "envs/games/memory_recall.h"

namespace starling::envs {

EnvSpec MemoryRecall::Spec() {
  return {.name = "memory/recall",
          .height = 1,
          .width = 1,
          .channels = kLights,
          .num_actions = kNumActions,
          .action_names = {"noop", "one", "two", "three", "four"}};
}

}  // namespace starling::envs
