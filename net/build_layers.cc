#include "net/build_layers.h"

#include <fmt/format.h>

#include <limits>
#include <map>

#include "core/check.h"
#include "core/error.h"
#include "net/layers/feed_forward.h"
#include "net/layers/lstm.h"

namespace starling::net {
namespace {

constexpr const char* kFewerSamples = "make actors.envs_per_actor or actors.unroll smaller";

// Ops count the elements of an array as int (net/op_args.h).
void CheckCounted(std::int64_t rows, std::int64_t size, const char* advice) {
  if (rows <= std::numeric_limits<int>::max() / size) return;
  throw UserError(
      fmt::format("a net of {} x {} numbers in one array is too large: {}", rows, size, advice));
}

ConvShape ShapeOf(const LayerSpec& layer, const Features& input) {
  return {input.height,       input.width,  input.channels, layer.kernel_height,
          layer.kernel_width, layer.stride, layer.width};
}

// Reports a convolution larger than its input. The message names the layer if the operator wrote it
// (net.layers), else the kind of net that contains it.
[[noreturn]] void RefuseConv(const ModelSpec& spec, const LayerSpec& layer, const Features& input,
                             bool first) {
  const std::string found = input.flat() && input.channels > 1
                                ? fmt::format("a row of {} numbers", input.size())
                                : fmt::format("{}x{} cells", input.height, input.width);
  const std::string where = first ? "" : " at that layer";
  if (spec.kind == NetKind::kLayers) {
    throw UserError(fmt::format("net.layers: \"{}\" convolves {}x{} cells, but gets {}{}",
                                layer.text, layer.kernel_height, layer.kernel_width, found, where),
                    "net.layers");
  }
  const bool minatar_fits = spec.height >= 3 && spec.width >= 3 && spec.kind != NetKind::kMinatar;
  throw UserError(
      fmt::format("net.kind \"{}\" convolves {}x{} cells, but an observation of this env is "
                  "{}x{}{}: use net.kind {}",
                  NameOf(spec.kind), layer.kernel_height, layer.kernel_width, spec.height,
                  spec.width,
                  first ? "" : fmt::format(", {}x{} at that layer", input.height, input.width),
                  minatar_fits ? "\"minatar\" or \"mlp\"" : "\"mlp\""),
      "net.kind");
}

// The shape of a layer's output.
Features After(const ModelSpec& spec, const LayerSpec& layer, const Features& input, bool first) {
  switch (layer.kind) {
    case LayerKind::kConv: {
      if (input.height < layer.kernel_height || input.width < layer.kernel_width) {
        RefuseConv(spec, layer, input, first);
      }
      const ConvShape shape = ShapeOf(layer, input);
      return {shape.out_height(), shape.out_width(), shape.out_channels};
    }
    case LayerKind::kLinear:
    case LayerKind::kLstm:
      return {.channels = layer.width};
    default:
      return input;
  }
}

bool FusesRelu(LayerKind kind) {
  return kind == LayerKind::kConv || kind == LayerKind::kLinear || kind == LayerKind::kLayerNorm;
}

// The stem of parameter names. They are part of the fingerprint.
const char* NameOf(LayerKind kind) {
  switch (kind) {
    case LayerKind::kConv:
      return "conv";
    case LayerKind::kLinear:
      return "fc";
    case LayerKind::kLstm:
      return "lstm";
    case LayerKind::kLayerNorm:
      return "norm";
    default:
      return "";
  }
}

template <class T>
std::unique_ptr<Layer<T>> Make(const LayerSpec& layer, const LayerContext<T>& context, bool relu) {
  switch (layer.kind) {
    case LayerKind::kConv:
      return std::make_unique<Conv<T>>(context, ShapeOf(layer, context.input), relu);
    case LayerKind::kLinear:
      return std::make_unique<Linear<T>>(context, layer.width, relu);
    case LayerKind::kLayerNorm:
      return std::make_unique<LayerNorm<T>>(context, relu);
    case LayerKind::kLstm:
      return std::make_unique<Lstm<T>>(context, layer.width);
    case LayerKind::kRelu:
      return std::make_unique<ActivationLayer<T>>(context, Activation::kRelu);
    case LayerKind::kTanh:
      break;
  }
  return std::make_unique<ActivationLayer<T>>(context, Activation::kTanh);
}

}  // namespace

std::int64_t PlannedLayer::work() const {
  switch (spec.kind) {
    case LayerKind::kConv:
      return std::int64_t{output.size()} * ShapeOf(spec, input).patch();
    case LayerKind::kLinear:
      return std::int64_t{input.size()} * output.size();
    case LayerKind::kLstm:
      return (std::int64_t{input.size()} + output.size()) * 4 * output.size();
    default:
      return output.size();
  }
}

std::vector<PlannedLayer> PlanLayers(const ModelSpec& spec) {
  CHECK(spec.height >= 1 && spec.width >= 1 && spec.channels >= 1 && spec.num_actions >= 1);
  const std::vector<LayerSpec> specs = LayersOf(spec);
  std::vector<PlannedLayer> layers;
  Features input{spec.height, spec.width, spec.channels};
  for (std::size_t i = 0; i < specs.size(); ++i) {
    const LayerKind kind = specs[i].kind;
    const bool fused =
        FusesRelu(kind) && i + 1 < specs.size() && specs[i + 1].kind == LayerKind::kRelu;
    const Features output =
        WithRelu(After(spec, specs[i], input, layers.empty()), fused || kind == LayerKind::kRelu);
    layers.push_back({.spec = specs[i], .relu = fused, .input = input, .output = output});
    input = output;
    if (fused) ++i;
  }
  return layers;
}

void CheckCounts(const ModelSpec& spec, const std::vector<PlannedLayer>& layers,
                 const Batch& batch) {
  const std::int64_t rows = std::int64_t{batch.envs} * batch.steps;
  CheckCounted(rows, Features{spec.height, spec.width, spec.channels}.size(), kFewerSamples);
  for (const PlannedLayer& layer : layers) {
    const LayerKind kind = layer.spec.kind;
    const int gates = kind == LayerKind::kLstm ? 4 : 1, size = layer.output.size();
    if (kind == LayerKind::kLinear || kind == LayerKind::kLstm) {
      // An lstm has a recurrent weight, too, of shape (output, gates * output).
      const bool listed = spec.kind == NetKind::kLayers;
      CheckCounted(std::max(layer.input.size(), size), gates * size,
                   listed ? "make its net.layers narrower" : "make net.hidden narrower");
    }
    CheckCounted(rows, std::int64_t{gates} * size, kFewerSamples);
  }
}

template <class T>
Layers<T> BuildLayers(const std::vector<PlannedLayer>& layers, LayerContext<T> context) {
  Layers<T> built;
  std::map<LayerKind, int> count;
  for (const PlannedLayer& layer : layers) {
    const LayerKind kind = layer.spec.kind;
    context.name = fmt::format("{}{}", NameOf(kind), ++count[kind]);
    context.input = layer.input;
    built.push_back(Make(layer.spec, context, layer.relu));
  }
  return built;
}

template Layers<float> BuildLayers(const std::vector<PlannedLayer>&, LayerContext<float>);
template Layers<double> BuildLayers(const std::vector<PlannedLayer>&, LayerContext<double>);

}  // namespace starling::net
