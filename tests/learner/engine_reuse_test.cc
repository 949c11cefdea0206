// Several gradients of one unroll, as the engine sees them: grants, steps, refusals.
#include <gmock/gmock.h>

#include "net/running.h"
#include "tests/learner/engine_fixture.h"

namespace starling::learner {
namespace {

using testing::ElementsAre;
using testing::SizeIs;

// Unrolls of 4 samples, in two halves.
const std::vector<std::string> kHalves = {"loss.kind=ppo", "updates.minibatches=2",
                                          "staleness.bound=1"};

class EngineReuseTest : public EngineFixture {
 protected:
  Member& MemberOf(std::uint32_t slot) { return *engine_->roster().Find(slot); }
  // A half under the newest grant of `slot`, of an unroll that version `played` played.
  Received Half(std::uint32_t slot, std::uint64_t played = 0) {
    Received gradient = Gradient(slot, 1.0f, 2);
    gradient.body.use = grants_[slot].use;
    gradient.body.played = played;
    return gradient;
  }
  void Acted(std::uint32_t slot) {
    engine_->Acted(MemberOf(slot), grants_[slot].number);
    TakeReplies(0);
  }
  // The running count of the first number. In a gradient it is 2: both its floats are 1.
  double Count() { return net::SumAt(&engine_->CaptureNow().state.weights.at(kSize)); }
  std::uint64_t Steps() const { return engine_->pipeline().steps(); }
};

TEST_F(EngineReuseTest, AnUnrollCountsItsStepsOnce) {
  JoinBoth(kHalves);
  EXPECT_EQ(grants_[0].acting, 1u);
  Acted(0);
  EXPECT_EQ(grants_[0].acting, 0u);
  EXPECT_EQ(Push(Half(0)), "none");
  Apply();
  EXPECT_EQ(Steps(), 4u);
  TakeReplies(1);
  EXPECT_EQ(grants_[0].use, 1u);
  EXPECT_EQ(Push(Half(0)), "none");
  Apply();
  EXPECT_EQ(Steps(), 4u) << "the second half";
  EXPECT_EQ(MemberOf(0).steps, 4u);
  TakeReplies(2);
  EXPECT_EQ(grants_[0].use, 0u);
  EXPECT_EQ(grants_[0].acting, 1u);
  Acted(0);
  EXPECT_EQ(Push(Half(0, 2)), "none");
  Apply();
  EXPECT_EQ(Steps(), 8u) << "the next unroll";
}

TEST_F(EngineReuseTest, TheFirstAcceptedGradientBringsTheSteps) {
  JoinBoth(kHalves);
  Acted(0);
  Received broken = Half(0);
  broken.tensor.values = {};
  broken.norm = net::FiniteNorm{.finite = false};
  EXPECT_EQ(Push(std::move(broken)), "not_finite");
  TakeReplies(1);
  EXPECT_EQ(grants_[0].use, 1u) << "that half is lost";
  EXPECT_EQ(Push(Half(0)), "none");
  Apply();
  EXPECT_EQ(Steps(), 4u);
}

TEST_F(EngineReuseTest, WhatDoesNotFitItsGrantIsRefused) {
  JoinBoth(kHalves);
  Acted(0);
  Received other = Half(0);
  other.body.use = 1;
  EXPECT_EQ(Push(std::move(other)), "wrong_use");
  TakeReplies(1);
  EXPECT_EQ(Push(Half(0, 1)), "wrong_use") << "played by a version that is newer than its base";
  TakeReplies(2);
  EXPECT_EQ(Push(Half(0)), "none");
}

// A quarter of the unrolls of two envs is one sample.
TEST_F(EngineReuseTest, SharesOfSamplesAreTakenWhereTheyAreDealtOut) {
  JoinBoth({"loss.kind=ppo", "updates.minibatches=4", "updates.shuffle=samples"});
  Acted(0);
  EXPECT_EQ(Push(Gradient(0, 1.0f, 1)), "none");
  Apply();
  EXPECT_EQ(Steps(), 4u);
}

TEST_F(EngineReuseTest, SharesOfNoWholeUnrollAreRefused) {
  JoinBoth({"loss.kind=ppo", "updates.minibatches=3", "actors.envs_per_actor=6",
            "updates.shuffle=samples"});
  Acted(0);
  for (const std::uint32_t samples : {0u, 1u, 3u, static_cast<std::uint32_t>(kMaxSamples)}) {
    EXPECT_EQ(Push(Gradient(0, 1.0f, samples)), "bad_samples") << samples;
    TakeReplies(1);
  }
}

TEST_F(EngineReuseTest, AShareOfEnvsIsWholeUnrolls) {
  JoinBoth(kHalves);
  Acted(0);
  EXPECT_EQ(Push(Gradient(0, 1.0f, 1)), "bad_samples") << "half of one env's unroll";
}

TEST_F(EngineReuseTest, AnUnrollsGrantIsSentAnewAndJournalledOnce) {
  JoinBoth(kHalves);
  Acted(0);
  const std::uint64_t waiting = grants_[1].number;
  for (int i = 0; i < 2; ++i) {  // two updates while actor 1 plays
    EXPECT_EQ(Push(Half(0)), "none");
    Apply();
    TakeReplies(1 + i);
  }
  Acted(1);
  EXPECT_EQ(grants_[1].number, waiting);
  EXPECT_EQ(grants_[1].version, 2u);
  EXPECT_EQ(grants_[1].acting, 0u);
  std::size_t journalled = 0;
  for (const GrantRecord& grant : Journal<GrantRecord>()) journalled += grant.number == waiting;
  EXPECT_EQ(journalled, 1u);
  EXPECT_EQ(Push(Half(1, 0)), "none");
  Apply();
  EXPECT_EQ(engine_->counters().staleness.max(), 0u);
  EXPECT_EQ(engine_->counters().data_age.max(), 2u);
  const auto uses = Journal<UseRecord>();
  ASSERT_THAT(uses, SizeIs(3));
  EXPECT_EQ(uses[2].slot, 1u);
  EXPECT_EQ(uses[2].use, 0u);
  EXPECT_EQ(uses[2].played, 0u);
}

// The actor played longer than its grant lived: it computes, is refused, and goes on. Steps and
// running sums come with the next one.
TEST_F(EngineReuseTest, AnUnrollThatTookTooLongIsAnswered) {
  size_ = kSize + net::kSumsOfNumber * 2;
  JoinBoth(kHalves);
  ASSERT_THAT(engine_->ExpireGrants(31 * kSecond), SizeIs(2));
  const std::uint64_t expired = grants_[0].number;
  grants_[0] = {};
  engine_->Acted(MemberOf(0), expired);
  TakeReplies(31 * kSecond);
  EXPECT_EQ(grants_[0].number, expired);
  EXPECT_EQ(grants_[0].acting, 0u);
  EXPECT_EQ(Push(Half(0)), "no_grant");
  TakeReplies(32 * kSecond);
  EXPECT_EQ(grants_[0].use, 1u);
  EXPECT_EQ(Push(Half(0)), "none");
  Apply();
  EXPECT_EQ(Steps(), 4u);
  EXPECT_EQ(Count(), 4.0) << "of two samples, each of which has 2";
}

TEST_F(EngineReuseTest, AnUnrollAddsItsRunningSumsOnce) {
  size_ = kSize + net::kSumsOfNumber * 2;
  JoinBoth(kHalves);
  for (const std::uint32_t slot : {0u, 1u}) Acted(slot);
  for (int half = 0; half < 2; ++half) {
    for (const std::uint32_t slot : {0u, 1u}) {
      EXPECT_EQ(Push(Half(slot)), "none");
      Apply();
      TakeReplies(1);
    }
    EXPECT_EQ(Count(), 8.0);
  }
}

// An update of a gradient whose unroll was counted before, and of one that counts; at bound 0 the
// first of them is added before the second arrives.
TEST_F(EngineReuseTest, AnUpdateMayHaveSumsThatCountAndOthers) {
  size_ = kSize + net::kSumsOfNumber * 2;
  for (const bool ahead : {false, true}) {
    sum_ahead_ = ahead;
    JoinBoth({"loss.kind=ppo", "updates.minibatches=2", "staleness.bound=0"});
    EXPECT_EQ(Push(Half(0)), "none");
    Apply();
    Received broken = Half(1);
    broken.norm = net::FiniteNorm{.finite = false};
    EXPECT_EQ(Push(std::move(broken)), "not_finite");
    Apply();
    EXPECT_EQ(Count(), 4.0) << "of actor 0 alone";
    TakeReplies(1);
    for (const std::uint32_t slot : {0u, 1u}) {
      EXPECT_EQ(grants_[slot].use, 1u);
      EXPECT_EQ(Push(Half(slot)), "none");
      Apply();
    }
    EXPECT_EQ(Steps(), 8u);
    EXPECT_EQ(Count(), 8.0) << "of actor 1's, too, but not of actor 0's again";
  }
}

// A version in the middle of an unroll is no cut, although nothing is under way.
TEST_F(EngineReuseTest, ACutIsBehindTheLastGradientOfEveryUnroll) {
  JoinBoth({"loss.kind=ppo", "updates.minibatches=2", "staleness.bound=0"});
  for (int half = 0; half < 2; ++half) {
    for (const std::uint32_t slot : {0u, 1u}) EXPECT_EQ(Push(Half(slot)), "none");
    Apply();
    EXPECT_EQ(engine_->AtCut(), half == 1);
    TakeReplies(1);
  }
}

}  // namespace
}  // namespace starling::learner
