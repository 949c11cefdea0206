// The tail of a journal is done again, or what is lost is named.
#include "core/error.h"
#include "core/file.h"
#include "core/instructions.h"
#include "learner/storage/run_lock.h"
#include "tests/support/error_of.h"
#include "tests/tools/replay/redo_fixture.h"

namespace starling::replay {
namespace {

using testing::AllOf;
using testing::ContainsRegex;
using testing::ElementsAre;
using testing::HasSubstr;

TEST_F(RedoTest, TheTailBecomesACheckpointOfItsTerm) {
  EXPECT_EQ(Redo(), kExitDone) << said_;
  EXPECT_THAT(said_, HasSubstr("redoing 3 updates (60 steps) after checkpoints/t0001-v000000000002"
                               ".safetensors"));
  ExpectRedone();
  EXPECT_EQ(Redo(), kExitDone);
  EXPECT_EQ(said_, "") << "nothing is left to do";
}

TEST_F(RedoTest, TheNextTermGoesOnFromItAndIsRedoneInItsTurn) {
  ASSERT_EQ(Redo(), kExitDone) << said_;
  run_.BeginTerm(5, end_);
  run_.Restore(0, wire::MakeIncarnation(1, 0)), run_.Restore(1, wire::MakeIncarnation(1, 0));
  run_.Train(1);
  run_.Flush();
  ASSERT_EQ(Redo(), kExitDone) << said_;
  EXPECT_EQ(Checkpoints().back().filename(), learner::CheckpointName(2, 6));

  JournalledRun whole;
  whole.BeginTerm();
  whole.Join(0), whole.Join(1);
  whole.Train(6);
  ExpectSame(run_.Replay(6), whole.Replay(6));
}

TEST_F(RedoTest, WithoutAnyCheckpointItBeginsWithTheFirstWeights) {
  std::filesystem::remove(At(2));
  EXPECT_EQ(Redo(), kExitDone) << said_;
  ExpectRedone();
}

TEST_F(RedoTest, ACheckpointWithoutStatesGetsThem) {
  auto last = run_.CheckpointAt(5, end_);
  last.actors.reset();
  learner::WriteCheckpoint(run_.checkpoints(), last);
  const std::string before = ReadFile(At(5));
  EXPECT_EQ(Redo(), kExitDone) << said_;
  ExpectRedone();
  EXPECT_EQ(ReadFile(At(5)), before);
}

// Ranks are started next, with their states: they make the same updates, all at once.
TEST_F(RedoTest, AfterADeathUpdatesAreLeftToRanks) {
  Set({"actors.count=2", "updates.exchange=allreduce", "staleness.bound=0"});
  ReplayOptions restart;
  restart.restart = true;
  EXPECT_EQ(Redo(restart), kExitDone);
  EXPECT_THAT(said_, HasSubstr("3 updates (60 steps) after checkpoints/t0001-v000000000002."
                               "safetensors are left to the ranks, which make the same ones "));
  EXPECT_THAT(Checkpoints(), ElementsAre(At(2)));
  // Not where one of them would have no state, and not before a resume, which may have changed
  // settings.
  std::filesystem::resize_file(learner::ActorStatesPath(At(2)), 40);
  EXPECT_NE(Redo(restart), kExitDone);
  EXPECT_THAT(said_, testing::Not(HasSubstr("left to the ranks")));
  learner::WriteCheckpoint(run_.checkpoints(), run_.CheckpointAt(2, cut_));
  Set("actors.count=3");
  Redo(restart);
  EXPECT_THAT(said_, testing::Not(HasSubstr("left to the ranks")));
}

TEST_F(RedoTest, AResumedRunOfRanksIsRedone) {
  Set({"actors.count=2", "updates.exchange=allreduce", "staleness.bound=0"});
  EXPECT_EQ(Redo(), kExitDone) << said_;
  EXPECT_THAT(said_, HasSubstr("redoing 3 updates"));
}

// An orderly stop that found no cut: actors had played on, and died.
TEST_F(RedoTest, ACheckpointFurtherBehindItsUpdateIsReplaced) {
  run_.Die(0), run_.Die(1);
  auto last = run_.CheckpointAt(5, run_.journal->position());
  last.actors.reset();
  learner::WriteCheckpoint(run_.checkpoints(), last);
  EXPECT_EQ(Redo(), kExitDone) << said_;
  ExpectRedone();
}

TEST_F(RedoTest, WhatIsLostIsNamed) {
  const std::string lost =
      "3 updates (60 steps) after checkpoints/t0001-v000000000002.safetensors cannot be redone: ";
  const struct {
    const char* setting;
    const char* why;
  } kCases[] = {
      {"checkpoint.exact=false", "checkpoint.exact = false"},
      {"learner.apply=hogwild", "hogwild"},
      {"learner.shards=2", "learner.shards = 2"},
      {Runs(Instructions::kNative) ? "actors.instructions=amx" : "actors.instructions=native",
       "its actors computed with actors.instructions = "},
      {"run.seed=4", "the journal and the configuration are not of one run"},
  };
  const std::string config = ReadFile(run_.dir / "config.toml");
  for (const auto& [setting, why] : kCases) {
    Set(setting);
    EXPECT_EQ(Redo(), kExitFailed);
    EXPECT_THAT(said_, HasSubstr(lost)) << setting;
    EXPECT_THAT(said_, HasSubstr(why)) << setting;
    run_.dir.Write("config.toml", config);
  }
  std::filesystem::remove(learner::ActorStatesPath(At(2)));
  EXPECT_EQ(Redo(), kExitFailed);
  EXPECT_THAT(said_, HasSubstr(lost + "no checkpoint has the states of its actors"));
  EXPECT_THAT(Checkpoints(), ElementsAre(At(2)));
}

TEST_F(RedoTest, OtherBitsThanTheRunsAreNotWritten) {
  run_.journal->Append(learner::HashRecord{5, 1234});
  run_.Flush();
  EXPECT_EQ(Redo(), kExitFailed);
  EXPECT_THAT(
      said_,
      HasSubstr("cannot be redone: the weights of version 5 are not those that the run had"));
  EXPECT_THAT(Checkpoints(), ElementsAre(At(2)));
}

TEST_F(RedoTest, OtherGradientsThanTheRunsAreNotApplied) {
  run_.Arrive(1, wire::Outcome::kNone, /*norm=*/123), run_.Update();
  run_.Flush();
  EXPECT_EQ(Redo(), kExitFailed);
  EXPECT_THAT(said_, HasSubstr("a gradient of actor 1 on version 5 is not the one that the run "
                               "had"));
  EXPECT_THAT(Checkpoints(), ElementsAre(At(2)));
}

// Each reading is ten seconds after the one before.
class HurryingClock final : public Clock {
 public:
  std::int64_t NowNs() const override { return now_ns_ += 10'000'000'000; }

 private:
  mutable std::int64_t now_ns_ = 0;
};

TEST_F(RedoTest, OneThatWouldTakeTooLongIsGivenUp) {
  Set("checkpoint.redo_s=1");  // ten times that is the limit
  EXPECT_EQ(Redo(HurryingClock()), kExitFailed);
  EXPECT_THAT(said_, testing::ContainsRegex("3 updates .* cannot be redone: it would take [0-9:]+ "
                                            "\\(raise checkpoint.redo_s to wait so long\\)"));
  Set("checkpoint.redo_s=100");
  EXPECT_EQ(Redo(HurryingClock()), kExitDone) << said_;
  // Without a checkpoint no run could go on.
  Set("checkpoint.redo_s=0.001");
  std::filesystem::remove_all(run_.checkpoints());
  EXPECT_EQ(Redo(HurryingClock()), kExitDone) << said_;
}

TEST_F(RedoTest, UpToTheDamageOfAJournal) {
  run_.Arrive(1), run_.Update();
  run_.Flush();
  const auto segment = learner::ListSegments(run_.dir / "journal").front().path;
  std::string bytes = ReadFile(segment);
  bytes[end_.offset + 20] ^= 1;
  WriteFileAtomically(segment, bytes);
  EXPECT_EQ(Redo(), kExitFailed);
  EXPECT_THAT(said_,
              HasSubstr("what came after version 5 cannot be redone: the journal is damaged at " +
                        segment.string() + ", byte "));
  EXPECT_EQ(Checkpoints().back(), At(5));
}

TEST_F(RedoTest, ASegmentWhoseHeaderIsDamagedIsNamed) {
  run_.BeginTerm(5, end_);
  run_.Restore(0, wire::MakeIncarnation(1, 0)), run_.Restore(1, wire::MakeIncarnation(1, 0));
  run_.Train(1);
  run_.Flush();
  const auto segment = learner::ListSegments(run_.dir / "journal").back().path;
  std::string bytes = ReadFile(segment);
  bytes[3] ^= 1;
  WriteFileAtomically(segment, bytes);
  EXPECT_EQ(Redo(), kExitFailed);
  EXPECT_THAT(said_, HasSubstr("the journal is damaged at " + segment.string() + ", byte 0"));
  EXPECT_THAT(said_, testing::Not(HasSubstr("nothing is lost")));
}

// The journal knows no times: they are those of the metrics.
TEST_F(RedoTest, TimeGoesOnAtTheSpeedOfTheRun) {
  std::string lines;
  for (const auto& [steps, seconds] : {std::pair(40, 1.0), {80, 4.0}, {120, 9.0}}) {
    lines +=
        fmt::format(R"({{"steps":{},"seconds":{},"mean_return":null}})", steps, seconds) + "\n";
  }
  run_.dir.Write("metrics.jsonl", lines);
  ASSERT_EQ(Redo(), kExitDone) << said_;
  const auto newest = learner::LastGood(run_.checkpoints());
  EXPECT_EQ(newest.checkpoint->steps, 100u);
  EXPECT_EQ(learner::Counters::Restore(newest.checkpoint->counters).seconds, 5.0);
}

TEST_F(RedoTest, AJournalThatEndsBeforeTheCheckpoint) {
  std::filesystem::remove_all(run_.dir / "journal");
  EXPECT_EQ(Redo(), kExitFailed);
  EXPECT_THAT(said_, HasSubstr("what came after checkpoints/t0001-v000000000002.safetensors cannot "
                               "be redone: "));
}

TEST_F(RedoTest, UpdatesThatALaterTermHasPassedOver) {
  learner::ClaimTerm(run_.checkpoints(), learner::CheckpointId{1, 2});
  EXPECT_EQ(Redo(), kExitFailed);
  EXPECT_THAT(said_,
              HasSubstr("cannot be redone: a later start of the learner has gone on without them"));
}

TEST_F(RedoTest, AnOlderSegmentThatItDoesNotNeedMayBeOfAnotherRun) {
  run_.BeginTerm(5, end_);
  run_.Restore(0, wire::MakeIncarnation(1, 0)), run_.Restore(1, wire::MakeIncarnation(1, 0));
  auto cut = run_.CheckpointAt(5, run_.journal->position());
  cut.term = 2;
  learner::WriteCheckpoint(run_.checkpoints(), cut);
  run_.Train(1);
  run_.Flush();
  JournalledRun other({"run.seed=4"});
  other.BeginTerm();
  other.Join(0), other.Join(1);
  other.Train(5);
  other.Flush();
  const auto oldest = learner::ListSegments(run_.dir / "journal").front().path;
  WriteFileAtomically(oldest, ReadFile(learner::ListSegments(other.dir / "journal").front().path));
  EXPECT_EQ(Redo(), kExitDone) << said_;
  EXPECT_THAT(said_, HasSubstr("nothing is lost"));
}

TEST_F(RedoTest, NotWhileALearnerIsAtWork) {
  std::optional<LockedFile> lock = learner::LockRun(run_.dir.path());
  EXPECT_THAT(ErrorOf([&] { Redo(); }), HasSubstr("is still using it"));
  testing::internal::GetCapturedStderr();
  // One whose supervisor was killed is about to end.
  EXPECT_EQ(Redo(SteadyClock(),
                 [&] {
                   lock.reset();
                   return true;
                 }),
            kExitDone);
}

}  // namespace
}  // namespace starling::replay
