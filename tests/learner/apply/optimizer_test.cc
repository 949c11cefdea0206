// The contract of every optimizer; the arithmetic of each is in optimizers_test.cc.
#include "learner/apply/optimizer.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <limits>
#include <set>
#include <string>
#include <variant>
#include <vector>

#include "core/config/config_schema.h"
#include "core/safetensors.h"
#include "learner/apply/schedule.h"
#include "tests/learner/apply/optimizer_fixture.h"

namespace starling::learner {
namespace {

// The golden trajectory is PyTorch's, in float64, for the same gradients and a different learning
// rate in each update. Variants that PyTorch lacks are computed by their formula in numpy.
class GoldenTrajectory : public testing::Test {
 protected:
  double Number(const char* key) const { return std::stod(golden_.metadata().at(key)); }

  const SafetensorsFile golden_ = SafetensorsFile::Read(std::filesystem::path(STARLING_SOURCE_DIR) /
                                                        "tests/golden/optimizers.safetensors");
};

TEST_F(GoldenTrajectory, ExistsForEveryVariantAndNoOther) {
  std::set<std::string> expected = {"start", "gradients"};
  for (const auto& [name, _] : OptimizerVariants()) expected.insert(name);
  const std::vector<std::string> names = golden_.names();
  EXPECT_EQ(std::set<std::string>(names.begin(), names.end()), expected);
  std::set<OptimizerKind> kinds;
  for (const auto& [_, config] : OptimizerVariants()) kinds.insert(config.kind);
  EXPECT_EQ(kinds.size(), WordsOf(OptimizerKind{}).size());
}

TEST_F(GoldenTrajectory, IsFollowedByEveryVariant) {
  const std::vector<float> start = golden_.F32("start"), gradients = golden_.F32("gradients");
  const std::size_t n = start.size(), padded = (n + 15) / 16 * 16, count = gradients.size() / n;
  const auto every = static_cast<std::size_t>(Number("every"));
  ASSERT_EQ(count, 100u);
  for (auto [name, config] : OptimizerVariants()) {
    config.lr = Number("lr");
    config.warmup_steps = static_cast<std::int64_t>(Number("warmup"));
    config.epsilon = Number("epsilon");
    config.decay = Number("decay");
    config.beta1 = Number("beta1");
    config.beta2 = Number("beta2");
    if (config.momentum > 0) config.momentum = Number("momentum");
    const OptimizerSpec spec = MakeOptimizerSpec(config);
    const std::vector<double> expected = golden_.F64(name);
    ASSERT_EQ(expected.size(), count / every * n);

    std::vector<float> weights(padded, 0.0f), gradient(padded, 0.0f);
    std::ranges::copy(start, weights.begin());
    Model model(spec, weights);
    double worst = 0;  // the largest error, relative to the weight or its initial value
    for (std::size_t t = 1; t <= count; ++t) {
      std::copy_n(gradients.begin() + static_cast<std::ptrdiff_t>((t - 1) * n), n,
                  gradient.begin());
      // One sample per update.
      const double lr = LearningRate(config, count, t - 1, 1);
      model.Apply(spec, MakeStepSize(spec, lr, 1, t), gradient);
      for (std::size_t i = 0; t % every == 0 && i < n; ++i) {
        const double right = expected[(t / every - 1) * n + i];
        const double size = std::max(std::abs(right), std::abs(double{start[i]}));
        worst = std::max(worst, std::abs(model.weights[i] - right) / size);
      }
    }
    // A hundred random roundings of at most 2^-24 each.
    EXPECT_LT(worst, 2e-6) << name;
    EXPECT_TRUE(std::all_of(model.weights.begin() + static_cast<std::ptrdiff_t>(n),
                            model.weights.end(), [](float w) { return w == 0; }));
  }
}

TEST(ApplyUpdate, ResultIsTheSameBitForBitHoweverTheVectorIsCut) {
  constexpr std::size_t kSize = 16 * 61;
  for (const auto& [name, config] : OptimizerVariants()) {
    const OptimizerSpec spec = MakeOptimizerSpec(config);
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
    EXPECT_EQ(cut.weights, whole.weights) << name;
    EXPECT_EQ(cut.state, whole.state) << name;
    EXPECT_NE(whole.weights, start) << name;
  }
}

TEST(ApplyUpdate, AWeightWithoutGradientsDoesNotChange) {
  for (auto [name, config] : OptimizerVariants()) {
    config.epsilon = 1e-8;
    OneWeight one(config);
    for (int i = 0; i < 100; ++i) EXPECT_EQ(one.Step(0, 0.01), 1) << name;
  }
}

TEST(ApplyUpdate, StaysFiniteForTheSmallestAndLargestGradients) {
  for (auto [name, config] : OptimizerVariants()) {
    config.epsilon = 1e-8;
    for (const float gradient : {std::numeric_limits<float>::denorm_min(), 1e-30f, 1e4f, 1e15f,
                                 1e25f}) {  // the square of the last one is infinite
      OneWeight one(config);
      for (int i = 0; i < 10; ++i) EXPECT_TRUE(std::isfinite(one.Step(gradient, 0.01))) << name;
      for (int i = 0; i < 10; ++i) EXPECT_TRUE(std::isfinite(one.Step(-1, 0.01))) << name;
    }
  }
}

TEST(ApplyUpdate, TheScaleChangesTheStepAndNotTheState) {
  for (const auto& [name, config] : OptimizerVariants()) {
    OneWeight whole(config), half(config);
    const float by_whole = whole.Step(2, 0.25, 1) - 1, by_half = half.Step(2, 0.25, 0.5) - 1;
    EXPECT_NEAR(by_half, by_whole / 2, 1e-7) << name;
    EXPECT_EQ(half.model.state, whole.model.state) << name;
  }
}

// Checkpoints contain these names, so they must never change.
TEST(MakeOptimizerSpec, NamesTheStateVectors) {
  const auto slots = [](const OptimizerConfig& config) { return MakeOptimizerSpec(config).slots; };
  using Names = std::vector<std::string>;
  EXPECT_EQ(slots({.kind = OptimizerKind::kSgd}), Names{});
  EXPECT_EQ(slots({.kind = OptimizerKind::kSgd, .momentum = 0.1}), Names{"momentum"});
  EXPECT_EQ(slots({.kind = OptimizerKind::kRmsProp}), Names{"square_avg"});
  EXPECT_EQ(slots({.kind = OptimizerKind::kRmsProp, .momentum = 0.1}),
            (Names{"square_avg", "momentum"}));
  EXPECT_EQ(slots({.kind = OptimizerKind::kRmsProp, .centered = true}),
            (Names{"square_avg", "grad_avg"}));
  EXPECT_EQ(slots({.kind = OptimizerKind::kRmsProp, .momentum = 0.1, .centered = true}),
            (Names{"square_avg", "grad_avg", "momentum"}));
  EXPECT_EQ(slots({.kind = OptimizerKind::kAdam}), (Names{"exp_avg", "exp_avg_sq"}));
}

}  // namespace
}  // namespace starling::learner
