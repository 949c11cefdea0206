#include "net/backend.h"
#include "net/reference/activation.h"
#include "net/reference/conv2d.h"
#include "net/reference/layer_norm.h"
#include "net/reference/linear.h"
#include "net/reference/lstm.h"

namespace starling::net {
namespace {

template <class T>
class ReferenceBackend final : public Backend<T> {
 public:
  const char* name() const override { return "reference"; }

  void LinearForward(const LinearForwardArgs<T>& args) override { reference::LinearForward(args); }
  void LinearAccumulate(const LinearShape& shape, int n, const T* x, const T* w, T* y) override {
    reference::LinearAccumulate(shape, n, x, w, y);
  }
  void LinearBackwardWeights(const LinearBackwardWeightsArgs<T>& args) override {
    reference::LinearBackwardWeights(args);
  }
  void LinearBackwardInput(const LinearBackwardInputArgs<T>& args) override {
    reference::LinearBackwardInput(args);
  }
  void ConvForward(const ConvForwardArgs<T>& args) override { reference::ConvForward(args); }
  void ConvBackwardWeights(const ConvBackwardWeightsArgs<T>& args) override {
    reference::ConvBackwardWeights(args);
  }
  void ConvBackwardInput(const ConvBackwardInputArgs<T>& args) override {
    reference::ConvBackwardInput(args);
  }
  void Activate(Activation activation, int count, const T* x, T* y) override {
    for (int j = 0; j < count; ++j) y[j] = reference::Activate(activation, x[j]);
  }
  void ActivateBackward(const ActivateBackwardArgs<T>& args) override {
    reference::ActivateBackward(args);
  }
  void LayerNormForward(const LayerNormForwardArgs<T>& args) override {
    reference::LayerNormForward(args);
  }
  void LayerNormBackward(const LayerNormBackwardArgs<T>& args) override {
    reference::LayerNormBackward(args);
  }
  void LstmCellForward(const LstmCellForwardArgs<T>& args) override {
    reference::LstmCellForward(args);
  }
  void LstmCellBackward(const LstmCellBackwardArgs<T>& args) override {
    reference::LstmCellBackward(args);
  }
  void KeepState(int width, int n, const std::uint8_t* resets, const T* from, T* to) override {
    reference::KeepState(width, n, resets, from, to);
  }
};

}  // namespace

template <class T>
std::unique_ptr<Backend<T>> MakeReferenceBackend() {
  return std::make_unique<ReferenceBackend<T>>();
}

template std::unique_ptr<Backend<float>> MakeReferenceBackend<float>();
template std::unique_ptr<Backend<double>> MakeReferenceBackend<double>();

}  // namespace starling::net
