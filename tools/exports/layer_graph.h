// The layers of a net as nodes of an ONNX model, with the weights of a run.
//
// Thread safety: none.
#pragma once

#include <cstddef>
#include <initializer_list>
#include <span>
#include <string>
#include <vector>

#include "net/build_layers.h"
#include "net/parameters.h"
#include "tools/exports/onnx_model.h"

namespace starling::exports {

// A value of the graph: rows (N, size), or pictures with their channels first (N, C, H, W), as
// ONNX's convolutions take them. Ours have them last.
struct Value {
  std::string name;
  net::Features features;
  bool channels_first = false;
};

inline Shape Sizes(std::initializer_list<int> sizes) { return {sizes.begin(), sizes.end()}; }

class LayerGraph {
 public:
  // `weights` is a flat vector of `layout`. All must outlive this.
  LayerGraph(OnnxModel& onnx, const net::ParameterLayout& layout, std::span<const float> weights)
      : onnx_(onnx), layout_(layout), weights_(weights) {}

  // What the layers, planned by net::PlanLayers and named with `prefix`, make of `seen`: the
  // observation, or one value for each of its entries.
  Value Stack(const std::vector<net::PlannedLayer>& layers, const std::string& prefix,
              const std::vector<Value>& seen);
  // The fully connected layer with the parameters NAME.weight and NAME.bias: (N, out).
  std::string Linear(const std::string& name, const Value& x);
  // The columns of `value` in `parts` of `width`.
  std::vector<std::string> Split(const std::string& value, int parts, int width);

  // Constants.
  std::string Integers(const Shape& values);               // (size)
  std::string Floats(const std::vector<float>& values);    // (size)
  std::string Doubles(const std::vector<double>& values);  // (size)
  std::string Scalar(float value) { return onnx_.Constant({}, std::span(&value, 1)); }
  std::string Scalar(double value) { return onnx_.Constant({}, std::span(&value, 1)); }
  std::string Parameter(const std::string& name);
  std::span<const float> Weights(const net::Parameter& parameter) const {
    return weights_.subspan(parameter.offset, parameter.size);
  }

 private:
  std::string Kernel(const std::string& name);
  Value Rows(const Value& x);
  Value Pictures(const Value& x);
  Value Chain(const std::vector<net::PlannedLayer>& layers, const std::string& prefix, Value x);
  Value Joined(const net::PlannedLayer& entries, const std::string& prefix,
               const std::vector<Value>& seen);
  Value Concatenated(const std::vector<Value>& all);
  Value Layer(const net::PlannedLayer& layer, const std::string& name, const Value& x);
  Value Conv(const net::LayerSpec& spec, const std::string& name, const Value& x);
  Value Residual(const net::LayerSpec& spec, const std::string& name, const Value& x);
  Value LayerNorm(const std::string& name, const Value& x);
  Value Lstm(int width, const std::string& name, const Value& x);
  Value Gru(int width, const std::string& name, const Value& x);
  std::string State(const std::string& name, int width);
  void NextState(const std::string& name, const std::string& value, int width);

  OnnxModel& onnx_;
  const net::ParameterLayout& layout_;
  const std::span<const float> weights_;
};

}  // namespace starling::exports
