#include "learner/optimizer.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "core/random.h"
#include "core/safetensors.h"

namespace starling::learner {
namespace {

constexpr std::size_t kWidth = 16;

OptimizerSpec RmsProp(double decay, double epsilon, bool inside, bool correction) {
  return {OptimizerKind::kRmsProp, decay, epsilon, inside, correction};
}

std::vector<float> RandomVector(std::size_t n, std::uint32_t slot, float scale = 1) {
  RandomStream stream(StreamId{.seed = 5, .slot = slot});
  std::vector<float> values(n);
  for (float& value : values) value = scale * stream.Normal();
  return values;
}

// Weights and state that go together.
struct Model {
  std::vector<float> weights;
  std::vector<std::vector<float>> state;

  Model(const OptimizerSpec& spec, std::vector<float> start)
      : weights(std::move(start)), state(NumSlots(spec), std::vector<float>(weights.size())) {}

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

// One weight of 1 and one gradient of 2, repeated over a whole slice.
struct OneWeight {
  OptimizerSpec spec;
  Model model;
  std::uint64_t t = 0;

  explicit OneWeight(const OptimizerSpec& s) : spec(s), model(s, std::vector<float>(kWidth, 1)) {}
  float Step(float gradient, double lr, double scale = 1) {
    const std::vector<float> gradients(kWidth, gradient);
    model.Apply(spec, MakeStepSize(spec, lr, scale, ++t), gradients);
    for (const float weight : model.weights) EXPECT_EQ(weight, model.weights[0]);
    return model.weights[0];
  }
};

TEST(Sgd, MovesAgainstTheGradient) {
  OneWeight one(OptimizerSpec{.kind = OptimizerKind::kSgd});
  EXPECT_EQ(one.Step(2, 0.25), 0.5f);        // 1 - 0.25 * 2
  EXPECT_EQ(one.Step(-4, 0.25), 1.5f);       // 0.5 + 0.25 * 4
  EXPECT_EQ(one.Step(2, 0.25, 0.5), 1.25f);  // half a step
}

TEST(RmsPropUpdate, EpsilonOutsideTheRoot) {
  OneWeight one(RmsProp(0.75, 1, false, false));
  // s = 0.25 * 4 = 1; w = 1 - 0.5 * 2 / (sqrt(1) + 1) = 0.5
  EXPECT_EQ(one.Step(2, 0.5), 0.5f);
  EXPECT_EQ(one.model.state[0][0], 1);
  // s = 0.75 * 1 + 0.25 * 13 = 4, up to the rounding of sqrt(13)^2; w = 0.5 - 0.5 * sqrt(13) / 3
  const float g = std::sqrt(13.0f);
  EXPECT_FLOAT_EQ(one.Step(g, 0.5), 0.5f - 0.5f * g / 3);
  EXPECT_FLOAT_EQ(one.model.state[0][0], 4);
}

TEST(RmsPropUpdate, EpsilonInsideTheRoot) {
  OneWeight one(RmsProp(0.75, 3, true, false));
  // s = 1; w = 1 - 0.5 * 2 / sqrt(1 + 3) = 0.5
  EXPECT_EQ(one.Step(2, 0.5), 0.5f);
}

TEST(RmsPropUpdate, BiasCorrectionDividesByWhatTheAverageLacks) {
  OneWeight one(RmsProp(0.75, 2, false, true));
  // s = 1, 1 - d = 0.25, s' = 4; w = 1 - 0.5 * 2 / (2 + 2) = 0.75
  EXPECT_FLOAT_EQ(one.Step(2, 0.5), 0.75f);
  // A constant gradient gives the same corrected average for ever: the same step again.
  EXPECT_FLOAT_EQ(one.Step(2, 0.5), 0.5f);
  EXPECT_FLOAT_EQ(one.Step(2, 0.5), 0.25f);
  EXPECT_FLOAT_EQ(one.model.state[0][0], 4 * (1 - 0.75f * 0.75f * 0.75f));
}

TEST(RmsPropUpdate, ScaleComesAfterTheNormalisation) {
  OneWeight one(RmsProp(0.75, 1, false, false));
  EXPECT_EQ(one.Step(2, 0.5, 0.25), 0.875f);  // a quarter of the step of 0.5
  EXPECT_EQ(one.model.state[0][0], 1);        // the statistics know nothing of it
}

TEST(MakeStepSize, CorrectionApproachesOneAndIsExactForADecayNextToOne) {
  const OptimizerSpec spec = RmsProp(0.99, 1e-5, false, true);
  EXPECT_FLOAT_EQ(MakeStepSize(spec, 1, 1, 1).correction, 100);
  EXPECT_EQ(MakeStepSize(spec, 1, 1, 10'000'000).correction, 1);
  const OptimizerSpec slow = RmsProp(1 - 1e-12, 1e-5, false, true);
  EXPECT_NEAR(MakeStepSize(slow, 1, 1, 1000).correction, 1e9, 1e5);
  const OptimizerSpec none = RmsProp(0, 1e-5, false, true);
  EXPECT_EQ(MakeStepSize(none, 1, 1, 1).correction, 1);
  const OptimizerSpec off = RmsProp(0.99, 1e-5, false, false);
  EXPECT_EQ(MakeStepSize(off, 1, 1, 1).correction, 1);
}

// The formulas of optimizer.h in double precision.
struct Reference {
  OptimizerSpec spec;
  std::vector<double> weights, square_avg;

  void Step(const std::vector<float>& gradient, double lr, std::uint64_t t) {
    for (std::size_t i = 0; i < weights.size(); ++i) {
      const double g = gradient[i];
      if (spec.kind == OptimizerKind::kSgd) {
        weights[i] -= lr * g;
        continue;
      }
      square_avg[i] = spec.decay * square_avg[i] + (1 - spec.decay) * g * g;
      double s = square_avg[i];
      if (spec.bias_correction) s /= 1 - std::pow(spec.decay, static_cast<double>(t));
      const double root =
          spec.epsilon_inside ? std::sqrt(s + spec.epsilon) : std::sqrt(s) + spec.epsilon;
      weights[i] -= lr * g / root;
    }
  }
};

TEST(ApplyUpdate, FollowsDoublePrecisionOverAThousandSteps) {
  std::vector<OptimizerSpec> specs = {OptimizerSpec{.kind = OptimizerKind::kSgd}};
  for (const bool inside : {false, true}) {
    for (const bool correction : {false, true}) {
      specs.push_back(RmsProp(0.99, 1e-5, inside, correction));
      specs.push_back(RmsProp(0.9, 0.1, inside, correction));
    }
  }
  for (const OptimizerSpec& spec : specs) {
    const std::vector<float> start = RandomVector(64, 0);
    Model model(spec, start);
    Reference reference{spec, {start.begin(), start.end()}, std::vector<double>(64)};
    for (std::uint64_t t = 1; t <= 1000; ++t) {
      const auto gradient = RandomVector(64, static_cast<std::uint32_t>(t), 0.01f);
      const double lr = 3e-3 * (1 - static_cast<double>(t) / 1001);
      model.Apply(spec, MakeStepSize(spec, lr, 1, t), gradient);
      reference.Step(gradient, lr, t);
    }
    // A thousand roundings of half a unit in the last place of a weight of about 1, at random.
    for (std::size_t i = 0; i < 64; ++i) {
      EXPECT_NEAR(model.weights[i], reference.weights[i], 1e-5) << spec.epsilon;
    }
  }
}

// What PyTorch's optimizers (and the A3C paper's variant) make of the same gradients, in float64.
TEST(ApplyUpdate, FollowsTheGoldenTrajectories) {
  const auto golden = SafetensorsFile::Read(std::filesystem::path(STARLING_SOURCE_DIR) /
                                            "tests/golden/optimizers.safetensors");
  const auto number = [&](const char* key) { return std::stod(golden.metadata().at(key)); };
  const std::vector<float> start = golden.F32("start"), gradients = golden.F32("gradients");
  const std::size_t n = start.size(), padded = (n + 15) / 16 * 16, count = gradients.size() / n;
  const double decay = number("decay"), epsilon = number("epsilon");
  const std::vector<std::pair<std::string, OptimizerSpec>> variants = {
      {"sgd", OptimizerSpec{.kind = OptimizerKind::kSgd}},
      {"rmsprop_inside", RmsProp(decay, epsilon, true, false)},
      {"rmsprop_inside_corrected", RmsProp(decay, epsilon, true, true)},
      {"rmsprop_outside", RmsProp(decay, epsilon, false, false)},
      {"rmsprop_outside_corrected", RmsProp(decay, epsilon, false, true)}};
  ASSERT_EQ(count, 100u);
  ASSERT_EQ(number("every"), 10);
  for (const auto& [name, spec] : variants) {
    const std::vector<double> expected = golden.F64(name);
    ASSERT_EQ(expected.size(), count / 10 * n);
    std::vector<float> weights(padded, 0.0f), gradient(padded, 0.0f);
    std::ranges::copy(start, weights.begin());
    Model model(spec, weights);
    for (std::size_t t = 1; t <= count; ++t) {
      std::copy_n(gradients.begin() + static_cast<std::ptrdiff_t>((t - 1) * n), n,
                  gradient.begin());
      model.Apply(spec, MakeStepSize(spec, number("lr"), 1, t), gradient);
      for (std::size_t i = 0; t % 10 == 0 && i < n; ++i) {
        // Each step may round a weight of up to 3 by half of 2^-22.
        EXPECT_NEAR(model.weights[i], expected[(t / 10 - 1) * n + i],
                    1.2e-7 * static_cast<double>(t))
            << name << ", step " << t << ", weight " << i;
      }
    }
    EXPECT_TRUE(std::all_of(model.weights.begin() + static_cast<std::ptrdiff_t>(n),
                            model.weights.end(), [](float w) { return w == 0; }));
  }
}

TEST(ApplyUpdate, ResultIsTheSameBitForBitHoweverTheVectorIsCut) {
  constexpr std::size_t kSize = 16 * 61;
  for (const bool inside : {false, true}) {
    const OptimizerSpec spec = RmsProp(0.99, 1e-5, inside, true);
    const std::vector<float> start = RandomVector(kSize, 0);
    Model whole(spec, start);
    Model cut(spec, start);
    for (std::uint64_t t = 1; t <= 20; ++t) {
      const auto gradient = RandomVector(kSize, static_cast<std::uint32_t>(t), 0.1f);
      const StepSize step = MakeStepSize(spec, 1e-3, 1, t);
      whole.Apply(spec, step, gradient);
      for (std::size_t begin = 0, width = 16 * t; begin < kSize; begin += width) {
        cut.Apply(spec, step, gradient, begin, std::min(width, kSize - begin));
      }
    }
    EXPECT_EQ(cut.weights, whole.weights);
    EXPECT_EQ(cut.state, whole.state);
    EXPECT_NE(whole.weights, start);
  }
}

TEST(ApplyUpdate, AWeightThatNeverHasAGradientStaysAndStaysFinite) {
  for (const bool inside : {false, true}) {
    OneWeight one(RmsProp(0.99, 1e-8, inside, true));
    for (int i = 0; i < 100; ++i) EXPECT_EQ(one.Step(0, 0.01), 1);
  }
}

TEST(ApplyUpdate, StaysFiniteForTheSmallestAndLargestGradientsThatAreLetThrough) {
  for (const bool inside : {false, true}) {
    for (const float gradient : {std::numeric_limits<float>::denorm_min(), 1e-30f, 1e4f, 1e15f}) {
      OneWeight one(RmsProp(0.99, 1e-8, inside, true));
      for (int i = 0; i < 10; ++i) EXPECT_TRUE(std::isfinite(one.Step(gradient, 0.01)));
    }
  }
}

TEST(OptimizerSpecFromConfig, TakesEveryKey) {
  OptimizerConfig config;
  config.kind = "rmsprop";
  config.decay = 0.9;
  config.epsilon = 0.1;
  config.epsilon_place = "inside";
  config.bias_correction = false;
  const OptimizerSpec spec = MakeOptimizerSpec(config);
  EXPECT_EQ(spec.kind, OptimizerKind::kRmsProp);
  EXPECT_EQ(spec.decay, 0.9);
  EXPECT_EQ(spec.epsilon, 0.1);
  EXPECT_TRUE(spec.epsilon_inside);
  EXPECT_FALSE(spec.bias_correction);
  EXPECT_EQ(SlotNames(spec), std::vector<std::string>{"square_avg"});
  EXPECT_EQ(NumSlots(spec), 1u);

  config.kind = "sgd";
  config.epsilon_place = "outside";
  EXPECT_EQ(MakeOptimizerSpec(config).kind, OptimizerKind::kSgd);
  EXPECT_FALSE(MakeOptimizerSpec(config).epsilon_inside);
  EXPECT_EQ(NumSlots(MakeOptimizerSpec(config)), 0u);
  EXPECT_TRUE(SlotNames(MakeOptimizerSpec(config)).empty());
}

}  // namespace
}  // namespace starling::learner
