// One layer of a net (net/model.h), written once for every backend. A layer owns its activations
// and their gradients for all rows and the offsets of its parameters in the flat vector.
//
// Rows are time-major: `envs` rows make one step. A recurrent layer passes on its state by steps.
//
// Thread safety: none.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "core/memory.h"
#include "net/backend.h"
#include "net/parameters.h"

namespace starling::net {

// The shape of one sample: a picture, or a plain row of numbers (height 1, width 1).
struct Features {
  int height = 1, width = 1, channels = 1;
  // The output of a relu: mostly zeros, and its gradient must be masked.
  bool relu = false;
  int size() const { return height * width * channels; }
  bool flat() const { return height == 1 && width == 1; }
};

// The rows of one step: of all envs, or of some.
struct Step {
  int row = 0, envs = 1;
  int first = 0;                         // the env of `row`
  int before = -1;                       // its row in the previous step; -1: the carried state
  const std::uint8_t* resets = nullptr;  // (envs): nonzero where an episode begins
};

// The surroundings of a new layer. It adds its parameters to `layout` as NAME.weight and so on.
template <class T>
struct LayerContext {
  Backend<T>& backend;
  ParameterLayout& layout;
  std::string name;
  Features input;
  int rows = 1, envs = 1;

  // Adds the parameter NAME + `ending`; returns its offset.
  std::size_t Add(const char* ending, std::vector<std::int64_t> shape) const {
    return layout.Add(name + ending, std::move(shape)).offset;
  }
};

template <class T>
class Layer {
 public:
  // Allocates activations and gradients of shape (rows, output.size()).
  Layer(const LayerContext<T>& context, const Features& output)
      : backend_(context.backend),
        input_(context.input),
        features_(output),
        output_(Offset(context.rows), backend_.memory()),
        gradient_(Offset(context.rows), backend_.memory()) {}
  virtual ~Layer() = default;

  const Features& features() const { return features_; }
  // The activations from `row` on, and the gradient of the loss with respect to them. If the layer
  // ends in a relu, that gradient is taken before the relu.
  T* output(int row) { return output_.data() + Offset(row); }
  T* output_gradient(int row) { return gradient_.data() + Offset(row); }

  // Computes output(step.row) from x (envs, IN), the output of the layer below at this step.
  virtual void Forward(const T* parameters, const Step& step, const T* x) = 0;

  // The backward pass, in three parts. Each starts from output_gradient of its rows, which is
  // complete.
  //
  // What comes first, step by step: a recurrent layer goes back in time by one step, a residual one
  // back to its inner layer. `last`: no step follows this one.
  // REQUIRES: it was called for the step that follows.
  virtual void BackwardStep(const T* /*parameters*/, const Step& /*step*/, bool /*last*/) {}
  // Computes dx (n, IN) of rows [row, row + n) from their x (n, IN), masked if x is the output of a
  // relu.
  virtual void BackwardInput(const T* parameters, int row, int n, const T* x, T* dx) = 0;
  // Computes from rows [0, n) and their x the gradients of this layer's parameters, within the flat
  // vector `gradient`.
  virtual void BackwardWeights(const T* parameters, int n, const T* x, T* gradient) = 0;
  // The last two for rows [0, n), where a layer can save work by doing both at once. dx is nullptr
  // for the first layer, whose input needs no gradient.
  virtual void Backward(const T* parameters, int n, const T* x, T* gradient, T* dx) {
    BackwardWeights(parameters, n, x, gradient);
    if (dx != nullptr) BackwardInput(parameters, 0, n, x, dx);
  }

  // Makes the state after the step at `row` the one that row 0 continues from.
  virtual void Carry(int /*row*/, int /*envs*/) {}
  // Appends the arrays of the state that row 0 continues from.
  virtual void AddCarried(std::vector<std::span<T>>& /*all*/) {}

 protected:
  // The relu that follows this layer, if it is fused into it.
  Activation fused() const { return features_.relu ? Activation::kRelu : Activation::kNone; }
  // `relu_output` of net/op_args.h.
  const T* Mask(const T* x) const { return input_.relu ? x : nullptr; }

  Backend<T>& backend_;
  const Features input_;

 private:
  std::size_t Offset(int row) const { return std::int64_t{row} * features_.size(); }

  const Features features_;
  Buffer<T> output_, gradient_;
};

// Offsets of a weight and a bias in the flat vector.
struct WeightAndBias {
  std::size_t weight = 0, bias = 0;
  WeightAndBias(ParameterLayout& layout, const std::string& name, std::vector<std::int64_t> shape) {
    const std::int64_t out = shape.back();
    weight = layout.Add(name + ".weight", std::move(shape)).offset;
    bias = layout.Add(name + ".bias", {out}).offset;
  }
};

// Of the weight of a convolution.
inline std::vector<std::int64_t> WeightShape(const ConvShape& shape) {
  return {shape.kernel_height, shape.kernel_width, shape.in_channels, shape.out_channels};
}

inline Features WithRelu(Features features, bool relu) {
  features.relu = relu;
  return features;
}

}  // namespace starling::net
