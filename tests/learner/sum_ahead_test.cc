// At bound 0 the sum of an update of a large net is begun while it waits: a gradient is added as
// soon as no other can precede it in the sum.
#include <gmock/gmock.h>

#include <atomic>
#include <memory>
#include <semaphore>

#include "tests/learner/engine_fixture.h"

namespace starling::learner {
namespace {

using testing::ElementsAre;
using testing::Pair;

// SGD with learning rate 1: the weight is minus the sum of all updates.
class SumAheadTest : public EngineFixture {
 protected:
  SumAheadTest() {
    sum_ahead_ = true;
    MakeEngine({"staleness.bound=0"});
    for (const std::uint32_t slot : {0u, 1u, 2u}) engine_->Join(slot);
    engine_->Open();
    TakeReplies(0);
  }
  // Returns an owner that is gone when the memory of the gradient is free.
  std::weak_ptr<const void> PushOwned(std::uint32_t slot, float value, std::uint32_t samples = 4) {
    Received gradient = Gradient(slot, value, samples);
    const std::weak_ptr<const void> owner = gradient.tensor.hold;
    EXPECT_EQ(Push(std::move(gradient)), "none");
    engine_->Advance();
    return owner;
  }
  void AwaitRelease(const std::weak_ptr<const void>& owner) {
    while (!owner.expired()) {
      progress_.acquire();
      engine_->Advance();
    }
  }
};

TEST_F(SumAheadTest, FreesMemoryAndKeepsTheOrder) {
  const auto last = PushOwned(2, 0.25f, 4);
  AwaitRelease(PushOwned(0, 0.5f, 4));
  EXPECT_FALSE(last.expired()) << "slot 1 comes before it";
  EXPECT_EQ(engine_->counters().updates, 0u);
  const auto middle = PushOwned(1, 1.5f, 8);  // now all are here
  Apply();
  EXPECT_TRUE(last.expired() && middle.expired());
  EXPECT_EQ(Weight(), -0.9375f);  // (4 * 0.5 + 8 * 1.5 + 4 * 0.25) / 16
  TakeReplies(1);
  EXPECT_THAT(answers_, ElementsAre(Pair(0, "merged"), Pair(1, "merged"), Pair(2, "merged")));
  // The next update has a sum of its own.
  AwaitRelease(PushOwned(0, 1.0f));
  PushOwned(1, 1.0f);
  PushOwned(2, 1.0f);
  Apply();
  EXPECT_EQ(Weight(), -1.9375f);
}

TEST_F(SumAheadTest, ADeathMayLeaveNothingToAdd) {
  AwaitRelease(PushOwned(0, 0.5f));
  AwaitRelease(PushOwned(1, 1.0f));
  engine_->Remove(2, "died");
  Apply();
  EXPECT_EQ(Weight(), -0.75f);
  EXPECT_EQ(engine_->counters().merged, 2u);
}

TEST_F(SumAheadTest, TheGradientOfADeadActorStaysInTheSum) {
  AwaitRelease(PushOwned(0, 0.5f));
  engine_->Remove(0, "died");
  engine_->Join(0);  // is granted with the next version
  TakeReplies(1);
  AwaitRelease(PushOwned(1, 1.0f));
  PushOwned(2, 3.0f);
  Apply();
  EXPECT_EQ(Weight(), -1.5f);
  TakeReplies(2);
  EXPECT_EQ(grants_[0].version, 1u);
}

TEST_F(SumAheadTest, AnExpiredGrantHoldsUpNothingThatComesBehindIt) {
  const auto second = PushOwned(1, 1.0f);
  EXPECT_EQ(engine_->ExpireGrants(40 * kSecond).size(), 2u);  // of slots 0 and 2
  Apply();
  EXPECT_TRUE(second.expired());
  EXPECT_EQ(Weight(), -1.0f);
}

// The lane stands still after the first update, so the parts of the second wait before it.
TEST_F(SumAheadTest, AnUpdateMayBeDecidedBeforeItsPartsAreAdded) {
  std::binary_semaphore go_on{0};
  hold_ = &go_on;
  for (const std::uint32_t slot : {0u, 1u, 2u}) Push(Gradient(slot));  // without a part
  engine_->Advance();
  progress_.acquire();  // the first update is completed
  ASSERT_TRUE(engine_->TakeFinished(1));
  TakeReplies(1);
  const auto part = PushOwned(0, 0.5f), second = PushOwned(1, 1.0f), third = PushOwned(2, 0.0f, 8);
  EXPECT_FALSE(part.expired());
  EXPECT_EQ(engine_->counters().updates, 2u);
  go_on.release();
  Apply();
  EXPECT_TRUE(part.expired() && second.expired() && third.expired());
  EXPECT_EQ(Weight(), -1.375f);  // -1 - (4 * 0.5 + 4 * 1 + 8 * 0) / 16
}

TEST_F(SumAheadTest, TheRunMayEndWithASumThatWasBegun) {
  PushOwned(0, 0.5f);
  EXPECT_EQ(Weight(), 0.0f);
  engine_.reset();
}

}  // namespace
}  // namespace starling::learner
