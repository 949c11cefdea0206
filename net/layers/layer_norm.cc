#include "net/layers/layer.h"

namespace starling::net {
namespace {

Features WithRelu(Features features, bool relu) {
  features.relu = relu;
  return features;
}

// Normalises over all features of a sample.
template <class T>
class LayerNorm final : public Layer<T> {
 public:
  LayerNorm(const Place<T>& place, bool relu)
      : Layer<T>(place.backend, WithRelu(place.input, relu), place.rows),
        width_(place.input.size()),
        input_relu_(place.input.relu),
        activation_(ReluIf(relu)),
        scale_(place.layout.Add(place.name + ".scale", {width_}).offset),
        bias_(place.layout.Add(place.name + ".bias", {width_}).offset),
        moments_(std::int64_t{2} * place.rows, place.backend.memory()) {}

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
                                      .relu_output = input_relu_ ? x : nullptr,
                                      .dscale = gradient + scale_,
                                      .dbias = gradient + bias_,
                                      .dx = dx});
  }

 private:
  const int width_;
  const bool input_relu_;
  const Activation activation_;
  const std::size_t scale_, bias_;
  Buffer<T> moments_;  // (rows, 2)
};

}  // namespace

template <class T>
std::unique_ptr<Layer<T>> MakeLayerNorm(const Place<T>& place, bool relu) {
  return std::make_unique<LayerNorm<T>>(place, relu);
}
template std::unique_ptr<Layer<float>> MakeLayerNorm(const Place<float>&, bool);
template std::unique_ptr<Layer<double>> MakeLayerNorm(const Place<double>&, bool);

}  // namespace starling::net
