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

  void LinearForward(const LinearShape& shape, int n, const T* x, const T* w, const T* b,
                     Activation activation, T* y) override {
    reference::LinearForward(shape, n, x, w, b, activation, y);
  }
  void LinearAccumulate(const LinearShape& shape, int n, const T* x, const T* w, T* y) override {
    reference::LinearAccumulate(shape, n, x, w, y);
  }
  void LinearBackwardWeights(const LinearShape& shape, int n, const T* x, const T* dy, T* dw,
                             T* db) override {
    reference::LinearBackwardWeights(shape, n, x, dy, dw, db);
  }
  void LinearBackwardInput(const LinearShape& shape, int n, const T* w, const T* dy, Put put,
                           const T* relu_output, T* dx) override {
    reference::LinearBackwardInput(shape, n, w, dy, put, relu_output, dx);
  }
  void ConvForward(const ConvShape& shape, int n, const T* x, const T* w, const T* b,
                   Activation activation, T* y) override {
    reference::ConvForward(shape, n, x, w, b, activation, y);
  }
  void ConvBackwardWeights(const ConvShape& shape, int n, const T* x, const T* dy, T* dw,
                           T* db) override {
    reference::ConvBackwardWeights(shape, n, x, dy, dw, db);
  }
  void ConvBackwardInput(const ConvShape& shape, int n, const T* w, const T* dy,
                         const T* relu_output, T* dx) override {
    reference::ConvBackwardInput(shape, n, w, dy, relu_output, dx);
  }
  void Activate(Activation activation, int count, const T* x, T* y) override {
    for (int j = 0; j < count; ++j) y[j] = reference::Activate(activation, x[j]);
  }
  void ActivateBackward(Activation activation, int count, const T* y, const T* dy,
                        const T* relu_output, T* dx) override {
    reference::ActivateBackward(activation, count, y, dy, relu_output, dx);
  }
  void LayerNormForward(int width, int n, const T* x, const T* scale, const T* bias,
                        Activation activation, T* moments, T* y) override {
    reference::LayerNormForward(width, n, x, scale, bias, activation, moments, y);
  }
  void LayerNormBackward(int width, int n, const T* x, const T* scale, const T* moments,
                         const T* dy, const T* relu_output, T* dscale, T* dbias, T* dx) override {
    reference::LayerNormBackward(width, n, x, scale, moments, dy, relu_output, dscale, dbias, dx);
  }
  void LstmCellForward(int hidden, int n, T* gates, const T* c_in, T* c, T* h) override {
    reference::LstmCellForward(hidden, n, gates, c_in, c, h);
  }
  void LstmCellBackward(int hidden, int n, const T* gates, const T* c_in, const T* c, const T* dy,
                        const T* dh, T* dc, T* dgates) override {
    reference::LstmCellBackward(hidden, n, gates, c_in, c, dy, dh, dc, dgates);
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
