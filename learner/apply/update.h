// One update of the weights: the network thread makes it, an applier (applier.h) applies it. Below
// it stand the functions that all appliers share.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "wire/snapshot.h"

namespace starling::learner {

// Weights and optimizer state of one version.
struct StateCopy {
  std::vector<float> weights;
  std::vector<std::vector<float>> state;  // in the order of OptimizerSpec::slots
};

struct GradientRef {
  std::span<const float> values;  // borrowed until the update is completed
  float weight = 1;               // m_k / n
};

// The applier reads all fields, and writes only the results.
struct Update {
  std::uint64_t version = 0;           // produced by it; the previously submitted version + 1
  std::vector<GradientRef> gradients;  // in the order of the sum; at least one
  double lr = 0;
  double scale = 1;                    // factor of the step after the normalisation
  std::uint64_t optimizer_step = 1;    // number of updates including this one
  wire::SnapshotMeta meta;             // published with the version; meta.version == version
  bool hash = false;                   // hash the weights; needs Applier::in_order
  std::shared_ptr<StateCopy> capture;  // nullptr, or to be filled with this version

  // Results, valid once the applier's Completed() >= version.
  std::uint64_t WeightsHash() const { return weights_hash.load(std::memory_order_relaxed); }

  // For the applier only. lanes_left orders the relaxed additions to weights_hash.
  std::atomic<std::uint64_t> weights_hash{0};
  std::atomic<int> lanes_left{0};
};

// Returns the hash of weights: the sum (mod 2^64) over the groups of 16 floats of XXH3 of the
// group's bytes, seeded with the group's index. A sum, so that lanes can add their parts in any
// order. `first_group`: index of the first group of `weights` in the whole vector. REQUIRES: the
// size is a multiple of 16.
std::uint64_t HashWeights(std::span<const float> weights, std::size_t first_group = 0);

// Floats that are summed, applied and published together. A block is so small that the processor
// overlaps blocks: while the divider works on the roots and divisions of one, it sums the next and
// stores the previous. 0.49 ns per weight with 2048, 0.42 with 256.
inline constexpr std::size_t kApplyBlock = 256;

// Returns sum_k weight_k * g_k over [offset, offset + n), added in the order given. The sum is
// written to `room` (n floats), except for a single gradient of weight 1: it is returned as it
// lies, because 1 * g equals g bit for bit.
const float* SumGradients(const std::vector<GradientRef>& gradients, std::size_t offset,
                          std::size_t n, float* room);

// Called on every Submit. CHECKs that `update` follows version `submitted` and has gradients of
// `size` floats. Sizes its capture for the weights and `slots` vectors of state.
void Admit(Update& update, std::uint64_t submitted, std::size_t size, std::size_t slots);

}  // namespace starling::learner
