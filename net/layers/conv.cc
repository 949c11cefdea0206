#include "net/layers/layer.h"

namespace starling::net {
namespace {

template <class T>
class Conv final : public Layer<T> {
 public:
  Conv(const Place<T>& place, const ConvShape& shape, bool relu)
      : Layer<T>(place.backend, {shape.out_height(), shape.out_width(), shape.out_channels, relu},
                 place.rows),
        shape_(shape),
        input_relu_(place.input.relu),
        activation_(ReluIf(relu)),
        at_(place.layout, place.name,
            {shape.kernel_height, shape.kernel_width, shape.in_channels, shape.out_channels}) {}

  void Forward(const T* p, const Step& step, const T* x) override {
    this->backend_.ConvForward({.shape = shape_,
                                .n = step.envs,
                                .x = x,
                                .w = p + at_.weight,
                                .b = p + at_.bias,
                                .activation = activation_,
                                .y = this->output(step.row)});
  }
  void Backward(const T* p, const Steps& steps, const T* x, T* gradient, T* dx) override {
    const T* const dy = this->output_gradient(0);
    this->backend_.ConvBackwardWeights({.shape = shape_,
                                        .n = steps.rows(),
                                        .x = x,
                                        .dy = dy,
                                        .dw = gradient + at_.weight,
                                        .db = gradient + at_.bias});
    if (dx == nullptr) return;
    this->backend_.ConvBackwardInput({.shape = shape_,
                                      .n = steps.rows(),
                                      .w = p + at_.weight,
                                      .dy = dy,
                                      .relu_output = input_relu_ ? x : nullptr,
                                      .dx = dx});
  }

 private:
  const ConvShape shape_;
  const bool input_relu_;
  const Activation activation_;
  const WeightAndBias at_;
};

}  // namespace

template <class T>
std::unique_ptr<Layer<T>> MakeConv(const Place<T>& place, const ConvShape& shape, bool relu) {
  return std::make_unique<Conv<T>>(place, shape, relu);
}
template std::unique_ptr<Layer<float>> MakeConv(const Place<float>&, const ConvShape&, bool);
template std::unique_ptr<Layer<double>> MakeConv(const Place<double>&, const ConvShape&, bool);

}  // namespace starling::net
