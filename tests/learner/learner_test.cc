// The learner's dealings with its actors: what it applies, what it answers, whom it waits for.
#include "learner/learner.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/error.h"
#include "tests/support/learner_fixture.h"

namespace starling::learner {
namespace {

using testing::Each;
using testing::FloatNear;

class LearnerTest : public LearnerFixture {
 protected:
  static std::size_t Count(const std::string& text, const std::string& word) {
    std::size_t count = 0;
    for (std::size_t at = 0; (at = text.find(word, at)) != std::string::npos; ++at) ++count;
    return count;
  }
};

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
  good->Push(good->NextGrant(), 1.0f);
  hung->Beat();
  EXPECT_EQ(good->NextGrant().version, 1u);  // went on without the other
  hung->Push(unspent, 1.0f);                 // wakes up too late
  EXPECT_EQ(hung->NextAnswer().outcome, wire::Outcome::kNoGrant);
  Stop();
  EXPECT_GE(counters().deadlines, 1u);
  EXPECT_EQ(Dropped("no_grant"), 1u);
}

TEST_F(LearnerTest, ALateActorIsGrantedAgain) {
  Start("staleness.bound=0\nstaleness.deadline_s=0.3\nwire.timeout_s=60");
  const auto good = NewActor(), hung = NewActor();
  const wire::Grant unspent = hung->NextGrant();
  good->Push(good->NextGrant(), 1.0f);
  const wire::Grant second = good->NextGrant();
  hung->Push(unspent, 1.0f);
  const wire::Grant again = hung->NextGrant();
  EXPECT_EQ(hung->outcomes, std::vector{wire::Outcome::kNoGrant});
  hung->Push(again, 1.0f);
  good->Push(second, 1.0f);
  EXPECT_GE(hung->NextGrant().version, 2u);
}

TEST_F(LearnerTest, ASilentActorIsGivenUpAndTheOthersGoOn) {
  Start("staleness.bound=0\nstaleness.deadline_s=600\nwire.timeout_s=0.5\nwire.heartbeat_ms=100");
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

TEST_F(LearnerTest, StartsWithThoseWhoCameInTime) {
  Start("actors.count=5\nupdates.start_timeout_s=0.2");
  const auto only = NewActor();
  only->Push(only->NextGrant(), 1.0f);
  EXPECT_EQ(only->NextGrant().version, 1u);
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
  fetch(1, -0.5f);  // what was sent once is sent again
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

// ---- the disk

TEST_F(LearnerTest, AJournalOnAFullDiskIsSaidOnceAndTheTrainingGoesOn) {
  if (!std::filesystem::exists("/dev/full")) GTEST_SKIP() << "no /dev/full here";
  std::filesystem::create_symlink("/dev/full", dir_ / "journal");
  testing::internal::CaptureStderr();
  Start();
  const auto actor = NewActor();
  for (int i = 0; i < 20; ++i) actor->Push(actor->NextGrant(), 1.0f);
  EXPECT_EQ(actor->NextGrant().version, 20u);
  Stop();
  const std::string said = testing::internal::GetCapturedStderr();
  EXPECT_EQ(Count(said, "the journal is not complete, this run cannot be replayed"), 1u) << said;
  EXPECT_THAT(said, testing::HasSubstr("No space left on device"));
  EXPECT_EQ(LastCheckpoint().version, 20u);
}

TEST_F(LearnerTest, ACheckpointThatFailsIsSaidAndTheNextIsTriedAgain) {
  testing::internal::CaptureStderr();
  Start("updates.start_with=1\ncheckpoint.every_steps=1\ncheckpoint.keep=1000");
  // A directory is where the file of version 1 must go.
  std::filesystem::create_directories(dir_ / "checkpoints" / CheckpointName(1, 1) / "in the way");
  const auto actor = NewActor();
  const auto later = [this] {
    const auto files = ListCheckpoints(dir_ / "checkpoints");
    return files.back().filename() > CheckpointName(1, 1);
  };
  // Those that come while one is being written are left out: until one comes in time.
  for (int i = 0; i < 100'000 && !later(); ++i) actor->Push(actor->NextGrant(), 0.0f);
  EXPECT_TRUE(later());
  Stop();
  const std::string said = testing::internal::GetCapturedStderr();
  EXPECT_EQ(Count(said, "no checkpoint of version 1: "), 1u) << said;
  EXPECT_EQ(learner_->checkpoint_trouble(), "");
}

TEST_F(LearnerTest, ADiskThatIsTooSlowIsSaidWithALimit) {
  Start("updates.start_with=1\ncheckpoint.every_steps=1\ncheckpoint.keep=1");
  // Who looks for the newest checkpoint waits here until there is someone to write.
  const std::filesystem::path pipe = dir_ / "checkpoints" / CheckpointName(9, 1);
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  testing::internal::CaptureStderr();
  const SteadyClock clock;
  const std::int64_t begin = clock.NowMs();
  const auto actor = NewActor();
  for (int i = 0; i < 50; ++i) actor->Push(actor->NextGrant(), 0.0f);
  actor->NextGrant();
  const auto periods = static_cast<std::size_t>((clock.NowMs() - begin) / 10'000);
  const int fd = open(pipe.c_str(), O_WRONLY | O_CLOEXEC);
  std::filesystem::remove(pipe);
  close(fd);
  Stop();
  const std::string said = testing::internal::GetCapturedStderr();
  EXPECT_THAT(Count(said, "the disk is slower than checkpoint.every_steps = 1"),
              testing::AllOf(testing::Ge(1u), testing::Le(periods + 1)))
      << said;
  EXPECT_EQ(LastCheckpoint().version, 50u);
}

// ---- resuming

TEST_F(LearnerTest, ResumesWhereItStoppedInANewTerm) {
  Start();
  auto actor = NewActor();
  actor->Push(actor->NextGrant(), 0.25f);
  actor->NextGrant();
  const std::uint32_t first_term = actor->header.term;
  actor.reset();
  Discard();
  Start("updates.start_with=1", true);
  actor = NewActor();
  EXPECT_GT(actor->header.term, first_term);
  const wire::Grant grant = actor->NextGrant();
  EXPECT_EQ(grant.version, 1u);
  actor->Push(grant, 0.25f);
  actor->NextGrant();
  Stop();
  EXPECT_THAT(LastCheckpoint().weights, Each(FloatNear(-0.5f, 1e-6f)));
  EXPECT_EQ(counters().applied, 2u);
  EXPECT_EQ(counters().received, 2u);
}

TEST_F(LearnerTest, ACheckpointsCountersAreThoseOfItsVersion) {
  // A checkpoint every update; two actors keep updates in the lanes while one is being written.
  Start("checkpoint.every_steps=1\ncheckpoint.keep=100\nrun.steps=160");
  const auto a = NewActor(), b = NewActor();
  for (int i = 0; i < 20; ++i) {
    a->Push(a->NextGrant(), 0.0f);
    b->Push(b->NextGrant(), 0.0f);
  }
  Wait();
  for (const auto& path : ListCheckpoints(dir_ / "checkpoints")) {
    const Checkpoint checkpoint = ReadCheckpoint(path);
    EXPECT_EQ(Counters::Restore(checkpoint.counters).updates, checkpoint.version) << path;
    EXPECT_EQ(Counters::Restore(checkpoint.counters).applied * 4, checkpoint.steps) << path;
  }
}

TEST_F(LearnerTest, AnActorOfTheTermBeforeIsToldAndRefused) {
  Start();
  auto old = NewActor();
  const wire::Grant grant = old->NextGrant();
  const wire::Header header = old->header;
  old.reset();
  Discard();
  Start("updates.start_with=1", true);
  const auto peer = NewPeer();
  peer->header = header;
  peer->Push(grant, 9.0f);
  const auto answer = peer->Wait(wire::Kind::kAnswer);
  ASSERT_TRUE(answer);
  EXPECT_EQ(std::get<wire::Answer>(answer->body).outcome, wire::Outcome::kOtherTerm);
  EXPECT_NE(answer->header.term, header.term);
  Stop();
  EXPECT_THAT(LastCheckpoint().weights, Each(0.0f));
  EXPECT_EQ(Dropped("other_term"), 1u);
}

TEST_F(LearnerTest, ADamagedCheckpointIsPassedOverForTheOneBefore) {
  Start();
  auto actor = NewActor();
  actor->Push(actor->NextGrant(), 0.25f);
  actor->NextGrant();
  actor.reset();
  Discard();
  const auto files = ListCheckpoints(dir_ / "checkpoints");
  ASSERT_EQ(files.size(), 2u);  // version 0 and the last
  std::filesystem::resize_file(files.back(), std::filesystem::file_size(files.back()) - 1);
  testing::internal::CaptureStderr();
  Start("updates.start_with=1", true);
  actor = NewActor();
  EXPECT_EQ(actor->NextGrant().version, 0u);
  Stop();
  const std::string said = testing::internal::GetCapturedStderr();
  EXPECT_THAT(said, testing::HasSubstr(files.front().filename().string()));
  EXPECT_THAT(said, testing::HasSubstr(files.back().filename().string()));
}

TEST_F(LearnerTest, ARunThatIsDoneEndsAtOnceWhenItIsResumed) {
  Start("run.steps=4\nupdates.start_with=1");
  auto actor = NewActor();
  actor->Push(actor->NextGrant(), 0.25f);
  Wait();
  actor.reset();
  Discard();
  Start("run.steps=4", true);
  Wait();
  EXPECT_TRUE(over_);
  EXPECT_EQ(LastCheckpoint().steps, 4u);
}

TEST_F(LearnerTest, ATrainedRunIsNotBegunAgain) {
  Start("run.steps=4\nupdates.start_with=1");
  auto actor = NewActor();
  actor->Push(actor->NextGrant(), 0.25f);
  Wait();
  actor.reset();
  Discard();
  EXPECT_THROW(Start("run.steps=4"), UserError);
  EXPECT_EQ(LastCheckpoint().steps, 4u);
}

TEST_F(LearnerTest, AnotherSeedIsAnotherRun) {
  Start();
  Discard();
  EXPECT_THROW(Start("run.seed=2", true), UserError);
}

TEST_F(LearnerTest, ASecondLearnerOfALiveRunIsRefusedAndHarmsNothing) {
  Start();
  const auto actor = NewActor();
  actor->Push(actor->NextGrant(), 0.25f);
  const wire::Grant next = actor->NextGrant();
  EXPECT_THROW(Learner(config_, Blueprint(), {.run_dir = dir_.path(), .resume = true}), UserError);
  actor->Push(next, 0.25f);
  EXPECT_EQ(actor->NextGrant().version, 2u);
  Stop();
  JournalReader journal(dir_ / "journal");
  std::uint64_t updates = 0;
  while (const auto record = journal.Next())
    updates += std::holds_alternative<UpdateRecord>(*record);
  EXPECT_EQ(journal.ending(), JournalReader::Ending::kEnd);
  EXPECT_EQ(updates, 2u);
}

TEST_F(LearnerTest, WritesALineOfMetricsAsOftenAsItIsAskedTo) {
  Start("run.metrics_s=0.2");  // as often as it reports while it runs
  for (int seen = 0; (seen = statuses_) < 4;) statuses_.wait(seen);
  Stop();
  const std::string metrics = dir_.Read("metrics.jsonl");
  EXPECT_GE(Count(metrics, "\n"), static_cast<std::size_t>(statuses_ - 1));  // not the farewell
}

}  // namespace
}  // namespace starling::learner
