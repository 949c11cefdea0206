// A convolution without padding.
#pragma once

#include "net/layers/layer.h"

namespace starling::net {

template <class T>
class Conv final : public Layer<T> {
 public:
  Conv(const LayerContext<T>& context, const ConvShape& shape, bool relu)
      : Layer<T>(context, {shape.out_height(), shape.out_width(), shape.out_channels, relu}),
        shape_(shape),
        activation_(ReluIf(relu)),
        at_(context.layout, context.name,
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
                                      .relu_output = this->Mask(x),
                                      .dx = dx});
  }

 private:
  const ConvShape shape_;
  const Activation activation_;
  const WeightAndBias at_;
};

}  // namespace starling::net
