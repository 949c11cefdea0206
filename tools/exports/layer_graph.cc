#include "tools/exports/layer_graph.h"

#include <fmt/format.h>

#include <utility>

#include "core/check.h"
#include "net/op_args.h"
#include "tools/exports/layouts.h"

namespace starling::exports {
namespace {

using net::Features;
using net::LayerKind;

std::size_t Elements(int count) { return static_cast<std::size_t>(count); }

// ONNX pads at the top, left, bottom and right.
std::vector<Attribute> Windows(const net::LayerSpec& spec, const Features& input) {
  const net::PadShape pad = net::PadOf(spec, input);
  return {{"kernel_shape", Sizes({spec.kernel_height, spec.kernel_width})},
          {"strides", Sizes({spec.stride, spec.stride})},
          {"pads", Sizes({pad.top, pad.left, pad.bottom, pad.right})}};
}

const char* WordOf(LayerKind kind) {
  switch (kind) {
    case LayerKind::kMaxPool:
      return "max_pool";
    case LayerKind::kRelu:
      return "relu";
    case LayerKind::kTanh:
      return "tanh";
    default:
      return nullptr;  // it has parameters, and so a name
  }
}

}  // namespace

// ---- Constants

std::string LayerGraph::Integers(const Shape& values) {
  return onnx_.Constant({static_cast<std::int64_t>(values.size())},
                        std::span<const std::int64_t>(values));
}

std::string LayerGraph::Floats(const std::vector<float>& values) {
  return onnx_.Constant({static_cast<std::int64_t>(values.size())}, std::span<const float>(values));
}

std::string LayerGraph::Doubles(const std::vector<double>& values) {
  return onnx_.Constant({static_cast<std::int64_t>(values.size())},
                        std::span<const double>(values));
}

std::string LayerGraph::Parameter(const std::string& name) {
  const net::Parameter& parameter = layout_.Find(name);
  return onnx_.Constant(parameter.shape, Weights(parameter));
}

std::string LayerGraph::Kernel(const std::string& name) {
  const net::Parameter& parameter = layout_.Find(name);
  const Shape& shape = parameter.shape;
  const std::vector<float> kernel = OutputsFirst(Weights(parameter), shape);
  return onnx_.Constant({shape[3], shape[2], shape[0], shape[1]}, std::span<const float>(kernel));
}

// ---- Both forms of a value

Value LayerGraph::Rows(const Value& x) {
  if (!x.channels_first) return x;
  const std::string last = onnx_.Node("Transpose", {x.name}, {{"perm", Shape{0, 2, 3, 1}}});
  return {onnx_.Node("Reshape", {last, Integers({-1, x.features.size()})}), x.features};
}

Value LayerGraph::Pictures(const Value& x) {
  if (x.channels_first) return x;
  const auto& [height, width, channels, relu] = x.features;
  const std::string cells =
      onnx_.Node("Reshape", {x.name, Integers({-1, height, width, channels})});
  return {onnx_.Node("Transpose", {cells}, {{"perm", Shape{0, 3, 1, 2}}}), x.features, true};
}

// ---- Layers

Value LayerGraph::Stack(const std::vector<net::PlannedLayer>& layers, const std::string& prefix,
                        const std::vector<Value>& seen) {
  const bool joined = !layers.empty() && layers.front().spec.kind == LayerKind::kEntries;
  Value x = joined ? Joined(layers.front(), prefix, seen) : Concatenated(seen);
  return Chain({layers.begin() + (joined ? 1 : 0), layers.end()}, prefix, std::move(x));
}

Value LayerGraph::Chain(const std::vector<net::PlannedLayer>& layers, const std::string& prefix,
                        Value x) {
  const std::vector<std::string> names = net::LayerNames(layers, prefix);
  for (std::size_t i = 0; i < layers.size(); ++i) {
    const char* const word = WordOf(layers[i].spec.kind);
    onnx_.Enter(word == nullptr ? names[i] : fmt::format("{}layer{}.{}", prefix, i, word));
    x = Layer(layers[i], names[i], x);
    x.features = layers[i].output;
    if (layers[i].relu) x.name = onnx_.Node("Relu", {x.name});
  }
  return x;
}

Value LayerGraph::Joined(const net::PlannedLayer& entries, const std::string& prefix,
                         const std::vector<Value>& seen) {
  std::vector<Value> all;
  for (std::size_t i = 0; i < seen.size(); ++i) {
    const net::PlannedLayer::Entry& entry = entries.entries[i];
    all.push_back(
        Chain(entry.layers, fmt::format("{}entries.{}.{}.", prefix, i, entry.name), seen[i]));
  }
  return Concatenated(all);
}

Value LayerGraph::Concatenated(const std::vector<Value>& all) {
  if (all.size() == 1) return all.front();
  std::vector<std::string> rows;
  int size = 0;
  for (const Value& value : all) {
    rows.push_back(Rows(value).name);
    size += value.features.size();
  }
  return {onnx_.Node("Concat", rows, {{"axis", std::int64_t{1}}}), {.channels = size}};
}

Value LayerGraph::Layer(const net::PlannedLayer& layer, const std::string& name, const Value& x) {
  switch (layer.spec.kind) {
    case LayerKind::kConv:
      return Conv(layer.spec, name, Pictures(x));
    case LayerKind::kMaxPool: {
      const Value pictures = Pictures(x);
      return {onnx_.Node("MaxPool", {pictures.name}, Windows(layer.spec, layer.input)), {}, true};
    }
    case LayerKind::kResidual:
      return Residual(layer.spec, name, Pictures(x));
    case LayerKind::kLinear:
      return {Linear(name, x), {}};
    case LayerKind::kLstm:
      return Lstm(layer.spec.width, name, Rows(x));
    case LayerKind::kGru:
      return Gru(layer.spec.width, name, Rows(x));
    case LayerKind::kLayerNorm:
      return LayerNorm(name, Rows(x));
    case LayerKind::kRelu:
      return {onnx_.Node("Relu", {x.name}), {}, x.channels_first};
    case LayerKind::kTanh:
      return {onnx_.Node("Tanh", {x.name}), {}, x.channels_first};
    case LayerKind::kEntries:
      break;  // the first of a stack alone
  }
  CHECK(false, "a layer that cannot be exported");
}

Value LayerGraph::Conv(const net::LayerSpec& spec, const std::string& name, const Value& x) {
  return {onnx_.Node("Conv", {x.name, Kernel(name + ".weight"), Parameter(name + ".bias")},
                     Windows(spec, x.features)),
          {},
          true};
}

// In two passes, as net/cpu/layers.cc: ONNX's own operator may lose all digits in one.
Value LayerGraph::LayerNorm(const std::string& name, const Value& x) {
  const auto mean = [&](const std::string& of) {
    return onnx_.Node("ReduceMean", {of}, {{"axes", Shape{1}}, {"keepdims", std::int64_t{1}}});
  };
  const std::string centred = onnx_.Node("Sub", {x.name, mean(x.name)});
  const std::string variance = mean(onnx_.Node("Mul", {centred, centred}));
  const std::string deviation = onnx_.Node(
      "Sqrt", {onnx_.Node("Add", {variance, Scalar(static_cast<float>(net::kLayerNormEpsilon))})});
  const std::string scaled =
      onnx_.Node("Mul", {onnx_.Node("Div", {centred, deviation}), Parameter(name + ".scale")});
  return {onnx_.Node("Add", {scaled, Parameter(name + ".bias")}), {}};
}

// net/layers/pictures.h.
Value LayerGraph::Residual(const net::LayerSpec& spec, const std::string& name, const Value& x) {
  Value inner = Conv(spec, name + ".conv1", {onnx_.Node("Relu", {x.name}), x.features, true});
  inner = Conv(spec, name + ".conv2", {onnx_.Node("Relu", {inner.name}), x.features, true});
  return {onnx_.Node("Add", {x.name, inner.name}), {}, true};
}

std::string LayerGraph::Linear(const std::string& name, const Value& x) {
  return onnx_.Node("Gemm", {Rows(x).name, Parameter(name + ".weight"), Parameter(name + ".bias")});
}

// ---- Memory

std::string LayerGraph::State(const std::string& name, int width) {
  return onnx_.Input("state." + name, Sizes({width}));
}

void LayerGraph::NextState(const std::string& name, const std::string& value, int width) {
  onnx_.Output("next_state." + name, value, ElementType::kFloat, Sizes({width}));
}

std::vector<std::string> LayerGraph::Split(const std::string& value, int parts, int width) {
  return onnx_.Nodes("Split", {value, Integers(Shape(Elements(parts), width))}, Elements(parts),
                     {{"axis", std::int64_t{1}}});
}

// net/layers/lstm.h.
Value LayerGraph::Lstm(int width, const std::string& name, const Value& x) {
  const std::string h = State(name + ".h", width), c = State(name + ".c", width);
  const std::string from_x =
      onnx_.Node("Gemm", {x.name, Parameter(name + ".input_weight"), Parameter(name + ".bias")});
  const std::string from_h = onnx_.Node("MatMul", {h, Parameter(name + ".hidden_weight")});
  const std::vector<std::string> sums = Split(onnx_.Node("Add", {from_x, from_h}), 4, width);
  const std::string in = onnx_.Node("Sigmoid", {sums[0]});
  const std::string forget = onnx_.Node("Sigmoid", {sums[1]});
  const std::string cell = onnx_.Node("Tanh", {sums[2]});
  const std::string out = onnx_.Node("Sigmoid", {sums[3]});
  const std::string next_c =
      onnx_.Node("Add", {onnx_.Node("Mul", {forget, c}), onnx_.Node("Mul", {in, cell})});
  const std::string next_h = onnx_.Node("Mul", {out, onnx_.Node("Tanh", {next_c})});
  NextState(name + ".h", next_h, width);
  NextState(name + ".c", next_c, width);
  return {next_h, {}};
}

// net/layers/gru.h.
Value LayerGraph::Gru(int width, const std::string& name, const Value& x) {
  const std::string h = State(name + ".h", width);
  const std::vector<std::string> from_x = Split(
      onnx_.Node("Gemm", {x.name, Parameter(name + ".input_weight"), Parameter(name + ".bias")}), 3,
      width);
  const std::vector<std::string> from_h = Split(
      onnx_.Node("Gemm", {h, Parameter(name + ".hidden_weight"), Parameter(name + ".hidden_bias")}),
      3, width);
  const std::string reset = onnx_.Node("Sigmoid", {onnx_.Node("Add", {from_x[0], from_h[0]})});
  const std::string update = onnx_.Node("Sigmoid", {onnx_.Node("Add", {from_x[1], from_h[1]})});
  const std::string memory =
      onnx_.Node("Tanh", {onnx_.Node("Add", {from_x[2], onnx_.Node("Mul", {reset, from_h[2]})})});
  // (1 - z) m + z h = m + z (h - m)
  const std::string next =
      onnx_.Node("Add", {memory, onnx_.Node("Mul", {update, onnx_.Node("Sub", {h, memory})})});
  NextState(name + ".h", next, width);
  return {next, {}};
}

}  // namespace starling::exports
