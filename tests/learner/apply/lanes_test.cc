#include "learner/apply/lanes.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "tests/learner/apply/applier_fixture.h"

namespace starling::learner {
namespace {

constexpr std::size_t kLanesSize = 16 * 101;  // a prime number of groups: lanes differ in size

TEST(Lanes, AnyNumberEqualsThePlainOptimizerBitForBit) {
  for (const auto& [name, config] : OptimizerVariants()) {
    UpdateStream stream(kLanesSize, 30, config);
    const StateCopy expected = stream.Reference().back();
    for (int threads = 1; threads <= 5; ++threads) {
      TestLanes lanes(stream, threads);
      lanes.Run(stream, 1, 30);
      ExpectEqual(lanes->CaptureNow(), expected, name + " in lanes " + std::to_string(threads));
    }
  }
}

TEST(Lanes, MayBeMoreThanCacheLines) {
  UpdateStream stream(32, 5);
  const StateCopy expected = stream.Reference().back();
  TestLanes lanes(stream, 5);
  lanes.Run(stream, 1, 5);
  EXPECT_EQ(lanes->CaptureNow().weights, expected.weights);
}

TEST(Lanes, GradientsAreSummedInTheOrderGiven) {
  // In floats (1e8 + 1) - 1e8 is 0 and (1e8 - 1e8) + 1 is 1.
  UpdateStream stream(kLanesSize, 1, {.kind = OptimizerKind::kSgd});
  const std::vector<float> huge(kLanesSize, 1e8f), one(kLanesSize, 1), minus(kLanesSize, -1e8f);
  const std::vector<float> start(kLanesSize, 0);
  const StateCopy from{start, {}};
  Update& update = stream.at(1);
  update.lr = 1;
  update.scale = 1;
  const auto result = [&](std::vector<GradientRef> gradients) {
    update.gradients = std::move(gradients);
    TestLanes lanes(stream, 2, &from);
    lanes.Run(stream, 1, 1);
    return lanes->CaptureNow().weights;
  };
  EXPECT_EQ(result({{huge, 1}, {one, 1}, {minus, 1}}), start);
  EXPECT_EQ(result({{huge, 1}, {minus, 1}, {one, 1}}), std::vector<float>(kLanesSize, -1));
}

TEST(Lanes, OneGradientEqualsTwoHalvesOfIt) {
  UpdateStream stream(kLanesSize, 1);
  const std::vector<float> gradient = RandomVector(kLanesSize, 90);
  std::vector<std::vector<float>> results;
  for (const std::vector<GradientRef>& gradients :
       {std::vector<GradientRef>{{gradient, 1}}, {{gradient, 0.5f}, {gradient, 0.5f}}}) {
    stream.at(1).gradients = gradients;
    TestLanes lanes(stream, 2);
    lanes.Run(stream, 1, 1);
    results.push_back(lanes->CaptureNow().weights);
  }
  EXPECT_EQ(results[0], results[1]);
  EXPECT_NE(results[0], stream.initial());
}

TEST(Lanes, TheHashDependsOnTheWeightsNotOnTheLanes) {
  UpdateStream stream(kLanesSize, 6);
  const std::vector<StateCopy> expected = stream.Reference();
  for (int threads = 1; threads <= 5; ++threads) {
    for (std::uint64_t v = 1; v <= 6; ++v) stream.at(v).hash = v % 2 == 0;
    TestLanes lanes(stream, threads);
    lanes.Run(stream, 1, 6);
    for (std::uint64_t v = 1; v <= 6; ++v) {
      const std::uint64_t hash = v % 2 == 0 ? HashWeights(expected[v].weights) : 0;
      EXPECT_EQ(stream.at(v).WeightsHash(), hash);
    }
  }
}

TEST(HashWeights, DetectsAChangedBitAndSwappedLines) {
  std::vector<float> weights = RandomVector(64, 1);
  const std::uint64_t hash = HashWeights(weights);
  for (std::size_t i = 0; i < weights.size(); ++i) {
    std::vector<float> other = weights;
    other[i] = -other[i];
    EXPECT_NE(HashWeights(other), hash);
  }
  std::vector<float> other = weights;
  std::swap_ranges(other.begin(), other.begin() + 16, other.begin() + 16);
  EXPECT_NE(HashWeights(other), hash);
  // The parts of any cut add up to the hash of the whole.
  const std::span<const float> all(weights);
  EXPECT_EQ(HashWeights(all.first(16)) + HashWeights(all.subspan(16), 1), hash);
}

TEST(Lanes, ACaptureHoldsItsVersionWhileLaterUpdatesRun) {
  UpdateStream stream(kLanesSize, 40);
  const std::vector<StateCopy> expected = stream.Reference();
  for (std::uint64_t v = 1; v <= 40; v += 3) stream.at(v).capture = std::make_shared<StateCopy>();
  TestLanes lanes(stream, 4);
  lanes.Run(stream, 1, 40);
  for (std::uint64_t v = 1; v <= 40; v += 3) {
    ExpectEqual(*stream.at(v).capture, expected[v], "version " + std::to_string(v));
  }
}

}  // namespace
}  // namespace starling::learner
