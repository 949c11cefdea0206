// An activation that could not be fused into the layer below.
#pragma once

#include "net/layers/layer.h"

namespace starling::net {

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
