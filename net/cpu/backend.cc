#include "net/backend.h"

#include <algorithm>
#include <optional>
#include <vector>

#include "net/cpu/conv2d.h"
#include "net/cpu/gemm.h"
#include "net/cpu/layers.h"
#include "net/cpu/linear_bf16.h"

namespace starling::net {
namespace {

class CpuBackend final : public Backend<float> {
 public:
  explicit CpuBackend(Precision precision) {
    cpu::PrepareThread();
    if (precision == Precision::kBf16) bf16_linear_.emplace();
  }
  const char* name() const override { return bf16_linear_ ? "cpu, bf16" : "cpu"; }
  void HoldWeights(bool held) override {
    if (bf16_linear_) bf16_linear_->HoldWeights(held);
  }

  void LinearForward(const LinearForwardArgs<float>& args) override {
    if (InBf16(args.shape)) return bf16_linear_->Forward(args);
    if (!sparse_linear_.Forward(args)) cpu::LinearForward(args);
  }
  void LinearAccumulate(const LinearShape& shape, int n, const float* x, const float* w,
                        float* y) override {
    cpu::LinearAccumulate(shape, n, x, w, y);
  }
  void LinearBackwardWeights(const LinearBackwardWeightsArgs<float>& args) override {
    if (InBf16(args.shape)) return bf16_linear_->BackwardWeights(args);
    cpu::LinearBackwardWeights(args);
  }
  void LinearBackwardInput(const LinearBackwardInputArgs<float>& args) override {
    // Only a value head adds; it is too small to gain from bf16.
    if (InBf16(args.shape) && args.put == Put::kReplace) return bf16_linear_->BackwardInput(args);
    cpu::LinearBackwardInput(args);
  }
  void LinearBackward(const LinearBackwardArgs<float>& args) override {
    if (InBf16(args.shape)) return bf16_linear_->Backward(args);
    if (!sparse_linear_.Backward(args)) Backend::LinearBackward(args);
  }

  void ConvForward(const ConvForwardArgs<float>& args) override {
    cpu::SparseConv* const sparse = SparseFor(args.shape);
    if (sparse != nullptr && sparse->Gather(args.n, args.x)) return sparse->Forward(args);
    if (RepeatsIn(args.shape, args.n, args.x)) return repeated_.Forward(args);
    if (!cpu::DirectConvForward(args)) dense_.Forward(args);
  }
  void ConvBackwardWeights(const ConvBackwardWeightsArgs<float>& args) override {
    cpu::SparseConv* const sparse = SparseFor(args.shape);
    if (sparse != nullptr && sparse->Gather(args.n, args.x)) return sparse->BackwardWeights(args);
    if (RepeatsIn(args.shape, args.n, args.x)) return repeated_.BackwardWeights(args);
    if (!cpu::DirectConvBackwardWeights(args)) dense_.BackwardWeights(args);
  }
  void ConvBackwardInput(const ConvBackwardInputArgs<float>& args) override {
    dense_.BackwardInput(args);
  }

  void Activate(Activation activation, int count, const float* x, float* y) override {
    cpu::Activate(activation, count, x, y);
  }
  void ActivateBackward(const ActivateBackwardArgs<float>& args) override {
    cpu::ActivateBackward(args);
  }
  void LayerNormForward(const LayerNormForwardArgs<float>& args) override {
    cpu::LayerNormForward(args);
  }
  void LayerNormBackward(const LayerNormBackwardArgs<float>& args) override {
    cpu::LayerNormBackward(args);
  }
  void LstmCellForward(const LstmCellForwardArgs<float>& args) override {
    cpu::LstmCellForward(args);
  }
  void LstmCellBackward(const LstmCellBackwardArgs<float>& args) override {
    cpu::LstmCellBackward(args);
  }
  void GruCellForward(const GruCellForwardArgs<float>& args) override { cpu::GruCellForward(args); }
  void GruCellBackward(const GruCellBackwardArgs<float>& args) override {
    cpu::GruCellBackward(args);
  }
  void KeepState(int width, int n, const std::uint8_t* resets, const float* from,
                 float* to) override {
    cpu::KeepState(width, n, resets, from, to);
  }

 private:
  bool InBf16(const LinearShape& shape) const {
    return bf16_linear_ && cpu::Bf16Linear::Suits(shape);
  }

  // Returns nullptr if sparse convolution cannot handle `shape`. A linear search, because a net has
  // only a few shapes.
  cpu::SparseConv* SparseFor(const ConvShape& shape) {
    if (!cpu::SparseConv::Fits(shape)) return nullptr;
    const auto found = std::find_if(sparse_.begin(), sparse_.end(),
                                    [&](const cpu::SparseConv& s) { return s.shape() == shape; });
    return found != sparse_.end() ? &*found : &sparse_.emplace_back(shape);
  }

  bool RepeatsIn(const ConvShape& shape, int n, const float* x) {
    return cpu::RepeatedConv::Fits(shape) && repeated_.Gather(shape, n, x);
  }

  std::optional<cpu::Bf16Linear> bf16_linear_;  // unless the precision is f32
  cpu::SparseLinear sparse_linear_;
  cpu::DenseConv dense_;
  std::vector<cpu::SparseConv> sparse_;
  cpu::RepeatedConv repeated_;
};

}  // namespace

}  // namespace starling::net

// The namespace of the level for which this file is compiled (net/cpu/levels.h).
#ifndef STARLING_LEVEL
#define STARLING_LEVEL for_native
#endif

namespace starling::net::cpu::STARLING_LEVEL {

std::unique_ptr<Backend<float>> MakeBackend(Precision precision) {
  return std::make_unique<CpuBackend>(precision);
}

}  // namespace starling::net::cpu::STARLING_LEVEL
