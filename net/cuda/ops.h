// The ops of net/backend.h on a GPU, for any Device (device.h).
#pragma once

#include <utility>

#include "net/cuda/clip.h"
#include "net/cuda/convolution.h"
#include "net/cuda/heads.h"
#include "net/cuda/layer_norm.h"
#include "net/cuda/linear.h"
#include "net/cuda/loss.h"
#include "net/cuda/lstm.h"

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

  void LinearForward(const LinearShape& shape, int n, const float* x, const float* w,
                     const float* b, Activation activation, float* y) override {
    linear_.Forward(shape, n, x, w, b, activation, y);
  }
  void LinearAccumulate(const LinearShape& shape, int n, const float* x, const float* w,
                        float* y) override {
    linear_.Accumulate(shape, n, x, w, y);
  }
  void LinearBackwardWeights(const LinearShape& shape, int n, const float* x, const float* dy,
                             float* dw, float* db) override {
    linear_.BackwardWeights(shape, n, x, dy, dw, db);
  }
  void LinearBackwardInput(const LinearShape& shape, int n, const float* w, const float* dy,
                           Put put, const float* relu_output, float* dx) override {
    linear_.BackwardInput(shape, n, w, dy, put, relu_output, dx);
  }

  void ConvForward(const ConvShape& shape, int n, const float* x, const float* w, const float* b,
                   Activation activation, float* y) override {
    convolution_.Forward(shape, n, x, w, b, activation, y);
  }
  void ConvBackwardWeights(const ConvShape& shape, int n, const float* x, const float* dy,
                           float* dw, float* db) override {
    convolution_.BackwardWeights(shape, n, x, dy, dw, db);
  }
  void ConvBackwardInput(const ConvShape& shape, int n, const float* w, const float* dy,
                         const float* relu_output, float* dx) override {
    convolution_.BackwardInput(shape, n, w, dy, relu_output, dx);
  }

  void Activate(Activation activation, int count, const float* x, float* y) override {
    device_.ForEach(count, cuda::Activate{activation, x, y});
  }
  void ActivateBackward(Activation activation, int count, const float* y, const float* dy,
                        const float* relu_output, float* dx) override {
    device_.ForEach(count, cuda::ActivateBackward{activation, y, dy, relu_output, dx});
  }

  void LayerNormForward(int width, int n, const float* x, const float* scale, const float* bias,
                        Activation activation, float* moments, float* y) override {
    device_.ForEachWarp(n, cuda::LayerNormForward{width, x, scale, bias, activation, moments, y});
  }
  void LayerNormBackward(int width, int n, const float* x, const float* scale, const float* moments,
                         const float* dy, const float* relu_output, float* dscale, float* dbias,
                         float* dx) override {
    const int chunks = Work<Device>::Chunks(n, width);
    float* const partial =
        work_.scratch().template Get<float>(Scratch::kSums, 2ll * chunks * width);
    device_.ForEach(Times(chunks, width),
                    LayerNormPartials{width, n, chunks, Divisor(width), x, moments, dy, partial});
    work_.SumOver(chunks, 2ll * width, partial, {Put::kReplace, width, dscale, dbias});
    if (dx == nullptr) return;
    device_.ForEachWarp(n, cuda::LayerNormBackward{width, x, scale, moments, dy, relu_output, dx});
  }

  void LstmCellForward(int hidden, int n, float* gates, const float* c_in, float* c,
                       float* h) override {
    device_.ForEach(Times(n, hidden), cuda::LstmCellForward{Divisor(hidden), gates, c_in, c, h});
  }
  void LstmCellBackward(int hidden, int n, const float* gates, const float* c_in, const float* c,
                        const float* dy, const float* dh, float* dc, float* dgates) override {
    device_.ForEach(Times(n, hidden),
                    cuda::LstmCellBackward{Divisor(hidden), gates, c_in, c, dy, dh, dc, dgates});
  }
  void KeepState(int width, int n, const std::uint8_t* resets, const float* from,
                 float* to) override {
    device_.ForEach(Times(n, width), cuda::KeepState{Divisor(width), resets, from, to});
  }

  void SampleActions(int n, int actions, const float* logits, RandomStream* streams,
                     std::int32_t* taken) override {
    device_.ForEach(n, cuda::SampleActions{actions, logits, streams, taken});
  }
  void AddBootstrap(int n, double gamma, const std::uint8_t* ends, std::uint8_t truncated,
                    const float* values, float* rewards) override {
    device_.ForEach(
        n, cuda::AddBootstrap{static_cast<float>(gamma), ends, truncated, values, rewards});
  }
  void Advantages(const UnrollShape& s, const float* rewards, const std::uint8_t* terminals,
                  const float* values, const float* bootstrap, float* advantages,
                  float* returns) override {
    device_.ForEach(s.envs, cuda::Advantages{s.steps, s.envs, static_cast<float>(s.gamma),
                                             static_cast<float>(s.gamma * s.lambda), rewards,
                                             terminals, values, bootstrap, advantages, returns});
  }
  void Loss(int n, int actions, const float* logits, const float* values, const std::int32_t* taken,
            const float* advantages, const float* returns, const LossWeights* weights,
            float* dlogits, float* dvalues, LossReport* report) override {
    // One sample for each lane, up to a number of warps whose sums would take longer.
    constexpr int kLanes = 32, kWarps = 4096;
    const int group = std::max(kLanes, (n + kWarps - 1) / kWarps);
    const int groups = (n + group - 1) / group;
    double* const partial = work_.scratch().template Get<double>(Scratch::kSums, 3ll * groups);
    device_.ForEachWarp(
        groups, LossOfSamples{n, actions, group, groups, logits, values, taken, advantages, returns,
                              weights, dlogits, dvalues, partial});
    device_.ForEachWarp(3, ReportLoss{n, groups, partial, report});
  }
  void ClipByGlobalNorm(std::size_t size, double max_norm, float* gradient, double* norm) override {
    constexpr long long kOfAWarp = 256, kWarps = 2048;
    const long long count = size;
    const long long groups = std::clamp(count / kOfAWarp, 1ll, kWarps);
    double* const partial = work_.scratch().template Get<double>(Scratch::kSums, groups);
    float* const factor = work_.scratch().template Get<float>(Scratch::kFactor, 1);
    device_.ForEachWarp(groups, SumOfSquares{count, groups, gradient, partial});
    device_.ForEachWarp(1, NormAndFactor{groups, max_norm, partial, norm, factor});
    if (max_norm > 0) device_.ForEach(count, ScaleBy{factor, gradient});
  }

 private:
  static long long Times(long long n, int width) { return n * width; }

  Device device_;
  Work<Device> work_;
  Linear<Device> linear_{work_};
  Convolution<Device> convolution_{work_};
};

}  // namespace starling::net::cuda
