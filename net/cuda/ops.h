// The ops of net/backend.h on a GPU, for any Device (device.h).
#pragma once

#include <utility>

#include "net/cuda/convolution.h"
#include "net/cuda/layers.h"
#include "net/cuda/linear.h"
#include "net/cuda/loss.h"
#include "net/cuda/norm.h"
#include "net/cuda/pictures.h"
#include "net/cuda/rows.h"
#include "net/cuda/running.h"

namespace starling::net::cuda {

template <class Device>
class GpuOps final : public Backend<float> {
 public:
  template <class... Arguments>
  explicit GpuOps(const Limits& limits, Arguments&&... of_the_device)
      : device_(std::forward<Arguments>(of_the_device)...), work_(device_, limits) {}

  const char* name() const override { return device_.name(); }
  Memory& memory() override { return device_.memory(); }
  void Repeat(int id, const std::function<void()>& ops) override { device_.Repeat(id, ops); }

  void LinearForward(const LinearForwardArgs<float>& args) override { linear_.Forward(args); }
  void LinearAccumulate(const LinearShape& shape, int n, const float* x, const float* w,
                        float* y) override {
    linear_.Accumulate(shape, n, x, w, y);
  }
  void LinearBackwardWeights(const LinearBackwardWeightsArgs<float>& args) override {
    linear_.BackwardWeights(args);
  }
  void LinearBackwardInput(const LinearBackwardInputArgs<float>& args) override {
    linear_.BackwardInput(args);
  }
  void PairForward(const LinearForwardArgs<float>& first,
                   const LinearForwardArgs<float>& second) override {
    if (!linear_.TryNarrow(first, second)) Backend::PairForward(first, second);
  }
  void PairBackwardWeights(const LinearBackwardWeightsArgs<float>& first,
                           const LinearBackwardWeightsArgs<float>& second) override {
    if (!linear_.TryNarrow(first, second)) Backend::PairBackwardWeights(first, second);
  }
  void PairBackwardInput(LinearBackwardInputArgs<float> first,
                         LinearBackwardInputArgs<float> second) override {
    if (!linear_.TryNarrow(first, second)) Backend::PairBackwardInput(first, second);
  }

  void ConvForward(const ConvForwardArgs<float>& args) override { convolution_.Forward(args); }
  void ConvBackwardWeights(const ConvBackwardWeightsArgs<float>& args) override {
    convolution_.BackwardWeights(args);
  }
  void ConvBackwardInput(const ConvBackwardInputArgs<float>& args) override {
    convolution_.BackwardInput(args);
  }

  void CopyColumns(const CopyColumnsArgs<float>& args) override {
    device_.ForEach(Times(args.n, args.width), cuda::CopyColumns{args, Divisor(args.width)});
  }
  void SumRows(const SumRowsArgs<float>& args) override {
    device_.ForEachWarp(args.width, cuda::SumRows{args});
  }
  void MaskLogits(const MaskLogitsArgs<float>& args) override {
    device_.ForEach(Times(args.n, args.width), cuda::MaskLogits{args, Divisor(args.width)});
  }

  void Pad(const PadArgs<float>& args) override {
    const PadShape& s = args.shape;
    device_.ForEach(Times(args.n, s.padded_size()),
                    cuda::Pad{args, Places(s.padded_height(), s.padded_width(), s.channels)});
  }
  void Crop(const CropArgs<float>& args) override {
    const PadShape& s = args.shape;
    device_.ForEach(Times(args.n, s.size()),
                    cuda::Crop{args, Places(s.height, s.width, s.channels)});
  }
  void MaxPoolForward(const MaxPoolForwardArgs<float>& args) override {
    const PoolShape& s = args.shape;
    device_.ForEach(Times(args.n, s.out_size()),
                    cuda::MaxPoolForward{args, Places(s.out_height, s.out_width, s.channels)});
  }
  void MaxPoolBackward(const MaxPoolBackwardArgs<float>& args) override {
    const PoolShape& s = args.shape;
    device_.ForEach(Times(args.n, s.size()),
                    cuda::MaxPoolBackward{args, Places(s.height, s.width, s.channels)});
  }
  void Add(const AddArgs<float>& args) override { device_.ForEach(args.count, cuda::Add{args}); }

  void Activate(Activation activation, int count, const float* x, float* y) override {
    device_.ForEach(count, cuda::Activate{activation, x, y});
  }
  void ActivateBackward(const ActivateBackwardArgs<float>& args) override {
    device_.ForEach(args.count, cuda::ActivateBackward{args});
  }

  void LayerNormForward(const LayerNormForwardArgs<float>& args) override {
    device_.ForEachWarp(args.n, cuda::LayerNormForward{args});
  }
  void LayerNormBackward(const LayerNormBackwardArgs<float>& args) override {
    cuda::LayerNormBackward(work_, args);
  }

  void LstmCellForward(const LstmCellForwardArgs<float>& args) override {
    device_.ForEach(Times(args.n, args.hidden), cuda::LstmCellForward{args, Divisor(args.hidden)});
  }
  void LstmCellBackward(const LstmCellBackwardArgs<float>& args) override {
    device_.ForEach(Times(args.n, args.hidden), cuda::LstmCellBackward{args, Divisor(args.hidden)});
  }
  void GruCellForward(const GruCellForwardArgs<float>& args) override {
    device_.ForEach(Times(args.n, args.hidden), cuda::GruCellForward{args, Divisor(args.hidden)});
  }
  void GruCellBackward(const GruCellBackwardArgs<float>& args) override {
    device_.ForEach(Times(args.n, args.hidden), cuda::GruCellBackward{args, Divisor(args.hidden)});
  }
  void KeepState(int width, int n, const std::uint8_t* resets, const float* from,
                 float* to) override {
    device_.ForEach(Times(n, width), cuda::KeepState{Divisor(width), resets, from, to});
  }

  void Gather(int n, int width, const std::int32_t* rows, const float* from, float* to) override {
    device_.ForEach(Times(n, width), cuda::Gather<float>{width, rows, from, to});
  }
  void Gather(int n, int width, const std::int32_t* rows, const std::uint8_t* from,
              std::uint8_t* to) override {
    device_.ForEach(Times(n, width), cuda::Gather<std::uint8_t>{width, rows, from, to});
  }

  void Standardize(const StandardizeArgs<float>& args) override {
    device_.ForEach(Times(args.n, args.width), cuda::Standardize{args, Divisor(args.width)});
  }
  void StandardizePictures(const StandardizePicturesArgs<float>& args) override {
    device_.ForEachWarp(Times(args.n, args.channels),
                        cuda::StandardizePictures{args, Divisor(args.channels)});
  }
  void SumMoments(const SumMomentsArgs<float>& args) override { cuda::SumMoments(work_, args); }
  void ScaleRewards(const ScaleRewardsArgs<float>& args) override {
    device_.ForEach(args.n, cuda::ScaleRewards{args});
  }

  void SampleActions(const SampleActionsArgs<float>& args) override {
    device_.ForEach(args.n, cuda::SampleActions{args});
  }
  void AddBootstrap(const AddBootstrapArgs<float>& args) override {
    device_.ForEach(args.n, cuda::AddBootstrap{args});
  }
  void Advantages(const AdvantagesArgs<float>& args) override {
    const UnrollShape& s = args.shape;
    device_.ForEach(s.envs, cuda::Advantages{.a = args,
                                             .discount = static_cast<float>(s.gamma),
                                             .decay = static_cast<float>(s.gamma * s.lambda)});
  }
  void Loss(const LossArgs<float>& args) override { cuda::Loss(work_, args); }
  void LogProbs(const LogProbsArgs<float>& args) override {
    device_.ForEach(args.n, cuda::LogProbs{args});
  }
  void AdvantageMoments(const MomentsArgs<float>& args) override {
    cuda::AdvantageMoments(work_, args);
  }
  void ClipByGlobalNorm(std::size_t size, double max_norm, float* gradient, double* norm) override {
    cuda::ClipByGlobalNorm(work_, static_cast<long long>(size), max_norm, gradient, norm);
  }

 private:
  static long long Times(long long n, int width) { return n * width; }

  Device device_;
  Work<Device> work_;
  Linear<Device> linear_{work_};
  Convolution<Device> convolution_{work_};
};

}  // namespace starling::net::cuda
