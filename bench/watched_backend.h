// The fast CPU backend with the time and the work of every op recorded: it shows the ops of any net
// in their real shapes and on real data.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "net/backend.h"
#include "net/model.h"

namespace starling::bench {

struct OpCall {
  std::string op;    // "conv 16@3x3/1 forward", "linear 1024 x 128 backward input"
  int n = 0;         // samples
  double flops = 0;  // of a dense product, zeros included; a multiply-add counts as two
  double ns = 0;
};

class WatchedBackend final : public net::Backend<float> {
 public:
  explicit WatchedBackend(Precision precision = Precision::kF32)
      : inner_(net::MakeCpuBackend(precision)) {}
  const char* name() const override { return inner_->name(); }
  void HoldWeights(bool held) override { inner_->HoldWeights(held); }

  // Returns the calls since the last TakeCalls, in order.
  std::vector<OpCall> TakeCalls() { return std::move(calls_); }

  void LinearForward(const net::LinearForwardArgs<float>& args) override;
  void LinearAccumulate(const net::LinearShape& shape, int n, const float* x, const float* w,
                        float* y) override;
  void LinearBackwardWeights(const net::LinearBackwardWeightsArgs<float>& args) override;
  void LinearBackwardInput(const net::LinearBackwardInputArgs<float>& args) override;
  void LinearBackward(const net::LinearBackwardArgs<float>& args) override;
  void ConvForward(const net::ConvForwardArgs<float>& args) override;
  void ConvBackwardWeights(const net::ConvBackwardWeightsArgs<float>& args) override;
  void ConvBackwardInput(const net::ConvBackwardInputArgs<float>& args) override;

  void Activate(net::Activation activation, int count, const float* x, float* y) override;
  void ActivateBackward(const net::ActivateBackwardArgs<float>& args) override;
  void LayerNormForward(const net::LayerNormForwardArgs<float>& args) override;
  void LayerNormBackward(const net::LayerNormBackwardArgs<float>& args) override;
  void LstmCellForward(const net::LstmCellForwardArgs<float>& args) override;
  void LstmCellBackward(const net::LstmCellBackwardArgs<float>& args) override;
  void KeepState(int width, int n, const std::uint8_t* resets, const float* from,
                 float* to) override;

 private:
  template <class Shape, class Work>
  void Watch(const Shape& shape, const char* direction, int n, const Work& work, int products = 1);

  template <class Work>
  void WatchCells(const char* op, int n, const Work& work);

  std::unique_ptr<net::Backend<float>> inner_;
  std::vector<OpCall> calls_;
};

// Of one sample, over the whole net; without the gradient of the first layer's input.
struct Flops {
  double forward = 0, backward = 0;
};
Flops FlopsOf(const net::ModelSpec& spec);

double TotalFlops(const std::vector<OpCall>& calls);

}  // namespace starling::bench
