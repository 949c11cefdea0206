#include "learner/lanes.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <semaphore>
#include <thread>

#include "tests/learner/lanes_fixture.h"
#include "tests/learner/optimizer_fixture.h"

namespace starling::learner {
namespace {

constexpr std::size_t kSize = 16 * 101;  // cuts into no number of lanes evenly

TEST(Lanes, AnyNumberOfThemEqualsThePlainOptimizerBitForBit) {
  for (const auto& [name, config] : OptimizerVariants()) {
    UpdateStream stream(kSize, 30, config);
    const Capture expected = stream.Reference().back();
    for (int threads = 1; threads <= 5; ++threads) {
      TestLanes lanes(stream, threads);
      lanes.Run(stream, 1, 30);
      const Capture got = lanes->CaptureNow();
      EXPECT_EQ(got.weights, expected.weights) << name << " in " << threads << " lanes";
      EXPECT_EQ(got.state, expected.state) << name << " in " << threads << " lanes";
    }
  }
}

TEST(Lanes, MoreLanesThanCacheLinesLeaveSomeWithNothingToDo) {
  UpdateStream stream(32, 5);
  const Capture expected = stream.Reference().back();
  TestLanes lanes(stream, 5);
  lanes.Run(stream, 1, 5);
  EXPECT_EQ(lanes->CaptureNow().weights, expected.weights);
}

TEST(Lanes, TheWeightsTheyAreBuiltWithArePublishedAtOnce) {
  UpdateStream stream(kSize, 1);
  TestLanes lanes(stream, 2, nullptr, 40);
  wire::SnapshotReader reader(lanes.snapshot());
  std::vector<float> got(kSize);
  wire::SnapshotMeta meta;
  ASSERT_TRUE(reader.Read(40, got, meta));
  EXPECT_EQ(got, stream.initial());
  EXPECT_EQ(meta, UpdateStream::Meta(40));
  EXPECT_EQ(lanes->Completed(), 40u);
  EXPECT_TRUE(lanes->Idle());
}

TEST(Lanes, EachVersionIsPublishedWithItsWeightsAndMeta) {
  UpdateStream stream(kSize, 12);
  const std::vector<Capture> expected = stream.Reference();
  TestLanes lanes(stream, 3);
  wire::SnapshotReader reader(lanes.snapshot());
  std::vector<float> got(kSize);
  wire::SnapshotMeta meta;
  for (std::uint64_t v = 1; v <= 12; ++v) {
    lanes.Run(stream, v, v);
    ASSERT_TRUE(reader.Read(v, got, meta));
    EXPECT_EQ(got, expected[v].weights);
    EXPECT_EQ(meta, UpdateStream::Meta(v));
  }
  // One call for each update; the last one may still be on its way.
  EXPECT_LE(lanes.progress(), 12);
}

TEST(Lanes, GradientsAreSummedInTheOrderGiven) {
  // In floats (1e8 + 1) - 1e8 is 0 and (1e8 - 1e8) + 1 is 1.
  UpdateStream stream(kSize, 1, {.kind = "sgd"});
  const std::vector<float> huge(kSize, 1e8f), one(kSize, 1), minus(kSize, -1e8f);
  const std::vector<float> start(kSize, 0);
  const Capture from{start, {}};
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
  EXPECT_EQ(result({{huge, 1}, {minus, 1}, {one, 1}}), std::vector<float>(kSize, -1));
}

TEST(Lanes, OneGradientOfWeightOneIsWhatTwoHalvesOfItAre) {
  UpdateStream stream(kSize, 1);
  const std::vector<float> gradient = RandomFloats(kSize, 90);
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

TEST(Lanes, TheHashIsThatOfTheWeightsAndDoesNotDependOnTheLanes) {
  UpdateStream stream(kSize, 6);
  const std::vector<Capture> expected = stream.Reference();
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

TEST(HashWeights, TellsAnyChangedBitAndAnyTwoLinesExchanged) {
  std::vector<float> weights = RandomFloats(64, 1);
  const std::uint64_t hash = HashWeights(weights);
  for (std::size_t i = 0; i < weights.size(); ++i) {
    std::vector<float> other = weights;
    other[i] = -other[i];
    EXPECT_NE(HashWeights(other), hash);
  }
  std::vector<float> other = weights;
  std::swap_ranges(other.begin(), other.begin() + 16, other.begin() + 16);
  EXPECT_NE(HashWeights(other), hash);
  // Parts add up, whatever the cut.
  const std::span<const float> all(weights);
  EXPECT_EQ(HashWeights(all.first(16)) + HashWeights(all.subspan(16), 1), hash);
}

TEST(Lanes, ACaptureIsThatOfItsVersionThoughLaterUpdatesRun) {
  UpdateStream stream(kSize, 40);
  const std::vector<Capture> expected = stream.Reference();
  for (std::uint64_t v = 1; v <= 40; v += 3) stream.at(v).capture = std::make_shared<Capture>();
  TestLanes lanes(stream, 4);
  lanes.Run(stream, 1, 40);
  for (std::uint64_t v = 1; v <= 40; v += 3) {
    EXPECT_EQ(stream.at(v).capture->weights, expected[v].weights);
    EXPECT_EQ(stream.at(v).capture->state, expected[v].state);
  }
}

TEST(Lanes, GoOnFromACaptureAsIfNothingHadHappened) {
  UpdateStream stream(kSize, 20);
  const Capture expected = stream.Reference().back();
  Capture middle;
  {
    TestLanes lanes(stream, 2);
    lanes.Run(stream, 1, 9);
    middle = lanes->CaptureNow();
  }
  TestLanes lanes(stream, 3, &middle, 9);
  lanes.Run(stream, 10, 20);
  EXPECT_EQ(lanes->CaptureNow().weights, expected.weights);
  EXPECT_EQ(lanes->CaptureNow().state, expected.state);
}

// The running square of a weight whose gradient has become zero decays for ever; as a denormal number
// it would make every later update many times slower.
TEST(Lanes, WhatDecaysBecomesZeroNotADenormal) {
  constexpr std::uint64_t kVersions = 40;
  UpdateStream stream(kSize, kVersions, {.decay = 0.5});
  const std::vector<float> tiny(kSize, 1e-15f), zero(kSize, 0.0f);
  for (std::uint64_t v = 1; v <= kVersions; ++v)
    stream.at(v).gradients = {{v == 1 ? tiny : zero, 1}};
  TestLanes lanes(stream, 2);
  lanes.Run(stream, 1, kVersions);
  // 1e-30 / 2 halved 39 times is about 1e-42, a denormal number; float's smallest is 1.4e-45.
  const Capture last = lanes->CaptureNow();
  for (const float square : last.state[0]) EXPECT_EQ(square, 0.0f);
}

TEST(Lanes, RefuseMoreThanTheSnapshotHasRoomFor) {
  UpdateStream stream(kSize, 4);
  wire::SnapshotWriter snapshot("", kSize, 1, kTestTerm);
  std::counting_semaphore<> reached(0), go_on(0);
  {
    // The only lane waits inside its call-back after each version.
    Lanes lanes({1, stream.spec(), kSize}, stream.initial(), {}, snapshot, UpdateStream::Meta(0),
                [&] {
                  reached.release();
                  go_on.acquire();
                });
    ASSERT_TRUE(lanes.Submit(&stream.at(1)));
    reached.acquire();
    EXPECT_EQ(lanes.Completed(), 1u);
    EXPECT_TRUE(lanes.Submit(&stream.at(2)));
    EXPECT_TRUE(lanes.Submit(&stream.at(3)));
    EXPECT_FALSE(lanes.Submit(&stream.at(4)));
    EXPECT_EQ(lanes.Completed(), 1u);
    EXPECT_EQ(lanes.Submitted(), 3u);
    go_on.release();
    reached.acquire();
    EXPECT_EQ(lanes.Completed(), 2u);
    EXPECT_TRUE(lanes.Submit(&stream.at(4)));
    go_on.release(10);
  }
  // The destructor finished what had been taken.
  EXPECT_EQ(wire::SnapshotReader(snapshot).Latest(), 4u);
}

TEST(LanesDeathTest, AVersionThatIsNotTheNextIsOurBug) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  UpdateStream stream(kSize, 2);
  TestLanes lanes(stream, 1);
  EXPECT_DEATH(lanes->Submit(&stream.at(2)), "version 2 after 0");
}

}  // namespace
}  // namespace starling::learner
