// A net in stages (net.stages): each has a contiguous range of layers, a thread and a backend of
// its own. The unit of work is a block, the envs of one group at one step: while stage 1 computes a
// block, stage 0 computes the next one, of another group.
//
// The backward pass goes block by block in reverse time, from the last stage down; so a stack of
// recurrent layers is a wavefront. The gradients of weights are one product over all rows and come
// last: they fill the time in which the lower stages are not finished.
//
// To its owner it is a net in the memory of stage 0: observations go in there, logits and values
// come back there, parameters and gradient are whole and there. Between stages, activations and
// their gradients pass through host memory. On GPUs the work of a block is recorded and replayed
// (Backend::Repeat), in each stage.
//
// The bits depend on the blocks, and neither on threads nor on the number of stages beyond one.
//
// Thread safety: none; the owner's thread alone calls it.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "actors/crossing.h"
#include "actors/pipeline.h"
#include "actors/replica.h"
#include "actors/stage.h"
#include "core/memory.h"
#include "net/model.h"
#include "net/part.h"

namespace starling::actors {

// Where the stages run: on a thread each, or all on the caller's (in tests).
enum class Threads : std::uint8_t { kOneEach, kCallers };

class StagedNet final : public net::Model<float> {
 public:
  // `replica` has the backend of stage 0 and makes the others, each on its thread. `groups` are the
  // blocks of step 0. Throws UserError as net::CutIntoStages, net::MakeModel and replica.next.
  StagedNet(const net::ModelSpec& spec, int stages, const Replica& replica, const net::Batch& batch,
            std::vector<net::Block> groups, Threads threads = Threads::kOneEach);
  ~StagedNet() override;

  const net::ParameterLayout& layout() const override { return whole_.layout(); }
  net::PolicyShape policy() const override { return whole_.policy(); }
  void TakeWeights(std::span<const float> host) override;
  std::span<float> observations() override;
  std::span<std::uint8_t> resets() override;
  std::span<const float> logits() const override { return logits_.span(); }
  std::span<const float> values() const override { return values_.span(); }

  using net::Model<float>::Forward;
  // REQUIRES: TakeWeights was called with the same parameters, unchanged until Backward returns.
  void Forward(std::span<const float> parameters, const net::Block& block, int before) override;
  void Forward(std::span<const float> parameters, int step) override;
  bool Ready(const net::Block& block) override;
  void Await(const net::Block& block) override;
  void Carry(int step) override;
  std::vector<std::span<float>> carried() override { return whole_.carried(); }
  void CarriedFields(StateBytes& state) override;
  void Backward(std::span<const float> parameters, int steps, std::span<const float> dlogits,
                std::span<const float> dvalues, std::span<float> gradient) override;

  // Time that each stage has spent at work (for benchmarks).
  std::vector<std::int64_t> busy_ns() const;

 private:
  // nullptr beyond both ends.
  Stage* At(int stage) {
    return stage < 0 || stage >= pipeline_.stages()
               ? nullptr
               : stages_[static_cast<std::size_t>(stage)].get();
  }
  std::size_t RowOf(const net::Block& block) const;
  NumberedBlock Numbered(const net::Block& block) const;
  std::span<const float> ToHost(std::span<const float> there, Buffer<float>& copy);
  void Collect(std::span<float> gradient);

  const net::Batch batch_;
  const std::vector<net::Block> groups_;
  Memory& memory_;                 // of stage 0
  net::Part<float> whole_;         // without arrays: for its layout
  Buffer<float> logits_, values_;  // (steps, envs, A), (steps, envs)
  Incoming<float> logits_in_, values_in_;
  // On the host, of arrays on a GPU.
  Buffer<float> dlogits_copy_, dvalues_copy_, gradient_copy_;
  std::vector<std::uint64_t> jobs_;             // (steps * envs): of the block that begins there
  std::vector<std::unique_ptr<Stage>> stages_;  // each is made and destroyed on its thread
  Pipeline pipeline_;                           // last: its threads use the members above
};

}  // namespace starling::actors
