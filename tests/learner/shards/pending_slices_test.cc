#include "learner/shards/pending_slices.h"

#include <gtest/gtest.h>

#include <vector>

namespace starling::learner {
namespace {

const std::vector<float> kValues{1, 2, 3};

HeldSlice From(const std::string& peer, std::size_t floats = 1) {
  return {.peer = peer, .envelope = {}, .values = std::span(kValues).first(floats)};
}

TEST(PendingSlices, ASliceIsTakenUnderItsName) {
  PendingSlices held(2);
  EXPECT_EQ(held.Hold({1, 2, 3}, From("a", 3)), "");
  EXPECT_EQ(held.First({1, 2, 4}), nullptr);
  ASSERT_NE(held.First({1, 2, 3}), nullptr);
  const auto taken = held.TakeFirst({1, 2, 3});
  ASSERT_TRUE(taken);
  EXPECT_EQ(taken->values.size(), 3u);
  EXPECT_EQ(held.First({1, 2, 3}), nullptr);
  EXPECT_FALSE(held.TakeFirst({1, 2, 3}));
}

TEST(PendingSlices, AConnectionSendsASliceOnce) {
  PendingSlices held(2);
  EXPECT_EQ(held.Hold({1, 2, 3}, From("a", 1)), "");
  EXPECT_EQ(held.Hold({1, 2, 3}, From("a", 2)), "duplicate");
  EXPECT_EQ(held.First({1, 2, 3})->values.size(), 1u);
}

// Only shard 0 knows which slice is the actor's: the slices are reported to it one after the other.
TEST(PendingSlices, SlicesOfOneNameQueue) {
  PendingSlices held(2);
  EXPECT_EQ(held.Hold({1, 2, 3}, From("impostor", 1)), "");
  EXPECT_EQ(held.Hold({1, 2, 3}, From("actor", 2)), "");
  EXPECT_EQ(held.TakeFirst({1, 2, 3})->peer, "impostor");
  EXPECT_EQ(held.TakeFirst({1, 2, 3})->peer, "actor");
}

TEST(PendingSlices, LimitsTheSlicesOfAConnection) {
  PendingSlices held(2);
  EXPECT_EQ(held.Hold({1, 2, 3}, From("a")), "");
  EXPECT_EQ(held.Hold({9, 2, 3}, From("a")), "");
  EXPECT_EQ(held.Hold({1, 2, 4}, From("a")), "too many");
  EXPECT_EQ(held.Hold({1, 2, 4}, From("b")), "");
  EXPECT_TRUE(held.TakeFirst({9, 2, 3}));
  EXPECT_EQ(held.Hold({1, 2, 5}, From("a")), "");
}

}  // namespace
}  // namespace starling::learner
