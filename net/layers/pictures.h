// Layers of residual nets (He et al. 2016; Espeholt et al. 2018).
#pragma once

#include "net/layers/layer.h"

namespace starling::net {

// A convolution with zeros around its input, which it may activate first.
template <class T>
class PaddedConv final : public Layer<T> {
 public:
  // `shape` is that of the convolution on the padded picture, `relu` follows it.
  PaddedConv(const LayerContext<T>& context, const PadShape& pad, const ConvShape& shape,
             Activation before, bool relu)
      : Layer<T>(context, {shape.out_height(), shape.out_width(), shape.out_channels, relu}),
        pad_(pad),
        shape_(shape),
        before_(before),
        at_(context.layout, context.name, WeightShape(shape)),
        padded_(At(context.rows), context.backend.memory()),
        gradient_(At(context.rows), context.backend.memory()) {}

  void Forward(const T* p, const Step& step, const T* x) override {
    T* const padded = padded_.data() + At(step.row);
    this->backend_.Pad({.shape = pad_, .n = step.envs, .x = x, .activation = before_, .y = padded});
    this->backend_.ConvForward({.shape = shape_,
                                .n = step.envs,
                                .x = padded,
                                .w = p + at_.weight,
                                .b = p + at_.bias,
                                .activation = this->fused(),
                                .y = this->output(step.row)});
  }
  void BackwardInput(const T* p, int row, int n, const T* x, T* dx) override {
    T* const padded = gradient_.data() + At(row);
    this->backend_.ConvBackwardInput({.shape = shape_,
                                      .n = n,
                                      .w = p + at_.weight,
                                      .dy = this->output_gradient(row),
                                      .dx = padded});
    // The derivative of a relu is the same before it as behind it.
    const bool masked = before_ == Activation::kRelu || this->input_.relu;
    this->backend_.Crop(
        {.shape = pad_, .n = n, .dy = padded, .relu_output = masked ? x : nullptr, .dx = dx});
  }
  void BackwardWeights(const T* /*p*/, int n, const T* /*x*/, T* gradient) override {
    this->backend_.ConvBackwardWeights({.shape = shape_,
                                        .n = n,
                                        .x = padded_.data(),
                                        .dy = this->output_gradient(0),
                                        .dw = gradient + at_.weight,
                                        .db = gradient + at_.bias});
  }

 private:
  std::size_t At(int rows) const { return std::int64_t{rows} * pad_.padded_size(); }

  const PadShape pad_;
  const ConvShape shape_;
  const Activation before_;
  const WeightAndBias at_;
  Buffer<T> padded_, gradient_;  // (rows, PH, PW, C)
};

// The largest cell of each window.
template <class T>
class MaxPool final : public Layer<T> {
 public:
  MaxPool(const LayerContext<T>& context, const PoolShape& shape)
      : Layer<T>(context, {shape.out_height, shape.out_width, shape.channels}),
        shape_(shape),
        taken_(At(context.rows), context.backend.memory()) {}

  void Forward(const T* /*p*/, const Step& step, const T* x) override {
    this->backend_.MaxPoolForward({.shape = shape_,
                                   .n = step.envs,
                                   .x = x,
                                   .y = this->output(step.row),
                                   .taken = taken_.data() + At(step.row)});
  }
  void BackwardInput(const T* /*p*/, int row, int n, const T* x, T* dx) override {
    this->backend_.MaxPoolBackward({.shape = shape_,
                                    .n = n,
                                    .dy = this->output_gradient(row),
                                    .taken = taken_.data() + At(row),
                                    .relu_output = this->Mask(x),
                                    .dx = dx});
  }
  void BackwardWeights(const T* /*p*/, int /*n*/, const T* /*x*/, T* /*gradient*/) override {}

 private:
  std::size_t At(int rows) const { return std::int64_t{rows} * shape_.out_size(); }

  const PoolShape shape_;
  Buffer<std::int32_t> taken_;  // (rows, OH, OW, C)
};

// x + conv(relu(conv(relu(x)))).
template <class T>
class Residual final : public Layer<T> {
 public:
  Residual(const LayerContext<T>& context, const PadShape& pad, const ConvShape& shape)
      : Layer<T>(context, WithRelu(context.input, false)),
        first_(Inner(context, ".conv1", false), pad, shape, Activation::kRelu, true),
        second_(Inner(context, ".conv2", true), pad, shape, Activation::kNone, false) {}

  void Forward(const T* p, const Step& step, const T* x) override {
    first_.Forward(p, step, x);
    second_.Forward(p, step, first_.output(step.row));
    this->backend_.Add({.count = step.envs * this->input_.size(),
                        .a = x,
                        .b = second_.output(step.row),
                        .y = this->output(step.row)});
  }
  void BackwardStep(const T* p, const Step& step, bool /*last*/) override {
    const int row = step.row, n = step.envs;
    this->backend_.Activate(Activation::kNone, n * this->input_.size(), this->output_gradient(row),
                            second_.output_gradient(row));
    second_.BackwardInput(p, row, n, first_.output(row), first_.output_gradient(row));
  }
  void BackwardInput(const T* p, int row, int n, const T* x, T* dx) override {
    first_.BackwardInput(p, row, n, x, dx);
    this->backend_.Add({.count = n * this->input_.size(),
                        .a = dx,
                        .b = this->output_gradient(row),
                        .relu_output = this->Mask(x),
                        .y = dx});
  }
  void BackwardWeights(const T* p, int n, const T* x, T* gradient) override {
    first_.BackwardWeights(p, n, x, gradient);
    second_.BackwardWeights(p, n, first_.output(0), gradient);
  }

 private:
  static LayerContext<T> Inner(LayerContext<T> context, const char* name, bool relu) {
    context.name += name;
    context.input.relu = relu;
    return context;
  }

  PaddedConv<T> first_, second_;
};

}  // namespace starling::net
