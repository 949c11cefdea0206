// The learner and its actors: applied updates, answers, waits.
#include "learner/learner.h"

#include <gmock/gmock.h>

#include <algorithm>

#include "tests/support/learner_fixture.h"

namespace starling::learner {
namespace {

using testing::Each;
using testing::FloatNear;

using LearnerTest = LearnerFixture;

TEST_F(LearnerTest, OneGradientIsAppliedAnsweredAndCheckpointed) {
  Start();
  const auto actor = NewActor();
  const wire::Grant grant = actor->NextGrant();
  EXPECT_EQ(grant.version, 0u);
  actor->Push(grant, 0.25f);
  const wire::Answer answer = actor->NextAnswer();
  EXPECT_EQ(answer.answers, actor->header.sequence);
  EXPECT_EQ(answer.outcome, wire::Outcome::kApplied);
  EXPECT_EQ(answer.staleness, 0u);
  ASSERT_EQ(answer.grants.size(), 1u);
  EXPECT_EQ(answer.grants[0].version, 1u);
  Stop();
  const Checkpoint last = LastCheckpoint();
  EXPECT_EQ(last.version, 1u);
  EXPECT_EQ(last.steps, 4u);
  EXPECT_THAT(last.weights, Each(FloatNear(-0.25f, 1e-6f)));
  EXPECT_FALSE(over_);
}

TEST_F(LearnerTest, BoundZeroAppliesTheWeightedMeanOfEveryActor) {
  Start("staleness.bound=0");
  const auto a = NewActor(), b = NewActor();
  a->Push(a->NextGrant(), 1.0f, 2);  // 1 env x 2 steps
  b->Push(b->NextGrant(), 2.0f, 6);  // 3 envs x 2 steps, more than actors.envs_per_actor
  EXPECT_EQ(a->NextGrant().version, 1u);
  EXPECT_EQ(b->NextGrant().version, 1u);
  EXPECT_EQ(a->outcomes.back(), wire::Outcome::kMerged);
  Stop();
  // 1/4 * 1 + 3/4 * 2 = 1.75
  EXPECT_THAT(LastCheckpoint().weights, Each(FloatNear(-1.75f, 1e-6f)));
  EXPECT_EQ(counters().merged, 2u);
  EXPECT_EQ(counters().updates, 1u);
  EXPECT_EQ(LastCheckpoint().steps, 8u);
}

TEST_F(LearnerTest, InverseDampingDividesTheStepByTheStaleness) {
  Start("staleness.damping=inverse");
  const auto a = NewActor(), b = NewActor();
  const wire::Grant old = b->NextGrant();
  for (int i = 0; i < 4; ++i) a->Push(a->NextGrant(), 0.0f);
  a->NextGrant();
  b->Push(old, 1.0f);  // four versions behind: a quarter of the step
  EXPECT_EQ(b->NextAnswer().staleness, 4u);
  Stop();
  EXPECT_THAT(LastCheckpoint().weights, Each(FloatNear(-0.25f, 1e-6f)));
}

TEST_F(LearnerTest, LinearScalingMultipliesTheStepByTheSamples) {
  Start("staleness.bound=0\noptimizer.scale_lr=linear");
  const auto a = NewActor(), b = NewActor();
  a->Push(a->NextGrant(), 1.0f, 4);
  b->Push(b->NextGrant(), 1.0f, 4);
  a->NextGrant();
  Stop();
  // 8 samples against envs_per_actor * unroll = 4: twice the learning rate.
  EXPECT_THAT(LastCheckpoint().weights, Each(FloatNear(-2.0f, 1e-6f)));
}

TEST_F(LearnerTest, LinearScalingCountsTheSamplesThatThereAre) {
  Start("staleness.bound=0\noptimizer.scale_lr=linear");
  const auto a = NewActor(), b = NewActor();
  a->Push(a->NextGrant(), 1.0f, 2);
  b->Push(b->NextGrant(), 2.0f, 6);
  a->NextGrant();
  Stop();
  // The mean 1/4 * 1 + 3/4 * 2 = 1.75, and (2 + 6) / 4 of the learning rate.
  EXPECT_THAT(LastCheckpoint().weights, Each(FloatNear(-3.5f, 1e-6f)));
}

TEST_F(LearnerTest, TheFirstUpdatesAreWarmedUpByTheirOwnSamples) {
  Start("updates.start_with=1\noptimizer.warmup_steps=8");
  const auto actor = NewActor();
  for (int i = 0; i < 3; ++i) actor->Push(actor->NextGrant(), 1.0f);  // 4 samples each
  actor->NextGrant();
  Stop();
  EXPECT_THAT(LastCheckpoint().weights, Each(FloatNear(-2.5f, 1e-6f)));  // 4/8 + 8/8 + 1
}

TEST_F(LearnerTest, DropRefusesTheStaleGradientAndGrantsAnew) {
  Start("staleness.bound=0\nstaleness.on_exceed=drop");
  const auto a = NewActor(), b = NewActor();
  const wire::Grant late = b->NextGrant();
  a->Push(a->NextGrant(), 1.0f);
  a->NextGrant();
  b->Push(late, 1.0f);
  EXPECT_EQ(b->NextGrant().version, 1u);
  EXPECT_EQ(b->outcomes, std::vector{wire::Outcome::kStale});
  Stop();
  EXPECT_THAT(LastCheckpoint().weights, Each(FloatNear(-1.0f, 1e-6f)));
  EXPECT_EQ(Dropped("stale"), 1u);
}

TEST_F(LearnerTest, TheRunEndsAtTheFirstUpdateWithEnoughSteps) {
  Start("run.steps=10\nupdates.start_with=1");
  const auto actor = NewActor();
  for (int i = 0; i < 3; ++i) actor->Push(actor->NextGrant(), 1.0f);  // 4 samples each
  const auto bye = actor->Wait(wire::Kind::kBye);
  ASSERT_TRUE(bye);
  EXPECT_EQ(std::get<wire::Bye>(bye->body).reason, wire::ByeReason::kRunOver);
  Wait();
  EXPECT_TRUE(over_);
  EXPECT_EQ(LastCheckpoint().steps, 12u);
  EXPECT_EQ(final_status_["phase"], "done");
}

TEST_F(LearnerTest, ItsStatusTellsHowFarEachActorIs) {
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
  const auto told = [](const nlohmann::ordered_json& row) { return row.dump(); };
  const std::string term = std::to_string(1 << 16);
  EXPECT_EQ(told(rows[0]), "[0," + term + ",1,4,0,2,0]");
  EXPECT_EQ(told(rows[1]), "[7," + term + ",2,16,1,0,0]");
}

TEST_F(LearnerTest, SaysThatTheRunIsOverBeforeItsLastCheckpoint) {
  Start("run.steps=4\nupdates.start_with=1");
  const auto actor = NewActor();
  actor->Push(actor->NextGrant(), 1.0f);
  Wait();
  ASSERT_TRUE(farewell_status_.is_object());
  EXPECT_EQ(farewell_status_["final"], false);
  EXPECT_EQ(farewell_status_["steps"], 4);
  EXPECT_LE(checkpoints_at_farewell_, 1u);  // that of version 0, if it is on the disk already
  EXPECT_EQ(final_status_["checkpoint"], "checkpoints/" + CheckpointName(1, 1));
}

TEST_F(LearnerTest, AnActorThatHangsButBeatsLosesItsGrantAtTheDeadline) {
  Start("staleness.bound=0\nstaleness.deadline_s=0.3\nwire.timeout_s=60");
  const auto good = NewActor(), hung = NewActor();
  const wire::Grant unspent = hung->NextGrant();
  wire::Grant grant = good->NextGrant();
  // Goes on without the other; more than once where this machine is late.
  for (int i = 0; i < 50 && grant.version == 0; ++i) {
    good->Push(grant, 1.0f);
    hung->Beat();
    grant = good->NextGrant();
  }
  EXPECT_EQ(grant.version, 1u);
  hung->Push(unspent, 1.0f);  // wakes up too late
  EXPECT_EQ(hung->NextAnswer().outcome, wire::Outcome::kNoGrant);
  Stop();
  EXPECT_GE(counters().deadlines, 1u);
  const auto late = std::ranges::count(good->outcomes, wire::Outcome::kNoGrant);
  EXPECT_EQ(Dropped("no_grant"), 1u + static_cast<std::uint64_t>(late));
}

TEST_F(LearnerTest, ALateActorIsGrantedAgain) {
  Start("staleness.bound=0\nstaleness.deadline_s=0.3\nwire.timeout_s=60");
  const auto good = NewActor(), hung = NewActor();
  const wire::Grant unspent = hung->NextGrant();
  good->Push(good->NextGrant(), 1.0f);
  const wire::Grant second = good->NextGrant();
  hung->Push(unspent, 1.0f);
  wire::Grant again = hung->NextGrant();
  EXPECT_EQ(hung->outcomes, std::vector{wire::Outcome::kNoGrant});
  good->Push(second, 1.0f);
  // More than once where this machine is late.
  for (int i = 0; i < 50 && again.version < 2; ++i) {
    hung->Push(again, 1.0f);
    again = hung->NextGrant();
  }
  EXPECT_GE(again.version, 2u);
}

TEST_F(LearnerTest, ASilentActorIsGivenUpAndTheOthersGoOn) {
  Start("staleness.bound=0\nstaleness.deadline_s=600\nwire.timeout_s=2\nwire.heartbeat_ms=100");
  const auto good = NewActor(), dead = NewActor();
  dead->NextGrant();
  good->Push(good->NextGrant(), 1.0f);
  EXPECT_EQ(good->NextGrant().version, 1u);
  Stop();
  EXPECT_EQ(final_status_["actors_alive"], 1);
}

TEST_F(LearnerTest, ANewActorInATakenSlotReplacesTheOldOne) {
  Start("staleness.bound=0");
  const auto a = NewActor(0), old = NewActor(1);
  const wire::Grant unspent = old->NextGrant();
  const auto fresh = NewActor(1);
  EXPECT_GT(fresh->header.incarnation, old->header.incarnation);
  const auto bye = old->Wait(wire::Kind::kBye);
  ASSERT_TRUE(bye);
  EXPECT_EQ(std::get<wire::Bye>(bye->body).reason, wire::ByeReason::kRefused);
  old->Push(unspent, 7.0f);
  EXPECT_EQ(old->NextAnswer().outcome, wire::Outcome::kOldIncarnation);
  a->Push(a->NextGrant(), 1.0f);
  fresh->Push(fresh->NextGrant(), 1.0f);
  EXPECT_EQ(a->NextGrant().version, 1u);
}

// Its slot, incarnation and term are those of an actor of ours.
TEST_F(LearnerTest, AnActorOfARunThatHadTheEndpointBeforeTakesNobodysPlace) {
  Start("staleness.bound=0");
  const auto a = NewActor(0), b = NewActor(1);
  a->Push(a->NextGrant(), 1.0f);
  const auto found = wire::RunPlace::Find(wire::RuntimeRoot(config_.wire.runtime_dir), dir_.path());
  FakeActor stray(found.endpoint.value_or("ipc:///nowhere"), kFloats);
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

TEST_F(LearnerTest, StartsWithThoseWhoCameInTime) {
  Start("actors.count=5\nupdates.start_timeout_s=0.2");
  const auto only = NewActor();
  only->Push(only->NextGrant(), 1.0f);
  EXPECT_EQ(only->NextGrant().version, 1u);
}

// An actor without a slot of its own takes a free one; an actor that asks for a slot replaces the
// one in it.
TEST_F(LearnerTest, AnActorWhoseSlotIsTakenComesBackUnlessItHadAskedForIt) {
  Start();
  const auto any = NewActor(), asked = NewActor(1);
  ASSERT_EQ(any->header.slot, 0u);
  const auto reason = [&](FakeActor& actor) {
    const auto bye = actor.Wait(wire::Kind::kBye);
    EXPECT_TRUE(bye);
    return bye ? std::get<wire::Bye>(bye->body).reason : wire::ByeReason::kRunOver;
  };
  const auto taker = NewActor(0), other_taker = NewActor(1);
  EXPECT_EQ(reason(*any), wire::ByeReason::kLeaving);
  EXPECT_EQ(reason(*asked), wire::ByeReason::kRefused);
}

TEST_F(LearnerTest, WeightsCanBeFetched) {
  Start();
  const auto actor = NewActor();
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
  fetch(1, -0.5f);  // the same weights are sent again
}

// No request is needed: with one grant at a time an actor can do nothing before they arrive.
TEST_F(LearnerTest, OverTcpWeightsComeBehindTheOnlyGrant) {
  Start("updates.start_with=1\nwire.endpoint=tcp://127.0.0.1:0");
  const auto actor = NewActor();
  const auto follow = [&](std::uint64_t version, float value) {
    const auto weights = actor->Wait(wire::Kind::kWeights);
    ASSERT_TRUE(weights);
    EXPECT_EQ(weights->header.version, version);
    EXPECT_THAT(weights->tensor, Each(FloatNear(value, 1e-6f)));
  };
  const auto grant = actor->NextGrant();
  follow(0, 0);
  actor->Push(grant, 0.5f);
  EXPECT_EQ(actor->NextGrant().version, 1u);
  follow(1, -0.5f);
}

TEST_F(LearnerTest, OverTcpThereIsNoSharedMemoryToOffer) {
  Start("updates.start_with=1\nwire.endpoint=tcp://127.0.0.1:0");
  const auto actor = NewActor();
  EXPECT_EQ(actor->welcome.snapshot, "");
  actor->NextGrant();
  EXPECT_EQ(wire::RunPlace::FindSnapshot(wire::RuntimeRoot(config_.wire.runtime_dir), dir_.path()),
            std::nullopt);
}

// It plays on the learner's host, wherever the actors are.
TEST_F(LearnerTest, OverTcpTheEvaluatorFindsTheWeightsAllTheSame) {
  Start("updates.start_with=1\nwire.endpoint=tcp://127.0.0.1:0\neval.every_steps=4");
  const auto actor = NewActor();
  EXPECT_EQ(actor->welcome.snapshot, "");
  actor->Push(actor->NextGrant(), 0.5f);
  actor->NextGrant();
  const auto path =
      wire::RunPlace::FindSnapshot(wire::RuntimeRoot(config_.wire.runtime_dir), dir_.path());
  ASSERT_TRUE(path);
  const auto layout = Blueprint().layout;
  EXPECT_EQ(wire::SnapshotReader(*path, layout.size(), layout.fingerprint()).Peek()->steps, 4u);
}

}  // namespace
}  // namespace starling::learner
