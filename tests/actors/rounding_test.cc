// What a rollout rounds, for runs in bf16 (wire.gradient, wire.weights).
#include <gmock/gmock.h>

#include <bit>
#include <vector>

#include "actors/rollout.h"
#include "core/bfloat16.h"

namespace starling::actors {
namespace {

using testing::Each;
using testing::Truly;

bool InBf16(float value) { return (std::bit_cast<std::uint32_t>(value) & 0xffff) == 0; }

class RoundingTest : public testing::Test {
 protected:
  static constexpr double kEntropy = 0.01;

  static Rollout Make(const std::vector<std::string>& settings) {
    std::vector<std::string> all = {"env.name=catch", "actors.envs_per_actor=3", "actors.unroll=4"};
    all.insert(all.end(), settings.begin(), settings.end());
    return Rollout(ParseConfig("", "test.toml", all), 0, 1);
  }
  // No two weights are equal, and hardly one of them is in bf16.
  static void SetWeights(std::span<float> weights) {
    for (std::size_t i = 0; i < weights.size(); ++i) {
      weights[i] = 0.1f * static_cast<float>((i * 7919) % 1009) / 1009 - 0.05f;
    }
  }
  std::vector<float> Run(Rollout& rollout) {
    std::vector<float> gradient(rollout.layout().size());
    rollout.Run(kEntropy, gradient);
    return gradient;
  }
};

TEST_F(RoundingTest, AnF32RunRoundsNothing) {
  Rollout rollout = Make({});
  SetWeights(rollout.weights());
  const std::vector<float> gradient = Run(rollout);
  EXPECT_THAT(gradient, testing::Contains(testing::Not(Truly(InBf16))));
  EXPECT_THAT(rollout.weights(), testing::Contains(testing::Not(Truly(InBf16))));
}

TEST_F(RoundingTest, TheGradientIsThatOfF32Rounded) {
  Rollout plain = Make({}), rounding = Make({"wire.gradient=bf16"});
  SetWeights(plain.weights()), SetWeights(rounding.weights());
  for (int unroll = 0; unroll < 3; ++unroll) {
    std::vector<float> wanted = Run(plain);
    RoundToBfloat16(wanted);
    EXPECT_EQ(Run(rounding), wanted);
  }
}

TEST_F(RoundingTest, TheWeightsAreRoundedBeforeTheyAct) {
  Rollout plain = Make({}), rounding = Make({"wire.weights=bf16"});
  SetWeights(plain.weights()), SetWeights(rounding.weights());
  RoundToBfloat16(plain.weights());
  for (int unroll = 0; unroll < 3; ++unroll) EXPECT_EQ(Run(rounding), Run(plain));
  EXPECT_THAT(rounding.weights(), Each(Truly(InBf16)));
}

}  // namespace
}  // namespace starling::actors
