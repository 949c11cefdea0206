// The mean of the gradients of all ranks: each rank adds up one slice of all gradients, in the
// order of their sum and by the learner's code, and all get the slices of all. So the bits are
// those of a learner at bound 0. (MPI_Allreduce adds in an order of its own.)
//
// Thread safety: none; one thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "core/bfloat16.h"
#include "core/config/config.h"
#include "learner/pipeline.h"
#include "mirror/world.h"

namespace starling::mirror {

class AllReduce {
 public:
  // `floats`: of a gradient, `trained` of them before its running sums. `type`: of its elements on
  // their way; the mean travels in f32.
  AllReduce(World& world, std::size_t floats, std::size_t trained, NumberType type);

  // The memory for this rank's gradient. It stays until the update that takes it.
  std::span<float> own() { return own_; }

  // Returns the mean of `gradients`, whose slots are the ranks that have them, weighted by their
  // samples. All ranks call it with the same. The result stays until the next call. Throws Overdue.
  std::span<const float> Mean(std::span<const learner::Received> gradients);

 private:
  void Spread();

  World& world_;
  const std::size_t trained_;
  const NumberType type_;
  const std::vector<wire::Slice> slices_;        // by rank
  const wire::Slice& slice_;                     // of this rank
  std::vector<float> own_, mean_;                // (floats)
  std::vector<float> parts_;                     // (ranks, slice): of all gradients
  std::vector<Bfloat16> narrow_, narrow_parts_;  // the same in bf16
};

}  // namespace starling::mirror
