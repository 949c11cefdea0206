// The state of training at one version. The pipeline starts from it; a checkpoint holds it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "wire/slices.h"

namespace starling::learner {

struct TrainingState {
  std::uint32_t term = 1;
  std::uint64_t version = 0;
  std::uint64_t steps = 0;           // samples applied
  std::uint64_t optimizer_step = 0;  // updates applied
  std::vector<float> weights;
  // One vector for each slot of the optimizer; empty: zeros.
  std::vector<std::vector<float>> optimizer_state;
};

// The content of a checkpoint: training right after one update. Later updates may be in flight.
struct CheckpointContent {
  TrainingState state;
  std::string counters = "{}";       // Counters::Save
  std::uint64_t journal_offset = 0;  // bytes in the journal
};

// Returns the part of `whole` that belongs to `slice` of the weights.
TrainingState CutOut(TrainingState whole, wire::Slice slice);

}  // namespace starling::learner
