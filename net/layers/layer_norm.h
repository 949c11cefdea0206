// Layer normalisation over all features of a sample.
#pragma once

#include "net/layers/layer.h"

namespace starling::net {

template <class T>
class LayerNorm final : public Layer<T> {
 public:
  LayerNorm(const LayerContext<T>& context, bool relu)
      : Layer<T>(context, WithRelu(context.input, relu)),
        width_(context.input.size()),
        activation_(ReluIf(relu)),
        scale_(context.layout.Add(context.name + ".scale", {width_}).offset),
        bias_(context.layout.Add(context.name + ".bias", {width_}).offset),
        moments_(std::int64_t{2} * context.rows, context.backend.memory()) {}

  void Forward(const T* p, const Step& step, const T* x) override {
    this->backend_.LayerNormForward({.width = width_,
                                     .n = step.envs,
                                     .x = x,
                                     .scale = p + scale_,
                                     .bias = p + bias_,
                                     .activation = activation_,
                                     .moments = moments_.data() + 2 * step.row,
                                     .y = this->output(step.row)});
  }
  void Backward(const T* p, const Steps& steps, const T* x, T* gradient, T* dx) override {
    this->backend_.LayerNormBackward({.width = width_,
                                      .n = steps.rows(),
                                      .x = x,
                                      .scale = p + scale_,
                                      .moments = moments_.data(),
                                      .dy = this->output_gradient(0),
                                      .relu_output = this->Mask(x),
                                      .dscale = gradient + scale_,
                                      .dbias = gradient + bias_,
                                      .dx = dx});
  }

 private:
  const int width_;
  const Activation activation_;
  const std::size_t scale_, bias_;
  Buffer<T> moments_;  // (rows, 2)
};

}  // namespace starling::net
