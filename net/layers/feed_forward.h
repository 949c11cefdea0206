// Layers without a memory; those of residual nets are in pictures.h.
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
        at_(context.layout, context.name, WeightShape(shape)) {}

  void Forward(const T* p, const Step& step, const T* x) override {
    this->backend_.ConvForward({.shape = shape_,
                                .n = step.envs,
                                .x = x,
                                .w = p + at_.weight,
                                .b = p + at_.bias,
                                .activation = this->fused(),
                                .y = this->output(step.row)});
  }
  void BackwardInput(const T* p, int row, int n, const T* x, T* dx) override {
    this->backend_.ConvBackwardInput({.shape = shape_,
                                      .n = n,
                                      .w = p + at_.weight,
                                      .dy = this->output_gradient(row),
                                      .relu_output = this->Mask(x),
                                      .dx = dx});
  }
  void BackwardWeights(const T* /*p*/, int n, const T* x, T* gradient) override {
    this->backend_.ConvBackwardWeights({.shape = shape_,
                                        .n = n,
                                        .x = x,
                                        .dy = this->output_gradient(0),
                                        .dw = gradient + at_.weight,
                                        .db = gradient + at_.bias});
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
  void BackwardInput(const T* p, int row, int n, const T* x, T* dx) override {
    this->backend_.LinearBackwardInput({.shape = shape_,
                                        .n = n,
                                        .w = p + at_.weight,
                                        .dy = this->output_gradient(row),
                                        .relu_output = this->Mask(x),
                                        .dx = dx});
  }
  void BackwardWeights(const T* /*p*/, int n, const T* x, T* gradient) override {
    this->backend_.LinearBackwardWeights({.shape = shape_,
                                          .n = n,
                                          .x = x,
                                          .dy = this->output_gradient(0),
                                          .dw = gradient + at_.weight,
                                          .db = gradient + at_.bias});
  }
  void Backward(const T* p, int n, const T* x, T* gradient, T* dx) override {
    if (dx == nullptr || !this->input_.relu) return Layer<T>::Backward(p, n, x, gradient, dx);
    this->backend_.LinearBackward({.shape = shape_,
                                   .n = n,
                                   .x = x,
                                   .w = p + at_.weight,
                                   .dy = this->output_gradient(0),
                                   .dw = gradient + at_.weight,
                                   .db = gradient + at_.bias,
                                   .dx = dx});
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
        scale_(context.Add(".scale", {width_})),
        bias_(context.Add(".bias", {width_})),
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
  void BackwardInput(const T* p, int row, int n, const T* x, T* dx) override {
    this->backend_.LayerNormBackward(ArgsOf(p, row, n, x, nullptr, dx));
  }
  void BackwardWeights(const T* p, int n, const T* x, T* gradient) override {
    this->backend_.LayerNormBackward(ArgsOf(p, 0, n, x, gradient, nullptr));
  }
  void Backward(const T* p, int n, const T* x, T* gradient, T* dx) override {
    this->backend_.LayerNormBackward(ArgsOf(p, 0, n, x, gradient, dx));
  }

 private:
  // gradient or dx may be nullptr: not wanted.
  LayerNormBackwardArgs<T> ArgsOf(const T* p, int row, int n, const T* x, T* gradient, T* dx) {
    return {.width = width_,
            .n = n,
            .x = x,
            .scale = p + scale_,
            .moments = moments_.data() + 2 * row,
            .dy = this->output_gradient(row),
            .relu_output = this->Mask(x),
            .dscale = gradient == nullptr ? nullptr : gradient + scale_,
            .dbias = gradient == nullptr ? nullptr : gradient + bias_,
            .dx = dx};
  }

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
  void BackwardInput(const T* /*p*/, int row, int n, const T* x, T* dx) override {
    this->backend_.ActivateBackward({.activation = activation_,
                                     .count = n * this->input_.size(),
                                     .y = this->output(row),
                                     .dy = this->output_gradient(row),
                                     .relu_output = this->Mask(x),
                                     .dx = dx});
  }
  void BackwardWeights(const T* /*p*/, int /*n*/, const T* /*x*/, T* /*gradient*/) override {}

 private:
  const Activation activation_;
};

}  // namespace starling::net
