// The fast CPU backend with the time and the work of every op recorded: it shows the ops of any net
// in their real shapes and on real data.
#pragma once

#include <fmt/format.h>

#include <memory>
#include <string>
#include <vector>

#include "bench/stats.h"
#include "net/backend.h"
#include "net/model.h"

namespace starling::bench {

struct OpCall {
  std::string op;    // "conv 16@3x3/1 forward", "linear 1024 x 128 backward input"
  int n = 0;         // samples
  double flops = 0;  // of a dense product, zeros included; a multiply-add counts as two
  double ns = 0;
};

// "linear 1024 × 128", "conv 16@3×3/1", and the work for one sample.
inline std::string NameOf(const net::LinearShape& shape) {
  return fmt::format("linear {} × {}", shape.in, shape.out);
}
inline std::string NameOf(const net::ConvShape& shape) {
  return fmt::format("conv {}@{}×{}/{}", shape.out_channels, shape.kernel_height,
                     shape.kernel_width, shape.stride);
}

inline double WorkOf(const net::LinearShape& shape) { return 2.0 * shape.in * shape.out; }
inline double WorkOf(const net::ConvShape& shape) {
  return 2.0 * shape.out_cells() * shape.num_weights();
}

inline constexpr const char *kSampling = "sampling of actions", *kLoss = "loss and its gradient",
                            *kClipping = "norm and clipping";

class WatchedBackend final : public net::Backend<float> {
 public:
  explicit WatchedBackend(Precision precision = Precision::kF32)
      : inner_(net::MakeCpuBackend(precision)) {}
  const char* name() const override { return inner_->name(); }
  void HoldWeights(bool held) override { inner_->HoldWeights(held); }

  // Returns the calls since the last TakeCalls, in order.
  std::vector<OpCall> TakeCalls() { return std::move(calls_); }

  void LinearForward(const net::LinearForwardArgs<float>& args) override {
    Watch(NameOf(args.shape) + " forward", args.n, args.n * WorkOf(args.shape),
          [&] { inner_->LinearForward(args); });
  }
  void LinearAccumulate(const net::LinearShape& shape, int n, const float* x, const float* w,
                        float* y) override {
    Watch(NameOf(shape) + " added", n, n * WorkOf(shape),
          [&] { inner_->LinearAccumulate(shape, n, x, w, y); });
  }
  void LinearBackwardWeights(const net::LinearBackwardWeightsArgs<float>& args) override {
    Watch(NameOf(args.shape) + " backward weights", args.n, args.n * WorkOf(args.shape),
          [&] { inner_->LinearBackwardWeights(args); });
  }
  void LinearBackwardInput(const net::LinearBackwardInputArgs<float>& args) override {
    Watch(NameOf(args.shape) + " backward input", args.n, args.n * WorkOf(args.shape),
          [&] { inner_->LinearBackwardInput(args); });
  }
  void LinearBackward(const net::LinearBackwardArgs<float>& args) override {
    Watch(NameOf(args.shape) + " backward", args.n, 2 * args.n * WorkOf(args.shape),
          [&] { inner_->LinearBackward(args); });
  }
  void ConvForward(const net::ConvForwardArgs<float>& args) override {
    Watch(NameOf(args.shape) + " forward", args.n, args.n * WorkOf(args.shape),
          [&] { inner_->ConvForward(args); });
  }
  void ConvBackwardWeights(const net::ConvBackwardWeightsArgs<float>& args) override {
    Watch(NameOf(args.shape) + " backward weights", args.n, args.n * WorkOf(args.shape),
          [&] { inner_->ConvBackwardWeights(args); });
  }
  void ConvBackwardInput(const net::ConvBackwardInputArgs<float>& args) override {
    Watch(NameOf(args.shape) + " backward input", args.n, args.n * WorkOf(args.shape),
          [&] { inner_->ConvBackwardInput(args); });
  }

  // The rest is not products: no work is counted.
  void Pad(const net::PadArgs<float>& args) override {
    Watch("border of zeros", args.n, 0, [&] { inner_->Pad(args); });
  }
  void Crop(const net::CropArgs<float>& args) override {
    Watch("border taken away", args.n, 0, [&] { inner_->Crop(args); });
  }
  void MaxPoolForward(const net::MaxPoolForwardArgs<float>& args) override {
    Watch("max pool forward", args.n, 0, [&] { inner_->MaxPoolForward(args); });
  }
  void MaxPoolBackward(const net::MaxPoolBackwardArgs<float>& args) override {
    Watch("max pool backward", args.n, 0, [&] { inner_->MaxPoolBackward(args); });
  }
  void Add(const net::AddArgs<float>& args) override {
    Watch("sum", args.count, 0, [&] { inner_->Add(args); });
  }
  void Activate(net::Activation activation, int count, const float* x, float* y) override {
    Watch("activation forward", count, 0, [&] { inner_->Activate(activation, count, x, y); });
  }
  void ActivateBackward(const net::ActivateBackwardArgs<float>& args) override {
    Watch("activation backward", args.count, 0, [&] { inner_->ActivateBackward(args); });
  }
  void LayerNormForward(const net::LayerNormForwardArgs<float>& args) override {
    Watch("layer norm forward", args.n, 0, [&] { inner_->LayerNormForward(args); });
  }
  void LayerNormBackward(const net::LayerNormBackwardArgs<float>& args) override {
    Watch("layer norm backward", args.n, 0, [&] { inner_->LayerNormBackward(args); });
  }
  void LstmCellForward(const net::LstmCellForwardArgs<float>& args) override {
    Watch("lstm cell forward", args.n, 0, [&] { inner_->LstmCellForward(args); });
  }
  void LstmCellBackward(const net::LstmCellBackwardArgs<float>& args) override {
    Watch("lstm cell backward", args.n, 0, [&] { inner_->LstmCellBackward(args); });
  }
  void GruCellForward(const net::GruCellForwardArgs<float>& args) override {
    Watch("gru cell forward", args.n, 0, [&] { inner_->GruCellForward(args); });
  }
  void GruCellBackward(const net::GruCellBackwardArgs<float>& args) override {
    Watch("gru cell backward", args.n, 0, [&] { inner_->GruCellBackward(args); });
  }
  void KeepState(int width, int n, const std::uint8_t* resets, const float* from,
                 float* to) override {
    Watch("state kept", n, 0, [&] { inner_->KeepState(width, n, resets, from, to); });
  }
  void CopyColumns(const net::CopyColumnsArgs<float>& args) override {
    Watch("columns", args.n, 0, [&] { inner_->CopyColumns(args); });
  }
  void SumRows(const net::SumRowsArgs<float>& args) override {
    Watch("sum of rows", args.n, 0, [&] { inner_->SumRows(args); });
  }
  void MaskLogits(const net::MaskLogitsArgs<float>& args) override {
    Watch("mask", args.n, 0, [&] { inner_->MaskLogits(args); });
  }
  void Standardize(const net::StandardizeArgs<float>& args) override {
    Watch("standardized", args.n, 0, [&] { inner_->Standardize(args); });
  }
  void StandardizePictures(const net::StandardizePicturesArgs<float>& args) override {
    Watch("pictures standardized", args.n, 0, [&] { inner_->StandardizePictures(args); });
  }
  void SumMoments(const net::SumMomentsArgs<float>& args) override {
    Watch("moments", args.n, 0, [&] { inner_->SumMoments(args); });
  }
  void ScaleRewards(const net::ScaleRewardsArgs<float>& args) override {
    Watch("rewards scaled", args.n, 0, [&] { inner_->ScaleRewards(args); });
  }

  // Those above the net separate its passes.
  void SampleActions(const net::SampleActionsArgs<float>& args) override {
    Watch(kSampling, args.n, 0, [&] { inner_->SampleActions(args); });
  }
  void Loss(const net::LossArgs<float>& args) override {
    Watch(kLoss, args.n, 0, [&] { inner_->Loss(args); });
  }
  void ClipByGlobalNorm(std::size_t size, double max_norm, float* gradient, double* norm) override {
    Watch(kClipping, 1, 0, [&] { inner_->ClipByGlobalNorm(size, max_norm, gradient, norm); });
  }

 private:
  // Notes a call of `work`, which computes `flops`.
  template <class Work>
  void Watch(std::string op, int n, double flops, const Work& work) {
    const double ns = TimeNs(work);
    calls_.push_back({.op = std::move(op), .n = n, .flops = flops, .ns = ns});
  }

  std::unique_ptr<net::Backend<float>> inner_;
  std::vector<OpCall> calls_;
};

// Of one sample, over the whole net; without the gradient of the first layer's input.
struct Flops {
  double forward = 0, backward = 0;
};
Flops FlopsOf(const net::ModelSpec& spec);

double TotalFlops(const std::vector<OpCall>& calls);

// Returns GFLOP/s of one core in the fastest dense products of this process, to which other rates
// are compared: the fastest of several sizes, while `threads` threads work at once, because clocks
// drop when more cores work. Each size takes about `seconds`.
double BestSgemmGflops(double seconds, int threads);

}  // namespace starling::bench
