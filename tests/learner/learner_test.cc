// The learner and its actors over a real socket.
#include "learner/learner.h"

#include <gmock/gmock.h>

#include "tests/support/learner_fixture.h"

namespace starling::learner {
namespace {

using testing::Each;
using testing::FloatNear;

using LearnerTest = LearnerFixture;

TEST_F(LearnerTest, OneGradientIsAppliedAnsweredAndCheckpointed) {
  const auto actor = StartWithActor();
  const wire::Grant grant = actor->NextGrant();
  EXPECT_EQ(grant.version, 0u);
  actor->Push(grant, 0.25f);
  const wire::Answer answer = actor->NextAnswer();
  ASSERT_EQ(answer.outcomes.size(), 1u);
  EXPECT_EQ(answer.outcomes[0],
            (wire::GradientOutcome{actor->header.sequence, wire::Outcome::kApplied, 0}));
  ASSERT_EQ(answer.grants.size(), 1u);
  EXPECT_EQ(answer.grants[0].version, 1u);
  Stop();
  const Checkpoint last = LastCheckpoint();
  EXPECT_EQ(last.version, 1u);
  EXPECT_EQ(last.steps, 4u);
  EXPECT_THAT(last.weights, Each(FloatNear(-0.25f, 1e-6f)));
  EXPECT_FALSE(over_);
}

// The queue of a connection has room for eight messages.
TEST_F(LearnerTest, AnActorMayHaveSixteenGradientsAnsweredAtOnce) {
  const auto actor = StartWithActor(
      "updates.start_with=1\nupdates.in_flight=16\nupdates.gradients=16\nactors.count=1");
  constexpr int kRounds = 20;
  for (int round = 0; round < kRounds; ++round) {
    for (int i = 0; i < 16; ++i) actor->Push(actor->NextGrant(), 0.25f);
  }
  for (int i = 0; i < 16; ++i) actor->NextGrant();
  EXPECT_EQ(actor->outcomes, std::vector(16 * kRounds, wire::Outcome::kMerged));
  Stop();
  EXPECT_EQ(counters().updates, static_cast<std::uint64_t>(kRounds));
}

TEST_F(LearnerTest, TheRunEndsAtTheFirstUpdateWithEnoughSteps) {
  const auto actor = StartWithActor("run.steps=10\nupdates.start_with=1");
  for (int i = 0; i < 3; ++i) actor->Push(actor->NextGrant(), 1.0f);  // 4 samples each
  EXPECT_EQ(actor->NextLeave().reason, wire::LeaveReason::kRunOver);
  Wait();
  EXPECT_TRUE(over_);
  EXPECT_EQ(LastCheckpoint().steps, 12u);
  EXPECT_EQ(final_status_["phase"], "done");
}

TEST_F(LearnerTest, TheStatusReportsTheProgressOfEachActor) {
  Start();
  const auto a = NewActor(0);
  const wire::Grant early = a->NextGrant();
  const auto b = NewActor(7);
  for (int i = 0; i < 2; ++i) b->Push(b->NextGrant(), 1.0f, 8);
  b->NextGrant();
  a->Push(early, 1.0f);
  a->NextGrant();
  Stop();
  EXPECT_EQ(final_status_["version"], 3);
  const auto& rows = final_status_["joined"];
  ASSERT_EQ(rows.size(), 2u);
  // Accepted, steps, base version of the newest, staleness, milliseconds waited.
  const auto text = [](const nlohmann::ordered_json& row) { return row.dump(); };
  const std::string term = std::to_string(1 << 16);
  EXPECT_EQ(text(rows[0]), "[0," + term + ",1,4,0,2,0]");
  EXPECT_EQ(text(rows[1]), "[7," + term + ",2,16,1,0,0]");
}

TEST_F(LearnerTest, TheStatusReportsTheTimesOfActorsAndLearner) {
  const auto actor = StartWithActor();
  for (int i = 0; i < 2; ++i) {
    const wire::Grant grant = actor->NextGrant();
    actor->header.version = grant.version;
    actor->Send(wire::Gradient{.grant = grant.number,
                               .samples = 4,
                               .wait_us = 1'000'000,
                               .refresh_us = 2'000'000,
                               .act_us = 3'000'000,
                               .act_wait_us = 6'000'000,
                               .gradient_us = 4'000'000,
                               .push_us = 5'000'000},
                std::vector<float>(kFloats, 0.5f));
  }
  actor->NextGrant();  // both are applied
  Stop();
  const auto& time = final_status_["time"];
  EXPECT_EQ(time["actors"].dump(),
            R"({"wait":2.0,"refresh":4.0,"act":6.0,"act_wait":12.0,"gradient":8.0,"push":10.0})");
  for (const char* key : {"receive", "dispatch", "idle", "lanes"}) {
    EXPECT_GT(time["learner"][key].get<double>(), 0) << key;
  }
}

TEST_F(LearnerTest, ReportsTheEndOfTheRunBeforeTheLastCheckpoint) {
  const auto actor = StartWithActor("run.steps=4\nupdates.start_with=1");
  actor->Push(actor->NextGrant(), 1.0f);
  Wait();
  ASSERT_TRUE(done_status_.is_object());
  EXPECT_EQ(done_status_["final"], false);
  EXPECT_EQ(done_status_["steps"], 4);
  EXPECT_LE(checkpoints_when_done_, 1u);  // version 0, if it is written already
  EXPECT_EQ(final_status_["checkpoint"], "checkpoints/" + CheckpointName(1, 1));
}

TEST_F(LearnerTest, ANewActorInATakenSlotReplacesTheOldOne) {
  Start("staleness.bound=0");
  const auto a = NewActor(0), old = NewActor(1);
  const wire::Grant unspent = old->NextGrant();
  const auto fresh = NewActor(1);
  EXPECT_GT(fresh->header.incarnation, old->header.incarnation);
  EXPECT_EQ(old->NextLeave().reason, wire::LeaveReason::kRefused);
  old->Push(unspent, 7.0f);
  EXPECT_EQ(old->NextOutcome().outcome, wire::Outcome::kOldIncarnation);
  a->Push(a->NextGrant(), 1.0f);
  fresh->Push(fresh->NextGrant(), 1.0f);
  EXPECT_EQ(a->NextGrant().version, 1u);
}

// Its slot, incarnation and term equal those of a member; only the session differs.
TEST_F(LearnerTest, AnActorOfAnEarlierRunReplacesNoMember) {
  Start("staleness.bound=0");
  const auto a = NewActor(0), b = NewActor(1);
  a->Push(a->NextGrant(), 1.0f);
  FakeActor stray(Endpoint(), kFloats);
  stray.header = a->header;
  ++stray.header.session;
  stray.Beat();
  const auto heard = stray.Wait(wire::Kind::kHeartbeat);
  ASSERT_TRUE(heard);
  EXPECT_EQ(heard->header.incarnation, 0u);
  EXPECT_EQ(heard->header.session, a->header.session);
  b->Push(b->NextGrant(), 1.0f);
  EXPECT_EQ(a->NextGrant().version, 1u);
}

// An actor that did not ask for its slot may take another one. An actor that asked for it is
// replaced by the newer actor with the same setting.
TEST_F(LearnerTest, AReplacedActorMayRejoinUnlessItAskedForItsSlot) {
  Start();
  const auto any = NewActor(), asked = NewActor(1);
  ASSERT_EQ(any->header.slot, 0u);
  const auto taker = NewActor(0), other_taker = NewActor(1);
  EXPECT_EQ(any->NextLeave().reason, wire::LeaveReason::kLeaving);
  EXPECT_EQ(asked->NextLeave().reason, wire::LeaveReason::kRefused);
}

TEST_F(LearnerTest, WeightsCanBeFetched) {
  const auto actor = StartWithActor();
  const auto grant = actor->NextGrant();
  const auto fetch = [&](std::uint64_t version, float value) {
    actor->Send(wire::Fetch{.version = version});
    const auto weights = actor->Wait(wire::Kind::kWeights);
    ASSERT_TRUE(weights);
    EXPECT_EQ(weights->header.version, version);
    EXPECT_EQ(std::get<wire::Weights>(weights->body).steps, 4 * version);
    EXPECT_THAT(weights->tensor, Each(FloatNear(value, 1e-6f)));
  };
  fetch(0, 0);
  actor->Push(grant, 0.5f);
  actor->NextGrant();
  fetch(1, -0.5f);
  fetch(1, -0.5f);  // the same version again
}

// Two gradients are under way: the second one's version is not the newest any more.
TEST_F(LearnerTest, WithADelayTheVersionThatIsAskedForIsFetched) {
  Start("staleness.delay=1\nwire.endpoint=tcp://127.0.0.1:0");
  const auto first = NewActor(0), second = NewActor(1);
  first->Push(first->NextGrant(), 0.5f);
  EXPECT_EQ(first->NextGrant().version, 1u);
  const wire::Grant grant = second->NextGrant();
  ASSERT_EQ(grant.version, 0u);
  const auto fetch = [&](std::uint64_t version) {
    second->Send(wire::Fetch{.version = version});
    const auto weights = second->Wait(wire::Kind::kWeights);
    EXPECT_TRUE(weights);
    return weights ? weights->header.version : 99;
  };
  EXPECT_EQ(fetch(0), 0u);
  EXPECT_EQ(fetch(1), 1u);
  EXPECT_EQ(fetch(7), 1u) << "one that is not there: the newest";
  second->Push(grant, 0.5f);
  EXPECT_EQ(second->NextGrant().version, 2u);
}

// An actor that has no grant left waits for the next one and for its weights: they come together.
TEST_F(LearnerTest, OverTcpWeightsFollowTheGrantIfTheGradientWantsThemAndNoMemoryIsShared) {
  const auto actor = StartWithActor("updates.start_with=1\nwire.endpoint=tcp://127.0.0.1:0");
  EXPECT_EQ(actor->welcome.snapshot, "");
  actor->wants_weights = true;
  actor->Push(actor->NextGrant(), 0.5f);
  const auto answer = actor->NextAnswer();
  EXPECT_EQ(answer.weights, 1u);
  ASSERT_EQ(answer.grants.size(), 1u);
  const auto weights = actor->Wait(wire::Kind::kWeights);
  ASSERT_TRUE(weights);
  EXPECT_EQ(weights->header.version, 1u);
  EXPECT_THAT(weights->tensor, Each(FloatNear(-0.5f, 1e-6f)));
  actor->wants_weights = false;
  actor->Push(answer.grants[0], 0.5f);
  EXPECT_EQ(actor->NextAnswer().weights, 0u);
  EXPECT_EQ(wire::RuntimeDir::FindSnapshot(root(), dir_.path()), std::nullopt);
}

}  // namespace
}  // namespace starling::learner
