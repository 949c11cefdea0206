#include "net/layers/layer.h"

namespace starling::net {
namespace {

Features Activated(Features features, Activation activation) {
  features.relu = activation == Activation::kRelu;
  return features;
}

// An activation that could not be fused into the layer below.
template <class T>
class ActivationLayer final : public Layer<T> {
 public:
  ActivationLayer(const Place<T>& place, Activation activation)
      : Layer<T>(place.backend, Activated(place.input, activation), place.rows),
        width_(place.input.size()),
        input_relu_(place.input.relu),
        activation_(activation) {}

  void Forward(const T* /*p*/, const Step& step, const T* x) override {
    this->backend_.Activate(activation_, step.envs * width_, x, this->output(step.row));
  }
  void Backward(const T* /*p*/, const Steps& steps, const T* x, T* /*gradient*/, T* dx) override {
    if (dx == nullptr) return;
    this->backend_.ActivateBackward({.activation = activation_,
                                     .count = steps.rows() * width_,
                                     .y = this->output(0),
                                     .dy = this->output_gradient(0),
                                     .relu_output = input_relu_ ? x : nullptr,
                                     .dx = dx});
  }

 private:
  const int width_;
  const bool input_relu_;
  const Activation activation_;
};

}  // namespace

template <class T>
std::unique_ptr<Layer<T>> MakeActivation(const Place<T>& place, Activation activation) {
  return std::make_unique<ActivationLayer<T>>(place, activation);
}
template std::unique_ptr<Layer<float>> MakeActivation(const Place<float>&, Activation);
template std::unique_ptr<Layer<double>> MakeActivation(const Place<double>&, Activation);

}  // namespace starling::net
