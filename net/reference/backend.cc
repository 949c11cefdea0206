#include "net/backend.h"
#include "net/reference/conv2d.h"
#include "net/reference/linear.h"

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
};

}  // namespace

template <class T>
std::unique_ptr<Backend<T>> MakeReferenceBackend() {
  return std::make_unique<ReferenceBackend<T>>();
}

template std::unique_ptr<Backend<float>> MakeReferenceBackend<float>();
template std::unique_ptr<Backend<double>> MakeReferenceBackend<double>();

}  // namespace starling::net
