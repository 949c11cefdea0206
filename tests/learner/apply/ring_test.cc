#include "learner/apply/ring.h"

#include <gtest/gtest.h>

#include <memory>

namespace starling::learner {
namespace {

TEST(SpscRing, IsFirstInFirstOutAndBounded) {
  SpscRing<int, 4> ring;
  int out = -1;
  EXPECT_FALSE(ring.TryPop(out));
  EXPECT_EQ(out, -1);
  for (int i = 0; i < 4; ++i) EXPECT_TRUE(ring.TryPush(i));
  EXPECT_FALSE(ring.TryPush(4));
  for (int i = 0; i < 4; ++i) {
    ASSERT_TRUE(ring.TryPop(out));
    EXPECT_EQ(out, i);
  }
  EXPECT_FALSE(ring.TryPop(out));
}

TEST(SpscRing, GoesRoundManyTimesAtEveryFillLevel) {
  for (int level = 1; level <= 4; ++level) {
    SpscRing<int, 4> ring;
    int next_in = 0, next_out = 0;
    while (next_out < 100) {
      while (next_in - next_out < level) ASSERT_TRUE(ring.TryPush(next_in++));
      EXPECT_EQ(ring.TryPush(-1), level < 4);
      int out = -1;
      ASSERT_TRUE(ring.TryPop(out));
      ASSERT_EQ(out, next_out++);
      if (level < 4) {  // pop everything before the -1, and the -1
        for (int i = 1; i < level; ++i) ASSERT_TRUE(ring.TryPop(out));
        ASSERT_TRUE(ring.TryPop(out));
        ASSERT_EQ(out, -1);
        next_out = next_in;
      }
    }
  }
}

TEST(SpscRing, OfCapacityOneAlternates) {
  SpscRing<int, 1> ring;
  for (int i = 0; i < 10; ++i) {
    EXPECT_TRUE(ring.TryPush(i));
    EXPECT_FALSE(ring.TryPush(i));
    int out = -1;
    EXPECT_TRUE(ring.TryPop(out));
    EXPECT_EQ(out, i);
  }
}

TEST(SpscRing, MovesItsItems) {
  SpscRing<std::unique_ptr<int>, 2> ring;
  EXPECT_TRUE(ring.TryPush(std::make_unique<int>(7)));
  std::unique_ptr<int> out;
  ASSERT_TRUE(ring.TryPop(out));
  EXPECT_EQ(*out, 7);
}

TEST(Parker, AWakeAfterTheTicketMakesParkReturn) {
  Parker parker;
  const std::uint32_t ticket = parker.Ticket();
  parker.Wake();
  parker.Park(ticket);  // would hang if the wake-up were lost
  EXPECT_NE(parker.Ticket(), ticket);
}

}  // namespace
}  // namespace starling::learner
