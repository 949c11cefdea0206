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
      TestApplier lanes(ApplyMode::kLanes, stream, threads);
      lanes.Run(stream, 1, 30);
      ExpectEqual(lanes->CaptureNow(), expected, name + " in lanes " + std::to_string(threads));
    }
  }
}

// The sum of an update in parts of one gradient, the last of them with the update, and in one part
// that leaves the update none: the same bits as a sum in one go.
TEST(Lanes, ASumThatWasBegunAheadIsTheSameBitForBit) {
  constexpr std::uint64_t kVersions = 12;
  UpdateStream stream(kLanesSize, kVersions);
  for (std::uint64_t v = 1; v <= kVersions; ++v) {  // weights that round
    auto& gradients = stream.at(v).gradients;
    for (std::size_t k = 1; k < gradients.size(); ++k) gradients[k].weight = 0.3f + 0.1f * float(k);
  }
  const auto run = [&](int threads, bool ahead) {
    UpdateStream copy(kLanesSize, kVersions);
    TestApplier lanes(ApplyMode::kLanes, copy, threads);
    for (std::uint64_t v = 1; v <= kVersions; ++v) {
      Update& update = copy.at(v);
      update.gradients = stream.at(v).gradients;
      const std::size_t parts = !ahead ? 0 : update.gradients.size() - (v % 2);
      for (std::size_t k = 0; k < parts; ++k) {
        Update part;
        part.version = v;
        part.gradients = {update.gradients.front()};
        part.weight_before = update.weight_before;
        const std::vector<float> values(part.gradients[0].values.begin(),
                                        part.gradients[0].values.end());
        part.gradients[0].values = values;
        lanes->SumAhead(&part);
        for (int seen = lanes.progress(); !part.Summed(); seen = lanes.progress()) lanes.Wait(seen);
        update.weight_before += part.gradients[0].weight;
        update.gradients.erase(update.gradients.begin());
      }
      lanes.SubmitWhenThereIsRoom(update);
    }
    lanes.WaitFor(kVersions);
    return lanes->CaptureNow();
  };
  const StateCopy expected = run(1, false);
  for (const int threads : {1, 3}) {
    ExpectEqual(run(threads, true), expected, "lanes: " + std::to_string(threads));
  }
}

TEST(Lanes, MayBeMoreThanCacheLines) {
  UpdateStream stream(32, 5);
  const StateCopy expected = stream.Reference().back();
  TestApplier lanes(ApplyMode::kLanes, stream, 5);
  lanes.Run(stream, 1, 5);
  EXPECT_EQ(lanes->CaptureNow().weights, expected.weights);
}

TEST(Lanes, TheHashDependsOnTheWeightsNotOnTheLanes) {
  UpdateStream stream(kLanesSize, 6);
  const std::vector<StateCopy> expected = stream.Reference();
  for (int threads = 1; threads <= 5; ++threads) {
    for (std::uint64_t v = 1; v <= 6; ++v) stream.at(v).hash = v % 2 == 0;
    TestApplier lanes(ApplyMode::kLanes, stream, threads);
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
  TestApplier lanes(ApplyMode::kLanes, stream, 4);
  lanes.Run(stream, 1, 40);
  for (std::uint64_t v = 1; v <= 40; v += 3) {
    ExpectEqual(*stream.at(v).capture, expected[v], "version " + std::to_string(v));
  }
}

}  // namespace
}  // namespace starling::learner
