#include "net/layers/layer.h"

namespace starling::net {
namespace {

template <class T>
class Linear final : public Layer<T> {
 public:
  Linear(const Place<T>& place, int width, bool relu)
      : Layer<T>(place.backend, {.channels = width, .relu = relu}, place.rows),
        shape_{place.input.size(), width},
        input_relu_(place.input.relu),
        activation_(ReluIf(relu)),
        at_(place.layout, place.name, {shape_.in, shape_.out}) {}

  void Forward(const T* p, const Step& step, const T* x) override {
    this->backend_.LinearForward(shape_, step.envs, x, p + at_.weight, p + at_.bias, activation_,
                                 this->output(step.row));
  }
  void Backward(const T* p, const Steps& steps, const T* x, T* gradient, T* dx) override {
    const T *const dy = this->output_gradient(0), *const w = p + at_.weight;
    T *const dw = gradient + at_.weight, *const db = gradient + at_.bias;
    if (dx != nullptr && input_relu_) {
      return this->backend_.LinearBackward(shape_, steps.rows(), x, w, dy, dw, db, dx);
    }
    this->backend_.LinearBackwardWeights(shape_, steps.rows(), x, dy, dw, db);
    if (dx == nullptr) return;
    this->backend_.LinearBackwardInput(shape_, steps.rows(), w, dy, Put::kReplace, nullptr, dx);
  }

 private:
  const LinearShape shape_;
  const bool input_relu_;
  const Activation activation_;
  const WeightAndBias at_;
};

}  // namespace

template <class T>
std::unique_ptr<Layer<T>> MakeLinear(const Place<T>& place, int width, bool relu) {
  return std::make_unique<Linear<T>>(place, width, relu);
}
template std::unique_ptr<Layer<float>> MakeLinear(const Place<float>&, int, bool);
template std::unique_ptr<Layer<double>> MakeLinear(const Place<double>&, int, bool);

}  // namespace starling::net
