// One stage of a net in stages (actors/staged_net.h): a range of its layers on a backend, and the
// arrays that it exchanges with its neighbours, through the host.
//
// Its parameters are a contiguous range of the whole net's. On the processor and in stage 0 they
// and their gradient stay where the owner has them; another GPU has copies.
//
// Thread safety: made, used and destroyed by one thread, but for the host's sides of its outgoing
// arrays: the stages above and below read them after the call that fetched them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>

#include "actors/crossing.h"
#include "actors/replica.h"
#include "core/memory.h"
#include "net/backend.h"
#include "net/part.h"

namespace starling::actors {

inline std::size_t Length(int count) { return static_cast<std::size_t>(count); }

// A block of a net in stages, and its number among all blocks, step by step.
struct NumberedBlock {
  net::Block block;
  int number = 0;
};

class Stage {
 public:
  // `made` is empty for stage 0: its backend is `first`, the owner's. A step has `groups` blocks.
  Stage(Replica made, net::Backend<float>& first, const net::PartSpec& spec,
        const net::Batch& batch, int groups);

  net::Part<float>& part() { return part_; }
  std::size_t parameters() const { return part_.layout().size(); }
  bool has_heads() const { return has_heads_; }
  // Elements [begin, begin + parameters()) of the whole net's are this stage's.
  std::size_t begin() const { return begin_; }
  void set_begin(std::size_t begin) { begin_ = begin; }

  // Every call until the next one is about these parameters of the whole net. Not for stage 0.
  void TakeWeights(std::span<const float> host);
  // Computes a block of the stage from the output of the one below (nullptr: from observations),
  // and fetches its output. `bottom` is stage 0. `before` as in net::Model.
  void Forward(std::span<const float> parameters, const NumberedBlock& block, int before,
               const Stage* below, const Stage& bottom);
  // The gradients of all logits and values. REQUIRES: has_heads().
  void PutHeadGradients(std::span<const float> dlogits, std::span<const float> dvalues);
  // Computes the gradient of the block's input from that of its output in the stage above (nullptr:
  // from the heads), and fetches it. `steps` as in net::Model.
  void Backward(std::span<const float> parameters, const NumberedBlock& block, int steps,
                const Stage* above);
  // Computes the gradient of the stage's parameters into its range of `gradient`, or, on another
  // GPU, fetches it.
  void Weights(std::span<const float> parameters, int steps, std::span<float> gradient);

  // The host's sides. Empty if it is in `gradient` already.
  std::span<const float> fetched_gradient() const { return gradient_out_.host(); }
  const Outgoing<float>& logits_out() const { return logits_out_; }  // with heads
  const Outgoing<float>& values_out() const { return values_out_; }  // with heads

 private:
  std::size_t RowOf(const net::Block& block) const;
  std::span<const float> WeightsIn(std::span<const float> parameters) const;
  std::span<float> GradientIn(std::span<float> gradient);
  // The rows of an unroll of so many steps.
  std::span<const float> Dlogits(int steps) const;
  std::span<const float> Dvalues(int steps) const;
  void Repeat(int id, const std::function<void()>& ops);

  const Replica replica_;
  net::Backend<float>& backend_;
  Memory& memory_;
  const net::Batch batch_;
  const int blocks_;  // of all steps
  net::Part<float> part_;
  const bool has_heads_;
  std::size_t begin_ = 0;
  Buffer<float> weights_, gradient_;  // (parameters()) on another GPU, else empty
  Buffer<float> dlogits_, dvalues_;   // (steps, envs, A), (steps, envs) with heads, else empty
  Outgoing<std::uint8_t> resets_out_;
  Incoming<std::uint8_t> resets_in_;
  Incoming<float> input_in_, weights_in_, dlogits_in_, dvalues_in_;
  Outgoing<float> input_gradient_out_, gradient_out_, logits_out_, values_out_;
  Outgoing<float> output_out_;          // without heads
  Incoming<float> output_gradient_in_;  // without heads
  std::optional<net::HeldWeights<float>> held_;
};

}  // namespace starling::actors
