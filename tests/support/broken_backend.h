// The reference with one op broken in a way in which fast ones break.
#pragma once

#include <cmath>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "net/backend.h"

namespace starling::net::testing {

enum class Fault {
  kLeavesTheLast,     // element of its output as it was
  kOffByAThousandth,  // in the first
  kAdds,              // where it should replace
  kWritesBehind,      // its output's end
  kNoMask,
  kNoBias,
  kHidesNans,
  kThrows,
};

class BrokenBackend final : public Backend<float> {
 public:
  BrokenBackend(std::string op, Fault fault) : op_(std::move(op)), fault_(fault) {}
  const char* name() const override { return "broken"; }

  void LinearForward(const LinearShape& s, int n, const float* x, const float* w, const float* b,
                     Activation activation, float* y) override {
    const auto bias = Bias("linear forward", s.out, b);
    Do("linear forward", y, n * s.out,
       [&] { good_->LinearForward(s, n, x, w, bias.data(), activation, y); });
  }
  void LinearAccumulate(const LinearShape& s, int n, const float* x, const float* w,
                        float* y) override {
    Do("linear accumulate", y, n * s.out, [&] { good_->LinearAccumulate(s, n, x, w, y); });
  }
  void LinearBackwardWeights(const LinearShape& s, int n, const float* x, const float* dy,
                             float* dw, float* db) override {
    Do("linear backward weights", db, s.out,
       [&] { good_->LinearBackwardWeights(s, n, x, dy, dw, db); });
  }
  void LinearBackwardInput(const LinearShape& s, int n, const float* w, const float* dy, Put put,
                           const float* relu_output, float* dx) override {
    relu_output = Mask("linear backward input", relu_output);
    Do("linear backward input", dx, n * s.in,
       [&] { good_->LinearBackwardInput(s, n, w, dy, put, relu_output, dx); });
  }
  void LinearBackward(const LinearShape& s, int n, const float* x, const float* w, const float* dy,
                      float* dw, float* db, float* dx) override {
    Do("linear backward", dx, n * s.in, [&] {
      good_->LinearBackwardWeights(s, n, x, dy, dw, db);
      good_->LinearBackwardInput(s, n, w, dy, Put::kReplace, Mask("linear backward", x), dx);
    });
  }
  void ConvForward(const ConvShape& s, int n, const float* x, const float* w, const float* b,
                   Activation activation, float* y) override {
    const auto bias = Bias("conv forward", s.out_channels, b);
    Do("conv forward", y, n * s.out_size(),
       [&] { good_->ConvForward(s, n, x, w, bias.data(), activation, y); });
  }
  void ConvBackwardWeights(const ConvShape& s, int n, const float* x, const float* dy, float* dw,
                           float* db) override {
    Do("conv backward weights", dw, s.num_weights(),
       [&] { good_->ConvBackwardWeights(s, n, x, dy, dw, db); });
  }
  void ConvBackwardInput(const ConvShape& s, int n, const float* w, const float* dy,
                         const float* relu_output, float* dx) override {
    relu_output = Mask("conv backward input", relu_output);
    Do("conv backward input", dx, n * s.in_size(),
       [&] { good_->ConvBackwardInput(s, n, w, dy, relu_output, dx); });
  }
  void Activate(Activation activation, int count, const float* x, float* y) override {
    Do("activate", y, count, [&] { good_->Activate(activation, count, x, y); });
  }
  void ActivateBackward(Activation activation, int count, const float* y, const float* dy,
                        const float* relu_output, float* dx) override {
    relu_output = Mask("activate backward", relu_output);
    Do("activate backward", dx, count,
       [&] { good_->ActivateBackward(activation, count, y, dy, relu_output, dx); });
  }
  void LayerNormForward(int width, int n, const float* x, const float* scale, const float* bias,
                        Activation activation, float* moments, float* y) override {
    Do("layer norm forward", moments, 2 * n,
       [&] { good_->LayerNormForward(width, n, x, scale, bias, activation, moments, y); });
  }
  void LayerNormBackward(int width, int n, const float* x, const float* scale, const float* moments,
                         const float* dy, const float* relu_output, float* dscale, float* dbias,
                         float* dx) override {
    relu_output = Mask("layer norm backward", relu_output);
    Do("layer norm backward", dscale, width, [&] {
      good_->LayerNormBackward(width, n, x, scale, moments, dy, relu_output, dscale, dbias, dx);
    });
  }
  void LstmCellForward(int hidden, int n, float* gates, const float* c_in, float* c,
                       float* h) override {
    Do("lstm cell forward", h, n * hidden,
       [&] { good_->LstmCellForward(hidden, n, gates, c_in, c, h); });
  }
  void LstmCellBackward(int hidden, int n, const float* gates, const float* c_in, const float* c,
                        const float* dy, const float* dh, float* dc, float* dgates) override {
    Do("lstm cell backward", dgates, 4 * n * hidden,
       [&] { good_->LstmCellBackward(hidden, n, gates, c_in, c, dy, dh, dc, dgates); });
  }
  void KeepState(int width, int n, const std::uint8_t* resets, const float* from,
                 float* to) override {
    Do("keep state", to, n * width, [&] { good_->KeepState(width, n, resets, from, to); });
  }
  void SampleActions(int n, int actions, const float* logits, RandomStream* streams,
                     std::int32_t* taken) override {
    Do("sample actions", taken, n,
       [&] { good_->SampleActions(n, actions, logits, streams, taken); });
  }
  void AddBootstrap(int n, double gamma, const std::uint8_t* ends, std::uint8_t truncated,
                    const float* values, float* rewards) override {
    Do("add bootstrap", rewards, n,
       [&] { good_->AddBootstrap(n, gamma, ends, truncated, values, rewards); });
  }
  void Advantages(const UnrollShape& shape, const float* rewards, const std::uint8_t* terminals,
                  const float* values, const float* bootstrap, float* advantages,
                  float* returns) override {
    Do("advantages", returns, shape.steps * shape.envs, [&] {
      good_->Advantages(shape, rewards, terminals, values, bootstrap, advantages, returns);
    });
  }
  void Loss(int n, int actions, const float* logits, const float* values, const std::int32_t* taken,
            const float* advantages, const float* returns, const LossWeights* weights,
            float* dlogits, float* dvalues, LossReport* report) override {
    Do("loss", &report->entropy, 1, [&] {
      good_->Loss(n, actions, logits, values, taken, advantages, returns, weights, dlogits, dvalues,
                  report);
    });
  }
  void ClipByGlobalNorm(std::size_t size, double max_norm, float* gradient, double* norm) override {
    Do("clip by global norm", gradient, static_cast<int>(size),
       [&] { good_->ClipByGlobalNorm(size, max_norm, gradient, norm); });
  }

 private:
  bool Is(const char* op, Fault fault) const { return op == op_ && fault == fault_; }
  const float* Mask(const char* op, const float* relu_output) const {
    return Is(op, Fault::kNoMask) ? nullptr : relu_output;
  }
  std::vector<float> Bias(const char* op, int size, const float* b) const {
    return Is(op, Fault::kNoBias) ? std::vector<float>(static_cast<std::size_t>(size))
                                  : std::vector<float>(b, b + size);
  }

  template <class T, class Work>
  void Do(const char* op, T* output, int count, Work work) {
    if (op != op_) return work();
    const std::vector<T> before(output, output + count);
    if (fault_ == Fault::kThrows) throw std::runtime_error("the op failed");
    work();
    if (fault_ == Fault::kLeavesTheLast) output[count - 1] = before.back();
    if (fault_ == Fault::kOffByAThousandth) output[0] += output[0] / 1000;
    if (fault_ == Fault::kWritesBehind) output[count] = 1;
    for (int i = 0; i < count; ++i) {
      if (fault_ == Fault::kAdds) output[i] += before[static_cast<std::size_t>(i)];
      if (fault_ == Fault::kHidesNans && std::isnan(output[i])) output[i] = 0;
    }
  }

  const std::string op_;
  const Fault fault_;
  const std::unique_ptr<Backend<float>> good_ = MakeReferenceBackend<float>();
};

}  // namespace starling::net::testing
