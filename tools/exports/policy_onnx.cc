#include "tools/exports/policy_onnx.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "actors/model_spec.h"
#include "actors/normalizer.h"
#include "core/check.h"
#include "core/error.h"
#include "net/heads.h"
#include "net/model.h"
#include "net/part.h"
#include "net/policy.h"
#include "net/running.h"
#include "results/trained.h"
#include "tools/exports/layer_graph.h"
#include "tools/exports/layouts.h"
#include "tools/exports/onnx_model.h"

namespace starling::exports {
namespace {

using net::Features;

class PolicyGraph {
 public:
  PolicyGraph(const Config& config, const envs::EnvSpec& env, std::span<const float> weights)
      : config_(config),
        env_(env),
        spec_(actors::ModelSpecOf(config, env)),
        layout_(results::LayoutOf(config, env)),
        layers_(onnx_, layout_, weights) {
    CHECK(weights.size() == layout_.size(), "{} weights of {}", weights.size(), layout_.size());
  }

  std::string File(const std::map<std::string, std::string>& properties) {
    // 1. What is observed.
    const std::vector<Value> seen = Observed();
    std::string mask;
    if (spec_.actions.masked) mask = onnx_.Input("action_mask", Sizes({spec_.actions.mask()}));
    // 2. The layers, once, or once for each of two nets.
    const net::PartSpec whole = net::WholeNet(spec_);
    const Value actor = layers_.Stack(whole.layers, "", seen);
    const bool two = spec_.critic == Critic::kSeparate;
    const Value critic = two ? layers_.Stack(whole.layers, "critic.", seen) : actor;
    // 3. The heads.
    onnx_.Enter("");
    const std::string value = layers_.Linear("value", critic);
    onnx_.Output("value", onnx_.Node("Reshape", {value, layers_.Integers({-1})}),
                 ElementType::kFloat, {});
    if (spec_.actions.box()) {
      BoxOutputs(actor);
    } else {
      ChoiceOutputs(actor, mask);
    }
    return std::move(onnx_).File(properties);
  }

 private:
  // ---- Observations

  std::vector<Value> Observed() {
    if (env_.entries.empty()) {
      return {Observation("observation", "entry0", "observations.sums", env_)};
    }
    std::vector<Value> all;
    for (std::size_t i = 0; i < env_.entries.size(); ++i) {
      const ObservationEntry& entry = env_.entries[i];
      all.push_back(Observation("observation." + entry.name, fmt::format("entry{}", i),
                                fmt::format("observations.{}.{}.sums", i, entry.name), entry));
    }
    return all;
  }

  // `array` has height, width and channels.
  template <class Array>
  Value Observation(const std::string& name, const std::string& scope, const std::string& sums,
                    const Array& array) {
    const Features features{array.height, array.width, array.channels};
    const bool picture = !(features.height == 1 && features.width == 1);
    onnx_.Enter("");
    const std::string input =
        onnx_.Input(name, picture ? Sizes({features.height, features.width, features.channels})
                                  : Sizes({features.channels}));
    onnx_.Enter(scope);
    const Value rows{
        picture ? onnx_.Node("Reshape", {input, layers_.Integers({-1, features.size()})}) : input,
        features};
    if (!config_.env.normalize_observations) return rows;
    const bool running = std::ranges::any_of(
        layout_.parameters(), [&](const net::Parameter& p) { return p.name == sums; });
    return running ? Standardized(rows, layout_.Find(sums)) : StandardizedPictures(rows);
  }

  // In double, as net/running.h.
  std::string Standard(const std::string& value) {
    const std::string clipped =
        onnx_.Node("Clip", {value, layers_.Scalar(-double{net::kMostStandard}),
                            layers_.Scalar(double{net::kMostStandard})});
    return onnx_.Node("Cast", {clipped}, {{"to", static_cast<std::int64_t>(ElementType::kFloat)}});
  }
  std::string InDouble(const std::string& value) {
    return onnx_.Node("Cast", {value}, {{"to", static_cast<std::int64_t>(ElementType::kDouble)}});
  }
  Value Standardized(const Value& x, const net::Parameter& sums) {
    const auto [means, scales] = SpreadsOf(layers_.Weights(sums));
    const std::string centred = onnx_.Node("Sub", {InDouble(x.name), layers_.Doubles(means)});
    return {Standard(onnx_.Node("Mul", {centred, layers_.Doubles(scales)})), x.features};
  }
  // (N, cells, C): each channel by its mean and deviation over the cells.
  Value StandardizedPictures(const Value& x) {
    const int cells = x.features.height * x.features.width;
    const std::string picture = InDouble(
        onnx_.Node("Reshape", {x.name, layers_.Integers({-1, cells, x.features.channels})}));
    const auto mean_over_cells = [&](const std::string& of) {
      return onnx_.Node("ReduceMean", {of}, {{"axes", Shape{1}}, {"keepdims", std::int64_t{1}}});
    };
    const std::string mean = mean_over_cells(picture);
    const std::string squares = mean_over_cells(onnx_.Node("Mul", {picture, picture}));
    const std::string square = onnx_.Node("Mul", {mean, mean});
    const std::string variance =
        onnx_.Node("Max", {onnx_.Node("Sub", {squares, square}),
                           onnx_.Node("Mul", {square, layers_.Scalar(net::kLeastVariance)})});
    const std::string deviation =
        onnx_.Node("Sqrt", {onnx_.Node("Add", {variance, layers_.Scalar(net::kMoreVariance)})});
    const std::string centred = onnx_.Node("Sub", {picture, mean});
    const std::string standard = Standard(onnx_.Node("Div", {centred, deviation}));
    return {onnx_.Node("Reshape", {standard, layers_.Integers({-1, x.features.size()})}),
            x.features};
  }

  // ---- Heads

  void ChoiceOutputs(const Value& top, const std::string& mask) {
    const ActionSpace& actions = spec_.actions;
    // 1. The logits, without forbidden values.
    std::string logits = layers_.Linear(net::PolicyName(actions), top);
    if (!mask.empty()) {
      const std::string forbidden = onnx_.Node("Equal", {mask, layers_.Scalar(0.0f)});
      logits = onnx_.Node("Where", {forbidden, layers_.Scalar(net::kForbidden), logits});
    }
    onnx_.Output("logits", logits, ElementType::kFloat, Sizes({actions.values()}));
    // 2. The likeliest value of each choice.
    std::vector<std::string> choices{logits};
    if (!actions.one_choice()) {
      choices = onnx_.Nodes(
          "Split", {logits, layers_.Integers({actions.counts.begin(), actions.counts.end()})},
          actions.counts.size(), {{"axis", std::int64_t{1}}});
    }
    for (std::string& choice : choices) {
      choice = onnx_.Node("ArgMax", {choice},
                          {{"axis", std::int64_t{1}}, {"keepdims", std::int64_t{1}}});
    }
    onnx_.Output("action", onnx_.Node("Concat", choices, {{"axis", std::int64_t{1}}}),
                 ElementType::kInt64, Sizes({actions.width()}));
  }

  void BoxOutputs(const Value& top) {
    const int width = spec_.actions.width();
    const std::string name = net::PolicyName(spec_.actions);
    // 1. Means, and the logs of the deviations.
    std::string mean = layers_.Linear(name, top), log_std;
    if (spec_.deviation == Deviation::kPredicted) {
      const std::vector<std::string> both = layers_.Split(mean, 2, width);
      mean = both[0], log_std = both[1];
    } else {
      log_std =
          onnx_.Node("Expand", {layers_.Parameter(name + ".log_std"), onnx_.Node("Shape", {mean})});
    }
    const auto most = static_cast<float>(net::kMostLogDeviation);
    log_std = onnx_.Node("Clip", {log_std, layers_.Scalar(-most), layers_.Scalar(most)});
    onnx_.Output("mean", mean, ElementType::kFloat, Sizes({width}));
    onnx_.Output("log_std", log_std, ElementType::kFloat, Sizes({width}));
    onnx_.Output("action", IntoBounds(mean), ElementType::kFloat, Sizes({width}));
  }

  // core/action_space.h. Only coordinates between two bounds are squashed and scaled.
  std::string IntoBounds(const std::string& mean) {
    const ActionSpace& actions = spec_.actions;
    std::vector<float> half, middle, least, most;
    for (std::size_t i = 0; i < actions.low.size(); ++i) {
      const float low = actions.low[i], high = actions.high[i];
      const bool scaled = Limits(low) && Limits(high);
      half.push_back(scaled ? high / 2 - low / 2 : 1.0f);
      middle.push_back(scaled ? low / 2 + high / 2 : 0.0f);
      least.push_back(scaled ? -1.0f : -INFINITY);
      most.push_back(scaled ? 1.0f : INFINITY);
    }
    const std::string inner = actions.bounds == ActionBounds::kTanh
                                  ? onnx_.Node("Tanh", {mean})  // all have two
                                  : Between(mean, least, most);
    const std::string scaled = onnx_.Node(
        "Add", {onnx_.Node("Mul", {inner, layers_.Floats(half)}), layers_.Floats(middle)});
    return Between(scaled, actions.low, actions.high);
  }
  std::string Between(const std::string& value, const std::vector<float>& low,
                      const std::vector<float>& high) {
    return onnx_.Node("Min",
                      {onnx_.Node("Max", {value, layers_.Floats(low)}), layers_.Floats(high)});
  }

  const Config& config_;
  const envs::EnvSpec& env_;
  const net::ModelSpec spec_;
  const net::ParameterLayout layout_;
  OnnxModel onnx_;
  LayerGraph layers_;
};

}  // namespace

std::string PolicyOnnx(const Config& config, const envs::EnvSpec& env,
                       std::span<const float> weights,
                       const std::map<std::string, std::string>& properties) {
  constexpr std::size_t kMost = (std::size_t{1} << 31) - (1 << 24);  // bytes, of a protobuf file
  if (weights.size_bytes() > kMost) {
    throw UserError(
        fmt::format("a net of {} MB is too large for one ONNX file, which has less than "
                    "2 GB: take its checkpoint, a file of safetensors",
                    weights.size_bytes() >> 20));
  }
  return PolicyGraph(config, env, weights).File(properties);
}

}  // namespace starling::exports
