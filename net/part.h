// A contiguous range of a net's layers on one backend: the whole net, one stage of several, or one
// of two nets (net/two_nets.h).
//
// All parts of a net have the same rows. The input of the first is the observations; that of
// another is the output of the part below. The last has the heads, or one of them. Whoever runs
// several moves activations up and their gradients down (actors/staged_net.h).
//
// Thread safety: none.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/memory.h"
#include "net/build_layers.h"
#include "net/heads.h"
#include "net/model.h"

namespace starling::net {

struct PartSpec {
  std::vector<PlannedLayer> layers;
  Features input;
  bool first = true;                   // its input is no output of layers and needs no gradient
  std::optional<PolicySpec> policy{};  // of the policy head, if it has one
  bool value = false;                  // whether it has a value head
  std::string prefix{};                // of the names of its layers' parameters
};

// Throws UserError as PlanLayers, or if choices are to have deviations.
PartSpec WholeNet(const ModelSpec& spec);

// Cuts a net into `stages` parts, bottom up, so that the part with the most multiply-adds of both
// passes has as few as possible. Throws UserError if the net has fewer layers.
std::vector<PartSpec> CutIntoStages(const ModelSpec& spec, int stages);

template <class T>
class Part final : public Model<T> {
 public:
  // A batch of no rows makes a part that has a layout and no arrays. A part that stands `beside`
  // another, which must outlive it, reads the same observations and resets.
  Part(const PartSpec& spec, Backend<T>& backend, const Batch& batch, Part* beside = nullptr);

  const ParameterLayout& layout() const override { return layout_; }  // of this part alone
  PolicyShape policy() const override { return heads_.policy(); }
  std::span<T> observations() override { return mask_ > 0 ? unsplit_.span() : input(); }
  std::span<std::uint8_t> resets() override { return resets_; }
  // Both are empty without their heads.
  std::span<const T> logits() const override { return heads_.logits(); }
  std::span<const T> values() const override { return heads_.values(); }

  using Model<T>::Forward;
  void Forward(std::span<const T> parameters, const Block& block, int before) override;
  void Forward(std::span<const T> parameters, int step) override;
  void Carry(int step) override;
  std::vector<std::span<T>> carried() override;
  void CarriedFields(StateBytes& state) override;
  // dlogits and dvalues are empty without their heads. Without heads, the gradient of its output
  // has been written to output_gradient() instead.
  void Backward(std::span<const T> parameters, int steps, std::span<const T> dlogits,
                std::span<const T> dvalues, std::span<T> gradient) override;

  // The same backward pass in pieces. The first computes input_gradient() of a block, from
  // output_gradient() of the block or, with heads, from all dlogits (steps, envs, A) and dvalues
  // (steps, envs); it goes block by block, back from the last of `steps`. The second then computes
  // the gradient of the parameters from all rows.
  void BackwardInput(std::span<const T> parameters, const Block& block, int steps,
                     std::span<const T> dlogits, std::span<const T> dvalues);
  void BackwardWeights(std::span<const T> parameters, int steps, std::span<const T> dlogits,
                       std::span<const T> dvalues, std::span<T> gradient);

  std::size_t in_size() const { return Size(in_size_); }
  std::size_t out_size() const { return Size(top_.size()); }
  // (rows, in): the observations, or the output of the part below; its gradient, unless first.
  std::span<T> input() { return input_; }
  std::span<T> input_gradient() { return input_gradient_.span(); }
  // (rows, out), without heads. REQUIRES: it has layers.
  std::span<T> output() { return {layers_.back()->output(0), Size(rows_) * out_size()}; }
  std::span<T> output_gradient() {
    return {layers_.back()->output_gradient(0), Size(rows_) * out_size()};
  }

 private:
  static std::size_t Size(int count) { return static_cast<std::size_t>(count); }
  // The input of layer i from `row` on, and its gradient; i = layers_.size() stands for the heads.
  const T* Input(std::size_t i, int row);
  T* InputGradient(std::size_t i, int row);
  void TakeMasks(int row, int n);
  const T* MaskOf(int row) const;
  Step StepOf(const Block& block, int before);
  Step BackStepOf(const Block& block) { return StepOf(block, block.step - 1); }
  void HeadsBackwardInput(const T* p, int row, int n, const T* dlogits, const T* dvalues);
  void CheckGradients(std::span<const T> parameters, int steps, std::span<const T> dlogits,
                      std::span<const T> dvalues) const;
  void ZeroGaps(std::span<T> gradient) const;

  Backend<T>& backend_;
  const int in_size_, mask_;  // numbers of an input row, and of the mask behind an observation
  const Batch batch_;
  const int rows_;
  ParameterLayout layout_;  // the layers bottom up, then the heads
  Buffer<T> unsplit_;       // (rows, in + mask): observations with masks
  Buffer<T> own_input_, input_gradient_;
  Buffer<std::uint8_t> own_resets_;
  const std::span<T> input_;  // its own, or that of the part beside it
  const std::span<std::uint8_t> resets_;
  const Layers<T> layers_;  // bottom up
  const Features top_;
  Heads<T> heads_;
};

}  // namespace starling::net
