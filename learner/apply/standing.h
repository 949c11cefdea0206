// Where a run stands at one version: what the pipeline starts from and what a checkpoint holds.
#pragma once

#include <cstdint>
#include <vector>

#include "wire/slices.h"

namespace starling::learner {

struct Standing {
  std::uint32_t term = 1;
  std::uint64_t version = 0, steps = 0, optimizer_step = 0;
  std::vector<float> weights;
  std::vector<std::vector<float>> state;  // of the optimizer; empty: zeros
};

// The same of a slice of the weights alone.
Standing CutOut(Standing whole, wire::Slice slice);

}  // namespace starling::learner
