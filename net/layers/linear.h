// A fully connected layer.
#pragma once

#include "net/layers/layer.h"

namespace starling::net {

template <class T>
class Linear final : public Layer<T> {
 public:
  Linear(const LayerContext<T>& context, int width, bool relu)
      : Layer<T>(context, {.channels = width, .relu = relu}),
        shape_{context.input.size(), width},
        activation_(ReluIf(relu)),
        at_(context.layout, context.name, {shape_.in, shape_.out}) {}

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
    if (dx != nullptr && this->input_.relu) return this->backend_.LinearBackward(both);
    this->backend_.LinearBackwardWeights(both.weights());
    if (dx == nullptr) return;
    this->backend_.LinearBackwardInput(
        {.shape = both.shape, .n = both.n, .w = both.w, .dy = both.dy, .dx = dx});
  }

 private:
  const LinearShape shape_;
  const Activation activation_;
  const WeightAndBias at_;
};

}  // namespace starling::net
