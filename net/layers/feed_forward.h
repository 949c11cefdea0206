// Layers without a memory.
#pragma once

#include "net/layers/layer.h"

namespace starling::net {

// A convolution without padding.
template <class T>
class Conv final : public Layer<T> {
 public:
  Conv(const LayerContext<T>& context, const ConvShape& shape, bool relu)
      : Layer<T>(context, {shape.out_height(), shape.out_width(), shape.out_channels, relu}),
        shape_(shape),
        at_(context.layout, context.name,
            {shape.kernel_height, shape.kernel_width, shape.in_channels, shape.out_channels}) {}

  void Forward(const T* p, const Step& step, const T* x) override {
    this->backend_.ConvForward({.shape = shape_,
                                .n = step.envs,
                                .x = x,
                                .w = p + at_.weight,
                                .b = p + at_.bias,
                                .activation = this->fused(),
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
  const WeightAndBias at_;
};

// A fully connected layer.
template <class T>
class Linear final : public Layer<T> {
 public:
  Linear(const LayerContext<T>& context, int width, bool relu)
      : Layer<T>(context, {.channels = width, .relu = relu}),
        shape_{context.input.size(), width},
        at_(context.layout, context.name, {shape_.in, shape_.out}) {}

  void Forward(const T* p, const Step& step, const T* x) override {
    this->backend_.LinearForward({.shape = shape_,
                                  .n = step.envs,
                                  .x = x,
                                  .w = p + at_.weight,
                                  .b = p + at_.bias,
                                  .activation = this->fused(),
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
  const WeightAndBias at_;
};

// Layer normalisation over all features of a sample.
template <class T>
class LayerNorm final : public Layer<T> {
 public:
  LayerNorm(const LayerContext<T>& context, bool relu)
      : Layer<T>(context, WithRelu(context.input, relu)),
        width_(context.input.size()),
        scale_(context.layout.Add(context.name + ".scale", {width_}).offset),
        bias_(context.layout.Add(context.name + ".bias", {width_}).offset),
        moments_(std::int64_t{2} * context.rows, context.backend.memory()) {}

  void Forward(const T* p, const Step& step, const T* x) override {
    this->backend_.LayerNormForward({.width = width_,
                                     .n = step.envs,
                                     .x = x,
                                     .scale = p + scale_,
                                     .bias = p + bias_,
                                     .activation = this->fused(),
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
  const std::size_t scale_, bias_;
  Buffer<T> moments_;  // (rows, 2)
};

// An activation that could not be fused into the layer below.
template <class T>
class ActivationLayer final : public Layer<T> {
 public:
  ActivationLayer(const LayerContext<T>& context, Activation activation)
      : Layer<T>(context, WithRelu(context.input, activation == Activation::kRelu)),
        activation_(activation) {}

  void Forward(const T* /*p*/, const Step& step, const T* x) override {
    this->backend_.Activate(activation_, step.envs * this->input_.size(), x,
                            this->output(step.row));
  }
  void Backward(const T* /*p*/, const Steps& steps, const T* x, T* /*gradient*/, T* dx) override {
    if (dx == nullptr) return;
    this->backend_.ActivateBackward({.activation = activation_,
                                     .count = steps.rows() * this->input_.size(),
                                     .y = this->output(0),
                                     .dy = this->output_gradient(0),
                                     .relu_output = this->Mask(x),
                                     .dx = dx});
  }

 private:
  const Activation activation_;
};

}  // namespace starling::net
