// The unrolls that `starling doctor` compares (rollouts.cc).
#pragma once

#include <string>
#include <vector>

#include "core/config/config.h"
#include "tools/doctor/checks.h"

namespace starling::doctor {

struct RolloutCase {
  std::string name;  // "LSTM, layer norm"
  Config config;     // of the side on the GPU
};

// The net of the MinAtar paper and Breakout, net and games on a GPU.
Config MinatarOnGpu(int envs, int unroll);

// Numbers of envs and steps that are no multiple of a block of threads.
constexpr int EnvsOf(Sizes sizes) { return sizes == Sizes::kSmall ? 9 : 67; }
constexpr int UnrollOf(Sizes sizes) { return sizes == Sizes::kSmall ? 3 : 8; }

std::vector<RolloutCase> RolloutCases(Sizes sizes);

}  // namespace starling::doctor
