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
    this->backend_.LinearForward({.shape = shape_,
                                  .n = step.envs,
                                  .x = x,
                                  .w = p + at_.weight,
                                  .b = p + at_.bias,
                                  .activation = activation_,
                                  .y = this->output(step.row)});
  }
  void Backward(const T* p, const Steps& steps, const T* x, T* gradient, T* dx) override {
    const LinearBackwardArgs<T> both{.shape = shape_,
                                     .n = steps.rows(),
                                     .x = x,
                                     .w = p + at_.weight,
                                     .dy = this->output_gradient(0),
                                     .dw = gradient + at_.weight,
                                     .db = gradient + at_.bias,
                                     .dx = dx};
    if (dx != nullptr && input_relu_) return this->backend_.LinearBackward(both);
    this->backend_.LinearBackwardWeights(both.weights());
    if (dx == nullptr) return;
    this->backend_.LinearBackwardInput(
        {.shape = both.shape, .n = both.n, .w = both.w, .dy = both.dy, .dx = dx});
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
