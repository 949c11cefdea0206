// Every optimizer in every variant, and a model of weights and optimizer state.
#pragma once

#include <gtest/gtest.h>

#include <span>
#include <string>
#include <utility>
#include <vector>

#include "core/random.h"
#include "learner/apply/optimizer.h"

namespace starling::learner {

struct OptimizerVariant {
  std::string name;  // also of its golden trajectory
  OptimizerConfig config;
};

// Each kind with each setting that selects another loop or slot; all other settings are defaults.
inline std::vector<OptimizerVariant> OptimizerVariants() {
  std::vector<OptimizerVariant> variants = {
      {"sgd", {.kind = OptimizerKind::kSgd}},
      {"sgd_momentum", {.kind = OptimizerKind::kSgd, .momentum = 0.8}},
      {"adam", {.kind = OptimizerKind::kAdam}},
  };
  for (int bits = 0; bits < 16; ++bits) {
    const bool centered = bits & 1, inside = bits & 2, corrected = bits & 4, momentum = bits & 8;
    std::string name = "rmsprop";
    if (centered) name += "_centered";
    if (inside) name += "_inside";
    if (corrected) name += "_corrected";
    if (momentum) name += "_momentum";
    variants.push_back({name,
                        {.kind = OptimizerKind::kRmsProp,
                         .momentum = momentum ? 0.8 : 0,
                         .epsilon_place = inside ? EpsilonPlace::kInside : EpsilonPlace::kOutside,
                         .centered = centered,
                         .bias_correction = corrected}});
  }
  return variants;
}

inline std::vector<float> RandomVector(std::size_t n, std::uint32_t slot, float scale = 1) {
  RandomStream stream(StreamId{.seed = 5, .slot = slot});
  std::vector<float> values(n);
  for (float& value : values) value = scale * stream.Normal();
  return values;
}

// Weights with their optimizer state.
struct Model {
  std::vector<float> weights;
  std::vector<std::vector<float>> state;

  Model(const OptimizerSpec& spec, std::vector<float> start)
      : weights(std::move(start)), state(spec.slots.size(), std::vector<float>(weights.size())) {}

  void Apply(const OptimizerSpec& spec, const StepSize& step, std::span<const float> gradient,
             std::size_t begin, std::size_t size) {
    std::vector<std::span<float>> slots;
    for (auto& slot : state) slots.push_back(std::span(slot).subspan(begin, size));
    ApplyUpdate(spec, step, gradient.subspan(begin, size), std::span(weights).subspan(begin, size),
                slots);
  }
  void Apply(const OptimizerSpec& spec, const StepSize& step, std::span<const float> gradient) {
    Apply(spec, step, gradient, 0, weights.size());
  }
};

// One weight, initially 1, repeated over a whole slice.
struct OneWeight {
  static constexpr std::size_t kWidth = 16;

  OptimizerSpec spec;
  Model model;
  std::uint64_t t = 0;

  explicit OneWeight(const OptimizerConfig& config)
      : spec(MakeOptimizerSpec(config)), model(spec, std::vector<float>(kWidth, 1)) {}
  float Step(float gradient, double lr, double scale = 1) {
    const std::vector<float> gradients(kWidth, gradient);
    model.Apply(spec, MakeStepSize(spec, lr, scale, ++t), gradients);
    for (const float weight : model.weights) EXPECT_EQ(weight, model.weights[0]);
    return model.weights[0];
  }
  float state(std::size_t slot) const { return model.state[slot][0]; }
};

}  // namespace starling::learner
