// The common part of the MinAtar games: a 10 x 10 grid and six actions.
#pragma once

#include <string>

#include "envs/env.h"

namespace starling::envs {

inline EnvSpec MinatarSpec(const std::string& game, int channels) {
  return {.name = "minatar/" + game,
          .height = 10,
          .width = 10,
          .channels = channels,
          .num_actions = 6,
          .action_names = {"noop", "left", "up", "right", "down", "fire"}};
}

}  // namespace starling::envs
