// One layer of a net (net/model.h), written once over any backend. A layer owns its activations and
// their gradient for all rows, and knows where its parameters lie in the flat vector.
//
// Rows are time-major: `envs` rows make a step, and a layer with a state hands it from step to step.
//
// Thread safety: none.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "core/buffer.h"
#include "net/backend.h"
#include "net/parameters.h"

namespace starling::net {

// What one sample is: a picture, or width 1 and height 1 and a row of numbers.
struct Features {
  int height = 1, width = 1, channels = 1;
  bool relu = false;  // came out of a relu: most of it is zero, and gradients have to be masked
  int size() const { return height * width * channels; }
  bool flat() const { return height == 1 && width == 1; }
};

// The rows of one step, and those of the step before it.
struct Step {
  int row = 0, envs = 1;
  int before = -1;                       // its first row; -1: the state that was carried over
  const std::uint8_t* resets = nullptr;  // (envs): an episode begins here
};

// All rows of a gradient: steps x envs of them from row 0 on, `resets` for each.
struct Steps {
  int count = 0, envs = 1;
  const std::uint8_t* resets = nullptr;
  int rows() const { return count * envs; }
};

template <class T>
class Layer {
 public:
  // `rows` of `output` are room for all activations.
  Layer(Backend<T>& backend, const Features& output, int rows)
      : backend_(backend), output_features_(output) {
    const auto size = static_cast<std::size_t>(rows) * static_cast<std::size_t>(output.size());
    output_ = Buffer<T>(size, backend.memory());
    gradient_ = Buffer<T>(size, backend.memory());
  }
  virtual ~Layer() = default;

  const Features& features() const { return output_features_; }
  // Of one row and those behind it. The gradient is that before the relu, if there is one.
  T* output(int row) { return output_.data() + At(row); }
  T* output_gradient(int row) { return gradient_.data() + At(row); }

  // output(step.row) of x (envs, IN), what the layer below made of this step.
  virtual void Forward(const T* parameters, const Step& step, const T* x) = 0;
  // From output_gradient to that of this layer's parameters, in the flat vector `gradient`, and to
  // dx (rows, IN), masked if x came out of a relu; nobody asks the first layer: dx is nullptr.
  virtual void Backward(const T* parameters, const Steps& steps, const T* x, T* gradient,
                        T* dx) = 0;
  // The state after the step at `row` is where row 0 goes on from.
  virtual void Carry(int /*row*/, int /*envs*/) {}

 protected:
  Backend<T>& backend_;

 private:
  std::size_t At(int row) const {
    return static_cast<std::size_t>(row) * static_cast<std::size_t>(output_features_.size());
  }

  Features output_features_;
  Buffer<T> output_, gradient_;
};

// What every layer is made of and where: its parameters are added to `layout` as NAME.weight...
template <class T>
struct Place {
  Backend<T>& backend;
  ParameterLayout& layout;
  std::string name;
  Features input;
  int rows = 1, envs = 1;
};

// A weight and a bias in the flat vector.
struct WeightAndBias {
  std::size_t weight = 0, bias = 0;
  WeightAndBias() = default;
  WeightAndBias(ParameterLayout& layout, const std::string& name, std::vector<std::int64_t> shape);
};

// Each with a relu behind it, if it is fused (`relu`).
template <class T>
std::unique_ptr<Layer<T>> MakeConv(const Place<T>& place, const ConvShape& shape, bool relu);
template <class T>
std::unique_ptr<Layer<T>> MakeLinear(const Place<T>& place, int width, bool relu);
template <class T>
std::unique_ptr<Layer<T>> MakeLayerNorm(const Place<T>& place, bool relu);
// Long short-term memory; gradients go back in time as far as the steps of a gradient.
template <class T>
std::unique_ptr<Layer<T>> MakeLstm(const Place<T>& place, int width);
template <class T>
std::unique_ptr<Layer<T>> MakeActivation(const Place<T>& place, Activation activation);

}  // namespace starling::net
