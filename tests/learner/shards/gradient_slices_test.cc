// Slices of gradients: where shard 0 puts gradients together, and where the other shards keep them.
#include "learner/shards/gradient_slices.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <vector>

namespace starling::learner {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

wire::Message From(std::uint32_t slot, std::uint32_t incarnation, std::uint64_t sequence) {
  return {.header = {.slot = slot, .incarnation = incarnation, .sequence = sequence},
          .body = wire::Gradient{},
          .tensor = {}};
}

TEST(GradientAssembler, AGradientIsWholeWhenItsLastSliceIsReported) {
  GradientAssembler assembler(2);
  assembler.Arrived({}, From(3, 7, 11));
  assembler.Reported({3, 7, 11}, 1, 3.0);
  EXPECT_FALSE(assembler.TakeWhole());
  assembler.Reported({3, 7, 11}, 2, 4.0);
  const auto whole = assembler.TakeWhole();
  ASSERT_TRUE(whole);
  EXPECT_EQ(whole->message.header.sequence, 11u);
  EXPECT_EQ(whole->other_square, 3.0 * 3.0 + 4.0 * 4.0);
  EXPECT_FALSE(assembler.TakeWhole());
  EXPECT_EQ(assembler.waiting(3, 7), 0u);
}

TEST(GradientAssembler, SlicesMayComeFirst) {
  GradientAssembler assembler(1);
  assembler.Reported({0, 1, 5}, 1, 2.0);
  EXPECT_FALSE(assembler.TakeWhole());
  assembler.Arrived({}, From(0, 1, 5));
  EXPECT_TRUE(assembler.TakeWhole());
}

TEST(GradientAssembler, ARepeatedReportCountsOnce) {
  GradientAssembler assembler(2);
  assembler.Arrived({}, From(0, 1, 5));
  assembler.Reported({0, 1, 5}, 1, 2.0);
  assembler.Reported({0, 1, 5}, 1, 2.0);
  EXPECT_FALSE(assembler.TakeWhole());
}

// A rounded sum depends on its order: the order of the shards, not that of their reports.
TEST(GradientAssembler, TheNormDoesNotDependOnTheOrderOfReports) {
  const std::vector<double> norms{1e8, 1.0, std::sqrt(3.0)};
  const auto square = [&](const std::vector<std::size_t>& order) {
    GradientAssembler assembler(3);
    assembler.Arrived({}, From(0, 1, 1));
    for (const std::size_t shard : order) assembler.Reported({0, 1, 1}, shard, norms[shard - 1]);
    const auto whole = assembler.TakeWhole();
    return whole ? whole->other_square : -1;
  };
  const double first = square({1, 2, 3});
  EXPECT_GT(first, 0);
  EXPECT_EQ(square({3, 2, 1}), first);
  EXPECT_EQ(square({2, 3, 1}), first);
}

TEST(GradientAssembler, AnInfiniteNormIsKept) {
  GradientAssembler assembler(2);
  assembler.Arrived({}, From(0, 1, 1));
  assembler.Reported({0, 1, 1}, 1, INFINITY);
  assembler.Reported({0, 1, 1}, 2, 1.0);
  const auto whole = assembler.TakeWhole();
  ASSERT_TRUE(whole);
  EXPECT_FALSE(std::isfinite(whole->other_square));
}

TEST(GradientAssembler, DiscardDropsOneIncarnation) {
  GradientAssembler assembler(2);
  assembler.Arrived({}, From(4, 9, 1));    // no shard has reported it
  assembler.Reported({4, 9, 2}, 1, 1.0);   // shard 1 has
  assembler.Reported({4, 10, 1}, 1, 1.0);  // the next incarnation
  EXPECT_EQ(assembler.waiting(4, 9), 2u);
  EXPECT_THAT(assembler.Discard(4, 9), ElementsAre(GradientAssembler::Slice{{4, 9, 2}, 1}));
  EXPECT_EQ(assembler.waiting(4, 9), 0u);
  EXPECT_EQ(assembler.waiting(4, 10), 1u);
  EXPECT_THAT(assembler.Discard(5, 9), IsEmpty());
}

const std::vector<float> kSliceValues{1, 2, 3};

HeldSlice SliceOf(const std::string& peer, std::size_t floats = 1) {
  return {.peer = peer,
          .key = {},
          .tensor = {.values = std::span(kSliceValues).first(floats), .hold = {}}};
}

TEST(PendingSlices, ASliceIsTakenUnderItsName) {
  PendingSlices held(2);
  EXPECT_EQ(held.Hold({1, 2, 3}, SliceOf("a", 3)), "");
  EXPECT_EQ(held.First({1, 2, 4}), nullptr);
  ASSERT_NE(held.First({1, 2, 3}), nullptr);
  const auto taken = held.TakeFirst({1, 2, 3});
  ASSERT_TRUE(taken);
  EXPECT_EQ(taken->tensor.values.size(), 3u);
  EXPECT_EQ(held.First({1, 2, 3}), nullptr);
  EXPECT_FALSE(held.TakeFirst({1, 2, 3}));
}

TEST(PendingSlices, AConnectionSendsASliceOnce) {
  PendingSlices held(2);
  EXPECT_EQ(held.Hold({1, 2, 3}, SliceOf("a", 1)), "");
  EXPECT_EQ(held.Hold({1, 2, 3}, SliceOf("a", 2)), "duplicate");
  EXPECT_EQ(held.First({1, 2, 3})->tensor.values.size(), 1u);
}

// Only shard 0 knows which slice is the actor's: the slices are reported to it one after the other.
TEST(PendingSlices, SlicesOfOneNameQueue) {
  PendingSlices held(2);
  EXPECT_EQ(held.Hold({1, 2, 3}, SliceOf("impostor", 1)), "");
  EXPECT_EQ(held.Hold({1, 2, 3}, SliceOf("actor", 2)), "");
  EXPECT_EQ(held.TakeFirst({1, 2, 3})->peer, "impostor");
  EXPECT_EQ(held.TakeFirst({1, 2, 3})->peer, "actor");
}

TEST(PendingSlices, LimitsTheSlicesOfAConnection) {
  PendingSlices held(2);
  EXPECT_EQ(held.Hold({1, 2, 3}, SliceOf("a")), "");
  EXPECT_EQ(held.Hold({9, 2, 3}, SliceOf("a")), "");
  EXPECT_EQ(held.Hold({1, 2, 4}, SliceOf("a")), "too many");
  EXPECT_EQ(held.Hold({1, 2, 4}, SliceOf("b")), "");
  EXPECT_TRUE(held.TakeFirst({9, 2, 3}));
  EXPECT_EQ(held.Hold({1, 2, 5}, SliceOf("a")), "");
}

}  // namespace
}  // namespace starling::learner
