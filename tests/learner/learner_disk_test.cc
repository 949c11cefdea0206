// The files of a learner: journal, checkpoints, metrics; and resuming from them.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/error.h"
#include "learner/learner.h"
#include "learner/storage/journal_reader.h"
#include "tests/support/count_in.h"
#include "tests/support/learner_fixture.h"
#include "tests/support/own_disk.h"
#include "tests/support/slow_disk.h"

namespace starling::learner {
namespace {

using testing::Each;
using testing::FloatNear;

class LearnerDiskTest : public LearnerFixture {
 protected:
  // Ends a run of one update.
  void FinishARun() {
    Start("run.steps=4\nupdates.start_with=1");
    {
      const auto actor = NewActor();
      actor->Push(actor->NextGrant(), 0.25f);
      Wait();
    }
    Discard();
  }
};

TEST_F(LearnerDiskTest, AFailedCheckpointIsReportedAndALaterOneIsWritten) {
  testing::internal::CaptureStderr();
  Start("updates.start_with=1\ncheckpoint.every_steps=1\ncheckpoint.keep=1000");
  // A directory blocks the name of the checkpoint of version 1.
  std::filesystem::create_directories(dir_ / "checkpoints" / CheckpointName(1, 1) / "in the way");
  const auto newest = [this] {
    const auto files = ListCheckpoints(dir_ / "checkpoints");
    return files.empty() ? std::string() : files.back().filename().string();
  };
  // Until version 0 is written, version 1 could be skipped because the writer is busy.
  while (newest() != CheckpointName(1, 0)) std::this_thread::yield();
  const auto actor = NewActor();
  const auto later = [&] { return newest() > CheckpointName(1, 1); };
  // Checkpoints are skipped while the writer is busy, so push until a later one is written.
  for (int i = 0; i < 100'000 && !later(); ++i) actor->Push(actor->NextGrant(), 0.0f);
  EXPECT_TRUE(later());
  Stop();
  const std::string log = testing::internal::GetCapturedStderr();
  EXPECT_EQ(CountIn(log, "no checkpoint of version 1: "), 1u) << log;
  EXPECT_EQ(learner_->checkpoint_error(), "");
}

TEST_F(LearnerDiskTest, ASlowDiskIsReportedAtALimitedRate) {
  Start("updates.start_with=1\ncheckpoint.every_steps=1\ncheckpoint.keep=1");
  SlowDisk disk(dir_.path());
  testing::internal::CaptureStderr();
  const SteadyClock clock;
  const std::int64_t begin = clock.NowMs();
  const auto actor = NewActor();
  for (int i = 0; i < 50; ++i) actor->Push(actor->NextGrant(), 0.0f);
  actor->NextGrant();
  const auto periods = static_cast<std::size_t>((clock.NowMs() - begin) / 10'000);
  while (!disk.TryEnd()) std::this_thread::yield();
  Stop();
  const std::string log = testing::internal::GetCapturedStderr();
  EXPECT_THAT(CountIn(log, "the disk is slower than checkpoint.every_steps = 1"),
              testing::AllOf(testing::Ge(1u), testing::Le(periods + 1)))
      << log;
  EXPECT_EQ(LastCheckpoint().version, 50u);
}

TEST_F(LearnerDiskTest, ALastCheckpointIsReportedWhileItIsWritten) {
  Start("updates.start_with=1\ncheckpoint.keep=1");
  TrainOnce();
  SlowDisk disk(dir_.path());
  AskToStop();
  const auto saving = [&] {
    return LastPublished() ? LastPublished()->status.saving : std::nullopt;
  };
  while (!saving()) std::this_thread::yield();
  EXPECT_GT(saving()->size, kFloats * sizeof(float));
  for (const int before = statuses_; statuses_ < before + 3;) std::this_thread::yield();
  while (!disk.TryEnd()) std::this_thread::yield();
  Wait();
  EXPECT_FALSE(saving()) << "it is written";
  EXPECT_EQ(LastCheckpoint().version, 1u);
}

// Without it the updates since the checkpoint before are lost.
TEST_F(LearnerDiskTest, ALastCheckpointWaitsForRoom) {
  const OwnDisk disk(dir_.path(), 1);
  if (!disk.trouble().empty()) GTEST_SKIP() << "no disk of our own here: " << disk.trouble();
  Start("updates.start_with=1");
  TrainOnce();
  while (ListCheckpoints(dir_ / "checkpoints").empty()) std::this_thread::yield();
  const auto filler = dir_ / "filler";
  disk.Fill(filler);
  testing::internal::CaptureStderr();
  AskToStop();
  const auto waited = [&] {
    const auto last = LastPublished();
    return last && last->status.saving ? last->status.saving->waited : 0;
  };
  while (waited() == 0) std::this_thread::yield();
  std::filesystem::remove(filler);
  Wait();
  EXPECT_EQ(learner_->checkpoint_error(), "");
  EXPECT_EQ(LastCheckpoint().version, 1u);
  const std::string log = testing::internal::GetCapturedStderr();
  EXPECT_EQ(CountIn(log, "no checkpoint of version 1: "), 1u) << log;
  EXPECT_EQ(CountIn(log, "the last checkpoint is tried again for 10 minutes"), 1u) << log;
}

// ---- resuming

TEST_F(LearnerDiskTest, ResumesInANewTerm) {
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

TEST_F(LearnerDiskTest, TheCountersOfACheckpointMatchItsVersion) {
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

TEST_F(LearnerDiskTest, AnActorOfAnOldTermIsRefused) {
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
  EXPECT_EQ(std::get<wire::Answer>(answer->body).outcomes.at(0).outcome, wire::Outcome::kOtherTerm);
  EXPECT_NE(answer->header.term, header.term);
  Stop();
  EXPECT_THAT(LastCheckpoint().weights, Each(0.0f));
  EXPECT_EQ(Dropped("other_term"), 1u);
}

TEST_F(LearnerDiskTest, ADamagedCheckpointIsSkippedForTheOneBefore) {
  Start();
  TrainOnce();
  Discard();
  const auto files = ListCheckpoints(dir_ / "checkpoints");
  ASSERT_EQ(files.size(), 2u);  // version 0 and the last
  std::filesystem::resize_file(files.back(), std::filesystem::file_size(files.back()) - 1);
  testing::internal::CaptureStderr();
  Start("updates.start_with=1", true);
  EXPECT_EQ(NewActor()->NextGrant().version, 0u);
  Stop();
  const std::string log = testing::internal::GetCapturedStderr();
  EXPECT_THAT(log, testing::HasSubstr(files.front().filename().string()));
  EXPECT_THAT(log, testing::HasSubstr(files.back().filename().string()));
}

TEST_F(LearnerDiskTest, AFinishedRunEndsAtOnceWhenResumed) {
  FinishARun();
  Start("run.steps=4", true);
  Wait();
  EXPECT_TRUE(over_);
  EXPECT_EQ(LastCheckpoint().steps, 4u);
}

TEST_F(LearnerDiskTest, ATrainedRunIsNotStartedAgain) {
  FinishARun();
  EXPECT_THROW(Start("run.steps=4"), UserError);
  EXPECT_EQ(LastCheckpoint().steps, 4u);
}

TEST_F(LearnerDiskTest, ASecondLearnerOfALiveRunIsRefused) {
  const auto actor = StartWithActor();
  actor->Push(actor->NextGrant(), 0.25f);
  const wire::Grant next = actor->NextGrant();
  EXPECT_THROW(Learner(config_, SmallNet(), {.run_dir = dir_.path(), .resume = true}), UserError);
  actor->Push(next, 0.25f);
  EXPECT_EQ(actor->NextGrant().version, 2u);
  Stop();
  JournalReader journal(dir_ / "journal");
  std::uint64_t updates = 0;
  while (const auto record = journal.Next())
    updates += std::holds_alternative<UpdateRecord>(*record);
  EXPECT_EQ(journal.ending(), JournalEnding::kEnd);
  EXPECT_EQ(updates, 2u);
}

TEST_F(LearnerDiskTest, WritesALineOfMetricsEveryInterval) {
  Start("run.metrics_s=0.2");  // the interval of its reports
  for (int seen = 0; (seen = statuses_) < 4;) statuses_.wait(seen);
  Stop();
  const std::string metrics = dir_.Read("metrics.jsonl");
  EXPECT_GE(CountIn(metrics, "\n"),
            static_cast<std::size_t>(statuses_ - 1));  // not the last report
}

}  // namespace
}  // namespace starling::learner
