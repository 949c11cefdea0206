// One update of the weights, as the network thread makes it and an applier (applier.h) carries it
// out, and what every applier does with it.
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

// Everything but the results is read-only for the applier.
struct Update {
  std::uint64_t version = 0;           // that it produces: one more than the one submitted before
  std::vector<GradientRef> gradients;  // in the order of summation, at least one
  double lr = 0;
  double scale = 1;                    // of the step, after the normalisation
  std::uint64_t optimizer_step = 1;    // updates including this one
  wire::SnapshotMeta meta;             // published with the version; meta.version == version
  bool hash = false;                   // only an applier in order knows one (Applier::in_order)
  std::shared_ptr<StateCopy> capture;  // null, or filled with this version

  // Results, valid once the applier's Completed() >= version.
  std::uint64_t WeightsHash() const { return weights_hash.load(std::memory_order_relaxed); }

  // The applier's own. Relaxed sums into weights_hash are ordered by lanes_left.
  std::atomic<std::uint64_t> weights_hash{0};
  std::atomic<int> lanes_left{0};
};

// The hash of a weight vector whose size is a multiple of 16: the sum (mod 2^64) over its groups of
// 16 floats of XXH3 of the group's bytes, seeded with the group's index. A sum, so that lanes can
// add their parts in any order. `first_group` is the index of the first group in `weights`.
std::uint64_t HashWeights(std::span<const float> weights, std::size_t first_group = 0);

// Floats summed, applied and published at a time. So few that the processor, while the divisions
// and roots of one block keep its divider busy, already sums the next block and stores the last
// one: 0.49 ns per weight with 2048, 0.42 with 256.
inline constexpr std::size_t kApplyBlock = 256;

// sum_k weight_k * g_k over [offset, offset + n), added in the order given, in `room` (n floats);
// or where it already lies, if there is one gradient of weight 1: 1 * g is g, bit for bit.
const float* SumGradients(const std::vector<GradientRef>& gradients, std::size_t offset,
                          std::size_t n, float* room);

// CHECKs that `update` follows version `submitted` of `size` weights, and makes room in its capture
// for them and for `slots` vectors of state.
void Admit(Update& update, std::uint64_t submitted, std::size_t size, std::size_t slots);

}  // namespace starling::learner
