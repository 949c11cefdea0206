// Checks, judging, grants and answers, written out.
#include "learner/engine.h"

#include <gmock/gmock.h>

#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "tests/learner/engine_fixture.h"

namespace starling::learner {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::Pair;
using testing::SizeIs;

using EngineTest = EngineFixture;

const std::vector<std::string> kBoundZero = {"staleness.bound=0"};

TEST_F(EngineTest, AnAppliedGradientIsAnsweredWithTheNextGrant) {
  JoinBoth();
  EXPECT_EQ(Push(Gradient(0, 0.5f)), "none");
  TakeReplies(1);
  EXPECT_THAT(answers_, IsEmpty()) << "held, not applied";
  Apply(2.5);
  TakeReplies(2);
  EXPECT_THAT(answers_, ElementsAre(Pair(0, "applied")));
  EXPECT_EQ(grants_[0].version, 1u);
  EXPECT_EQ(engine_->CaptureNow().state.weights, std::vector<float>(kSize, -0.5f));
  EXPECT_EQ(engine_->Status().seconds, 2.5);
  EXPECT_EQ(engine_->Status().steps_per_second, 4 / 2.5);
}

// One message each, they overflowed the queue of the connection.
TEST_F(EngineTest, AllThatASlotIsAnsweredIsOneReply) {
  MakeEngine({"updates.in_flight=16", "updates.gradients=16", "staleness.bound=16"});
  engine_->Join(0);
  engine_->Open();
  const std::vector<Engine::Reply> first = engine_->TakeReplies(0);
  for (const auto& grant : first.at(0).answer.grants) {
    grants_[0] = grant;
    Push(Gradient(0));
  }
  Apply();
  const std::vector<Engine::Reply> replies = engine_->TakeReplies(1);
  ASSERT_THAT(replies, SizeIs(1));
  EXPECT_THAT(replies[0].answer.outcomes, SizeIs(16));
  EXPECT_EQ(replies[0].answer.outcomes[15].gradient, 16u);
  EXPECT_THAT(replies[0].answer.grants, SizeIs(16));
}

TEST_F(EngineTest, WaitsForBothAndAppliesTheirMean) {
  JoinBoth(kBoundZero);
  Push(Gradient(0, 1.0f));
  Apply();
  TakeReplies(1);
  EXPECT_THAT(answers_, IsEmpty());
  Push(Gradient(1, 3.0f));
  Apply();
  TakeReplies(2);
  EXPECT_THAT(answers_, ElementsAre(Pair(0, "merged"), Pair(1, "merged")));
  EXPECT_FLOAT_EQ(Weight(), -2.0f);
}

TEST_F(EngineTest, TheMeanIsWeightedBySamples) {
  JoinBoth(kBoundZero);
  Push(Gradient(0, 1.0f, 2));  // 1 env x 2 steps
  Push(Gradient(1, 2.0f, 6));  // 3 envs x 2 steps, more than actors.envs_per_actor
  Apply();
  EXPECT_FLOAT_EQ(Weight(), -1.75f);  // 1/4 * 1 + 3/4 * 2
  EXPECT_EQ(engine_->Status().steps, 8u);
  EXPECT_EQ(engine_->counters().merged, 2u);
  EXPECT_EQ(engine_->counters().updates, 1u);
}

// Settings that change the size of the step; the learning rate is 1.
TEST_F(EngineTest, TheStepGrowsWithTheSamples) {
  JoinBoth({"staleness.bound=0", "optimizer.scale_lr=linear"});
  Push(Gradient(0, 1.0f, 2));
  Push(Gradient(1, 2.0f, 6));
  Apply();
  EXPECT_FLOAT_EQ(Weight(), -3.5f);  // the mean 1.75, (2 + 6) / (envs_per_actor * unroll) times
}

TEST_F(EngineTest, TheStepShrinksWithTheStaleness) {
  JoinBoth({"staleness.damping=inverse"});
  Received old = Gradient(1);
  for (int i = 0; i < 4; ++i) {
    Push(Gradient(0, 0.0f));
    Apply();
    TakeReplies(i);
  }
  old.header.sequence = ++sequence_;
  Push(std::move(old));
  Apply();
  EXPECT_FLOAT_EQ(Weight(), -0.25f);  // four versions behind
}

TEST_F(EngineTest, TheFirstUpdatesAreWarmedUpByTheirOwnSamples) {
  JoinBoth({"optimizer.warmup_steps=8"});
  for (int i = 0; i < 3; ++i) {
    Push(Gradient(0));
    Apply();
    TakeReplies(i);
  }
  EXPECT_FLOAT_EQ(Weight(), -2.5f);  // 4/8 + 8/8 + 1
}

TEST_F(EngineTest, AStaleGradientIsRefusedAndItsActorGrantedAgain) {
  JoinBoth({"staleness.bound=0", "staleness.on_exceed=drop"});
  Push(Gradient(0));
  Apply();
  EXPECT_EQ(Push(Gradient(1)), "stale");
  TakeReplies(1);
  EXPECT_EQ(grants_[1].version, 1u);
  EXPECT_FLOAT_EQ(Weight(), -1.0f);
}

TEST_F(EngineTest, RefusesGradientsThatTheirSenderMayNotPush) {
  JoinBoth();
  const auto refused = [&](auto change) {
    Received gradient = Gradient(0);
    change(gradient);
    return Push(std::move(gradient));
  };
  EXPECT_EQ(refused([](Received& g) { g.header.term = 2; }), "other_term");
  EXPECT_EQ(refused([](Received& g) { g.header.session = 8; }), "other_term");
  EXPECT_EQ(refused([](Received& g) { g.header.slot = 5; }), "unknown_actor");
  EXPECT_EQ(refused([](Received& g) { --g.header.incarnation; }), "old_incarnation");
  EXPECT_EQ(refused([](Received& g) { g.header.sequence = 0; }), "duplicate");
  EXPECT_EQ(refused([](Received& g) { ++g.body.grant; }), "no_grant");
  EXPECT_THAT(Journal<ArrivalRecord>(), SizeIs(2)) << "only those of members";
  EXPECT_EQ(Push(Gradient(0)), "none") << "its grant is still live";
  EXPECT_EQ(engine_->counters().received, 7u);
  EXPECT_EQ(engine_->counters().in_flight(), 1u);
}

// A gradient with bad content spends its grant; its actor gets a new one.
TEST_F(EngineTest, ABadGradientSpendsItsGrant) {
  JoinBoth();
  const auto refused = [&](auto change) {
    Received gradient = Gradient(0);
    change(gradient);
    const std::string outcome = Push(std::move(gradient));
    TakeReplies(1);
    return outcome;
  };
  const std::vector<float> infinite(kSize, INFINITY),
      huge(kSize, std::numeric_limits<float>::max());
  for (const std::uint32_t samples : {0u, 3u, static_cast<std::uint32_t>(kMaxSamples) + 2}) {
    EXPECT_EQ(refused([&](Received& g) { g.body.samples = samples; }), "bad_samples");
  }
  EXPECT_EQ(refused([](Received& g) { g.body.buffer = 1; }), "no_buffer");
  EXPECT_EQ(refused([&](Received& g) { g.tensor.values = infinite; }), "not_finite");
  EXPECT_EQ(refused([](Received& g) { g.other_square = NAN; }), "not_finite");
  EXPECT_EQ(refused([&](Received& g) { g.tensor.values = huge; }), "norm_too_large");
  EXPECT_EQ(refused([](Received& g) { ++g.header.version; }), "future_version");
  EXPECT_THAT(Journal<GrantRecord>(), SizeIs(2 + 8)) << "a new one after each";
  EXPECT_EQ(Push(Gradient(0)), "none");
}

TEST_F(EngineTest, AGradientOnWeightsOlderThanItsGrantIsRefused) {
  JoinBoth();
  Push(Gradient(0));
  Apply();
  TakeReplies(1);
  Received gradient = Gradient(0);
  ASSERT_EQ(gradient.header.version, 1u);
  gradient.header.version = 0;
  EXPECT_EQ(Push(std::move(gradient)), "below_grant");
}

TEST_F(EngineTest, AnExpiredGrantReleasesTheOthers) {
  JoinBoth(kBoundZero);
  Push(Gradient(0));
  EXPECT_THAT(engine_->ExpireGrants(30 * kSecond - 1), IsEmpty());
  const auto expired = engine_->ExpireGrants(30 * kSecond);
  ASSERT_THAT(expired, SizeIs(1));
  EXPECT_EQ(expired[0].slot, 1u);
  Apply();
  TakeReplies(31 * kSecond);
  EXPECT_THAT(answers_, ElementsAre(Pair(0, "applied")));
  EXPECT_EQ(engine_->counters().deadlines, 1u);
  EXPECT_EQ(Journal<LostRecord>().at(0), (LostRecord{1, expired[0].number, LostWhy::kDeadline}));
  EXPECT_EQ(Push(Gradient(1)), "no_grant") << "too late";
}

// Two grants that were sent together are for two gradients, one after the other.
TEST_F(EngineTest, ADeadlineBeginsAnewWhenTheGrantBeforeItIsSpent) {
  JoinBoth({"updates.in_flight=2"});
  const auto sent = engine_->SentGrants(0);
  ASSERT_THAT(sent, SizeIs(2));
  EXPECT_EQ(engine_->DeadlineNs(sent[1].number), 30 * kSecond);
  Received gradient = Gradient(0);
  gradient.body.grant = sent[0].number;
  EXPECT_EQ(Push(std::move(gradient)), "none");
  EXPECT_THAT(engine_->ExpireGrants(20 * kSecond), IsEmpty());
  EXPECT_EQ(engine_->DeadlineNs(sent[0].number), std::nullopt);
  EXPECT_EQ(engine_->DeadlineNs(sent[1].number), 50 * kSecond);
  EXPECT_THAT(engine_->ExpireGrants(50 * kSecond - 1), SizeIs(2)) << "those of actor 1";
  EXPECT_THAT(engine_->ExpireGrants(50 * kSecond), SizeIs(1));
}

// An actor that never spends its oldest grant cannot keep it alive.
TEST_F(EngineTest, TheDeadlineOfAnOlderGrantThanTheSpentOneGoesOn) {
  JoinBoth({"updates.in_flight=2"});
  const auto sent = engine_->SentGrants(0);
  EXPECT_EQ(Push(Gradient(0)), "none");  // spends the newest
  EXPECT_THAT(engine_->ExpireGrants(20 * kSecond), IsEmpty());
  EXPECT_EQ(engine_->DeadlineNs(sent[0].number), 30 * kSecond);
}

TEST_F(EngineTest, TheGradientOfADeadActorCountsAndIsNotAnswered) {
  JoinBoth(kBoundZero);
  Push(Gradient(0, 1.0f));
  engine_->Remove(0, "was killed");
  Push(Gradient(1, 3.0f));
  Apply();
  TakeReplies(1);
  EXPECT_THAT(answers_, ElementsAre(Pair(1, "merged")));
  EXPECT_EQ(engine_->roster().left().at(0), "was killed");
  EXPECT_THAT(Journal<DeathRecord>(), SizeIs(1));
}

TEST_F(EngineTest, AnActorThatDiesReleasesTheOthers) {
  JoinBoth(kBoundZero);
  Push(Gradient(0, 1.0f));
  const std::uint64_t number = grants_[1].number;
  engine_->Remove(1, "was killed");
  Apply();
  TakeReplies(1);
  EXPECT_THAT(answers_, ElementsAre(Pair(0, "applied")));
  EXPECT_THAT(Journal<LostRecord>(), ElementsAre(LostRecord{1, number, LostWhy::kDeath}));
}

// The seconds are those of the last finished update.
TEST_F(EngineTest, ACheckpointIsDueByStepsOrByTimeWhicheverIsFirst) {
  JoinBoth({"checkpoint.every_steps=20", "checkpoint.every_s=10"});
  std::vector<std::uint64_t> saved;
  for (const double seconds : {1.0, 2.0, 11.0, 12.0, 13.0, 21.5, 22.0, 31.9, 32.0, 33.0}) {
    Push(Gradient(0));
    engine_->Advance();
    std::optional<Engine::Finished> finished;
    while (!(finished = engine_->TakeFinished(seconds))) progress_.acquire();
    if (finished->checkpoint) saved.push_back(finished->version);
    TakeReplies(0);
  }
  EXPECT_THAT(saved, ElementsAre(4, 5, 8, 10)) << "11 s; 20 steps; 10 s more; 40 steps";
}

TEST_F(EngineTest, ACheckpointIsTakenInTheMemoryOfAnother) {
  JoinBoth({"checkpoint.every_steps=4"});
  StateCopy memory{.weights = std::vector<float>(kSize, 7.0f), .state = {}};
  const float* const where = memory.weights.data();
  engine_->Reuse(std::move(memory));
  for (const bool reused : {true, false}) {
    Push(Gradient(0));
    engine_->Advance();
    std::optional<Engine::Finished> finished;
    while (!(finished = engine_->TakeFinished(1))) progress_.acquire();
    ASSERT_TRUE(finished->checkpoint);
    const std::vector<float>& weights = finished->checkpoint->state.weights;
    EXPECT_EQ(weights.data() == where, reused);
    EXPECT_EQ(weights, std::vector<float>(kSize, reused ? -1.0f : -2.0f));
    TakeReplies(0);
  }
}

TEST_F(EngineTest, AGrantIsSentWhenItsVersionIsCompleted) {
  JoinBoth();
  Push(Gradient(0));
  engine_->Advance();  // decided: the next grant is made
  EXPECT_THAT(engine_->TakeReplies(1), IsEmpty());
  EXPECT_THAT(engine_->SentGrants(0), IsEmpty());
  Apply();
  TakeReplies(2);
  EXPECT_THAT(engine_->SentGrants(0), ElementsAre(grants_[0]));
}

}  // namespace
}  // namespace starling::learner
