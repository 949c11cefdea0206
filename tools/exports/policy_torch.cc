#include "tools/exports/policy_torch.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <numeric>
#include <utility>

#include "actors/model_spec.h"
#include "core/check.h"
#include "core/safetensors.h"
#include "net/build_layers.h"
#include "net/heads.h"
#include "net/part.h"
#include "net/policy.h"
#include "net/running.h"
#include "results/trained.h"
#include "tools/exports/layouts.h"

namespace starling::exports {
namespace {

using net::Features;
using net::LayerKind;
using Json = nlohmann::ordered_json;
// order[i]: which of our numbers is number i of PyTorch's.
using Order = std::vector<std::size_t>;

std::size_t Size(std::int64_t count) { return static_cast<std::size_t>(count); }

// The shapes of what is observed.
std::vector<Features> ArraysOf(const envs::EnvSpec& env) {
  if (env.entries.empty()) return {{env.height, env.width, env.channels}};
  std::vector<Features> arrays;
  for (const ObservationEntry& entry : env.entries) {
    arrays.push_back({entry.height, entry.width, entry.channels});
  }
  return arrays;
}

// Ours are (H, W, C), PyTorch's (C, H, W).
Order OrderOf(const Features& features) {
  const std::size_t cells = Size(features.height) * Size(features.width);
  const std::size_t channels = Size(features.channels);
  Order order;
  for (std::size_t c = 0; c < channels; ++c) {
    for (std::size_t cell = 0; cell < cells; ++cell) order.push_back(cell * channels + c);
  }
  return order;
}

const char* KindOf(LayerKind kind) {
  switch (kind) {
    case LayerKind::kConv:
      return "conv";
    case LayerKind::kMaxPool:
      return "max_pool";
    case LayerKind::kResidual:
      return "residual";
    case LayerKind::kLinear:
      return "linear";
    case LayerKind::kLstm:
      return "lstm";
    case LayerKind::kGru:
      return "gru";
    case LayerKind::kLayerNorm:
      return "layer_norm";
    case LayerKind::kRelu:
      return "relu";
    case LayerKind::kTanh:
      return "tanh";
    case LayerKind::kEntries:
      break;  // the first of a stack alone
  }
  CHECK(false, "a layer that cannot be exported");
}

bool HasParameters(LayerKind kind) {
  return kind != LayerKind::kMaxPool && kind != LayerKind::kRelu && kind != LayerKind::kTanh;
}

class Exporter {
 public:
  Exporter(const Config& config, const envs::EnvSpec& env, std::span<const float> weights)
      : config_(config),
        env_(env),
        arrays_(ArraysOf(env)),
        spec_(actors::ModelSpecOf(config, env)),
        layout_(results::LayoutOf(config, env)),
        weights_(weights) {
    CHECK(weights.size() == layout_.size(), "{} weights of {}", weights.size(), layout_.size());
  }

  TorchPolicy Export() {
    Json told;
    // 1. What is observed.
    told["observations"] = Observations();
    told["most_standard"] = net::kMostStandard;
    told["least_variance"] = net::kLeastVariance;
    told["more_variance"] = net::kMoreVariance;
    // 2. The layers, once, or once for each of two nets.
    const std::vector<net::PlannedLayer> layers = net::WholeNet(spec_).layers;
    const bool two = spec_.critic == Critic::kSeparate;
    const Order actor = Stack(layers, "", told),
                critic = two ? Stack(layers, "critic.", told) : actor;
    told["separate_critic"] = two;
    told["top"] = actor.size();
    // 3. The heads.
    told["actions"] = Actions(actor);
    told["forbidden"] = net::kForbidden;
    told["most_log_std"] = net::kMostLogDeviation;
    Linear("value", "value", critic);
    return {std::move(tensors_), told.dump()};
  }

 private:
  std::span<const float> Weights(const std::string& name) const {
    const net::Parameter& parameter = layout_.Find(name);
    return weights_.subspan(parameter.offset, parameter.size);
  }
  void Add(std::string name, std::vector<std::uint64_t> shape, std::vector<float> floats) {
    tensors_.push_back({std::move(name), std::move(shape), std::move(floats)});
  }
  // A parameter of one dimension.
  void Copy(const std::string& ours, const std::string& theirs) {
    const std::span<const float> from = Weights(ours);
    Add(theirs, {from.size()}, {from.begin(), from.end()});
  }
  // One for each number, in `order`.
  void Reorder(const std::string& ours, const std::string& theirs, const Order& order,
               std::vector<std::uint64_t> shape) {
    const std::span<const float> from = Weights(ours);
    std::vector<float> to;
    for (const std::size_t i : order) to.push_back(from[i]);
    Add(theirs, std::move(shape), std::move(to));
  }
  // (in, out) as (out, in), whose inputs are in `order`.
  void Matrix(const std::string& ours, const std::string& theirs, const Order& order) {
    const std::span<const float> from = Weights(ours);
    const std::size_t in = order.size(), out = from.size() / in;
    std::vector<float> to;
    to.reserve(from.size());
    for (std::size_t o = 0; o < out; ++o) {
      for (const std::size_t i : order) to.push_back(from[i * out + o]);
    }
    Add(theirs, {out, in}, std::move(to));
  }
  void Linear(const std::string& ours, const std::string& theirs, const Order& order) {
    Matrix(ours + ".weight", theirs + ".weight", order);
    Copy(ours + ".bias", theirs + ".bias");
  }
  void Conv(const std::string& ours, const std::string& theirs) {
    const auto& shape = layout_.Find(ours + ".weight").shape;
    Add(theirs + ".weight", {Size(shape[3]), Size(shape[2]), Size(shape[0]), Size(shape[1])},
        OutputsFirst(Weights(ours + ".weight"), shape));
    Copy(ours + ".bias", theirs + ".bias");
  }

  // ---- Layers

  // Tells of the layers, adds the tensors of those named with `prefix`, and returns the order of
  // their output.
  Order Stack(const std::vector<net::PlannedLayer>& layers, const std::string& prefix, Json& told) {
    // 1. What each array becomes.
    const bool joined = !layers.empty() && layers.front().spec.kind == LayerKind::kEntries;
    Json entries = Json::array();
    Order all;
    for (std::size_t i = 0; i < arrays_.size(); ++i) {
      Order order = OrderOf(arrays_[i]);
      Json chain = Json::array();
      if (joined) {
        const net::PlannedLayer::Entry& entry = layers.front().entries[i];
        order = Chain(entry.layers, fmt::format("{}entries.{}.{}.", prefix, i, entry.name),
                      fmt::format("{}entries.{}.", prefix, i), std::move(order), chain);
      }
      entries.push_back(std::move(chain));
      // Alone it may stay a picture; several are rows in our order, one after the other.
      if (arrays_.size() == 1) all = std::move(order);
      if (arrays_.size() > 1) all.resize(all.size() + order.size());
    }
    if (arrays_.size() > 1) std::iota(all.begin(), all.end(), std::size_t{0});
    // 2. The layers above.
    Json above = Json::array();
    all = Chain({layers.begin() + (joined ? 1 : 0), layers.end()}, prefix, prefix, std::move(all),
                above);
    told["entries"] = std::move(entries);
    told["layers"] = std::move(above);
    return all;
  }

  Order Chain(const std::vector<net::PlannedLayer>& layers, const std::string& ours,
              const std::string& theirs, Order order, Json& told) {
    const std::vector<std::string> names = net::LayerNames(layers, "");
    for (std::size_t i = 0; i < layers.size(); ++i) {
      const net::PlannedLayer& layer = layers[i];
      const bool named = HasParameters(layer.spec.kind);
      const std::string name = named ? names[i] : fmt::format("layer{}", i);
      told.push_back(Describe(layer, name, order));
      if (named) order = Parameters(layer, ours + name, theirs + name, order);
      if (layer.spec.kind == LayerKind::kMaxPool) order = OrderOf(layer.output);
    }
    return order;
  }

  static std::vector<std::uint64_t> NormShape(const net::PlannedLayer& layer, const Order& order) {
    const Features& input = layer.input;
    if (input.height * input.width == 1) return {order.size()};
    return {Size(input.channels), Size(input.height), Size(input.width)};
  }

  static Json Describe(const net::PlannedLayer& layer, const std::string& name,
                       const Order& order) {
    const net::LayerSpec& spec = layer.spec;
    const Features& input = layer.input;
    Json told{{"name", name}, {"kind", KindOf(spec.kind)}, {"relu", layer.relu}};
    if (net::IsOfPictures(spec.kind)) {
      const net::PadShape pad = net::PadOf(spec, input);
      told["in"] = input.channels;
      told["out"] = layer.output.channels;
      told["kernel"] = {spec.kernel_height, spec.kernel_width};
      told["stride"] = spec.stride;
      told["pad"] = {pad.left, pad.right, pad.top, pad.bottom};
    } else if (spec.kind == LayerKind::kLayerNorm) {
      told["shape"] = NormShape(layer, order);
    } else if (HasParameters(spec.kind)) {
      told["in"] = order.size();
      told["out"] = spec.width;
    }
    return told;
  }

  // Returns the order of the output.
  Order Parameters(const net::PlannedLayer& layer, const std::string& ours,
                   const std::string& theirs, const Order& order) {
    switch (layer.spec.kind) {
      case LayerKind::kConv:
        Conv(ours, theirs);
        break;
      case LayerKind::kResidual:
        Conv(ours + ".conv1", theirs + ".conv1");
        Conv(ours + ".conv2", theirs + ".conv2");
        break;
      case LayerKind::kLinear:
        Linear(ours, theirs, order);
        break;
      case LayerKind::kLayerNorm:
        Reorder(ours + ".scale", theirs + ".weight", order, NormShape(layer, order));
        Reorder(ours + ".bias", theirs + ".bias", order, NormShape(layer, order));
        return order;
      default:
        Memory(layer, ours, theirs, order);
    }
    return OrderOf(layer.output);
  }

  // The gates of both have PyTorch's order. An LSTMCell has two biases, whose sum counts.
  void Memory(const net::PlannedLayer& layer, const std::string& ours, const std::string& theirs,
              const Order& order) {
    Matrix(ours + ".input_weight", theirs + ".weight_ih", order);
    Matrix(ours + ".hidden_weight", theirs + ".weight_hh", OrderOf(layer.output));
    Copy(ours + ".bias", theirs + ".bias_ih");
    if (layer.spec.kind == LayerKind::kGru) return Copy(ours + ".hidden_bias", theirs + ".bias_hh");
    const std::size_t size = Weights(ours + ".bias").size();
    Add(theirs + ".bias_hh", {size}, std::vector<float>(size));
  }

  // ---- Observations and actions

  Json Observations() {
    Json all = Json::array();
    for (std::size_t i = 0; i < arrays_.size(); ++i) {
      const Features& array = arrays_[i];
      const bool several = !env_.entries.empty();
      const std::string name = several ? env_.entries[i].name : "observation";
      const std::string sums =
          several ? fmt::format("observations.{}.{}.sums", i, name) : "observations.sums";
      const bool running = std::ranges::any_of(
          layout_.parameters(), [&](const net::Parameter& p) { return p.name == sums; });
      if (running) Normalisation(fmt::format("observation{}_", i), Weights(sums));
      all.push_back({{"name", name},
                     {"height", array.height},
                     {"width", array.width},
                     {"channels", array.channels},
                     {"normalize", running                              ? "running"
                                   : config_.env.normalize_observations ? "picture"
                                                                        : ""}});
    }
    return all;
  }

  void Normalisation(const std::string& prefix, std::span<const float> sums) {
    auto [means, scales] = SpreadsOf(sums);
    const std::vector<std::uint64_t> shape{means.size()};
    tensors_.push_back({prefix + "mean", shape, {}, std::move(means)});
    tensors_.push_back({prefix + "scale", shape, {}, std::move(scales)});
  }

  Json Actions(const Order& top) {
    const ActionSpace& actions = spec_.actions;
    const std::string name = net::PolicyName(actions);
    const bool predicted = spec_.deviation == Deviation::kPredicted;
    Linear(name, "policy", top);
    Json told{{"box", actions.box()},
              {"masked", actions.masked},
              {"outputs", actions.box() && !predicted ? actions.width() : actions.outputs()}};
    if (!actions.box()) {
      told["counts"] = actions.counts;
      return told;
    }
    if (!predicted) Copy(name + ".log_std", "log_std");
    told["predicted"] = predicted;
    told["tanh"] = actions.bounds == ActionBounds::kTanh;
    told["low"] = actions.low;  // an infinite one becomes null
    told["high"] = actions.high;
    return told;
  }

  const Config& config_;
  const envs::EnvSpec& env_;
  const std::vector<Features> arrays_;
  const net::ModelSpec spec_;
  const net::ParameterLayout layout_;
  const std::span<const float> weights_;
  std::vector<TorchTensor> tensors_;
};

}  // namespace

TorchPolicy PolicyTorch(const Config& config, const envs::EnvSpec& env,
                        std::span<const float> weights) {
  return Exporter(config, env, weights).Export();
}

void WriteTorchPolicy(const std::filesystem::path& path, const TorchPolicy& policy,
                      std::map<std::string, std::string> properties) {
  std::vector<TensorView> views;
  for (const TorchTensor& tensor : policy.tensors) {
    const bool doubles = tensor.floats.empty();
    views.push_back({tensor.name, doubles ? DType::kF64 : DType::kF32, tensor.shape,
                     doubles ? std::as_bytes(std::span(tensor.doubles))
                             : std::as_bytes(std::span(tensor.floats))});
  }
  properties[std::string(kPolicyKey)] = policy.description;
  WriteSafetensors(path, views, properties);
}

}  // namespace starling::exports
