// A replay over the terms of a run, and one that begins at a cut.
#include <gmock/gmock.h>

#include "learner/storage/journal_reader.h"
#include "tests/support/error_of.h"
#include "tests/tools/replay/journalled_run.h"

namespace starling::replay {
namespace {

using testing::HasSubstr;
using testing::SizeIs;
using wire::MakeIncarnation;

// Six versions of a run that nothing interrupts.
learner::CheckpointContent Uninterrupted() {
  JournalledRun run;
  run.BeginTerm();
  run.Join(0), run.Join(1);
  run.Train(6);
  return run.Replay(6);
}

// The same run, whose learner was killed after version 3 and had held a gradient of actor 0.
struct InterruptedRun : JournalledRun {
  InterruptedRun() {
    BeginTerm();
    Join(0), Join(1);
    cut = Train(3);
    Arrive(0);
  }
  learner::JournalPosition cut;
};

TEST(ReplayOverTerms, RestoredActorsGoOnAsIfNothingHadHappened) {
  InterruptedRun run;
  run.BeginTerm(3, run.cut);
  run.Restore(1, MakeIncarnation(1, 0)), run.Restore(0, MakeIncarnation(1, 0));
  run.Train(3);
  ExpectSame(run.Replay(6), Uninterrupted());
  EXPECT_EQ(run.difference, "");
}

TEST(ReplayOverTerms, AStateWaitsUntilAGradientComesOfItsActor) {
  InterruptedRun run;
  run.BeginTerm(3, run.cut);
  run.Restore(0, MakeIncarnation(1, 0)), run.Die(0);  // it leaves no trace
  run.BeginTerm(3, run.cut);
  run.Restore(0, MakeIncarnation(1, 0)), run.Die(0), run.Restore(0, MakeIncarnation(1, 0));
  run.Restore(1, MakeIncarnation(1, 0));
  run.Train(3);
  ExpectSame(run.Replay(6), Uninterrupted());
}

TEST(ReplayOverTerms, WithoutARecordAnActorIsFresh) {
  InterruptedRun run;
  run.BeginTerm(3, run.cut);
  run.Join(0), run.Join(1);
  run.Train(3);
  const auto content = run.Replay(6);
  EXPECT_NE(content.state.weights, Uninterrupted().state.weights);
  EXPECT_EQ(content.actors->base, 2u);
  EXPECT_THAT(content.actors->actors, SizeIs(2));
  EXPECT_EQ(content.actors->actors[0].life, MakeIncarnation(2, 0));
}

// A killed actor's next life counts from the term in which the run's lives began.
TEST(ReplayOverTerms, AFreshLifeOfALaterTermIsTheOneThatItWouldHaveBeen) {
  JournalledRun whole;
  whole.BeginTerm();
  whole.Join(0), whole.Join(1);
  whole.Train(3);
  whole.Die(1), whole.Join(1);
  whole.Train(3);

  InterruptedRun run;
  run.BeginTerm(3, run.cut);
  run.Restore(0, MakeIncarnation(1, 0));
  run.Join(1, MakeIncarnation(1, 1));  // its state was of no use
  run.Train(3);
  ExpectSame(run.Replay(6), whole.Replay(6));
}

TEST(ReplayOverTerms, ARestoredActorWithoutAStateIsAnError) {
  InterruptedRun run;
  run.Die(0);
  const auto later = run.Update();
  run.BeginTerm(4, later);
  run.Restore(0, MakeIncarnation(1, 0));
  run.Arrive(0);
  run.Update();
  run.Replay(5);
  EXPECT_EQ(run.difference, "actor 0 is restored from no state");
}

// ---- from a cut

// After a full disk the run went on without a journal up to the version of its next checkpoint.
TEST(ReplayOverTerms, WhereAWriteFailedTheReplayEndsAndSaysSo) {
  JournalledRun run;
  run.BeginTerm();
  run.Join(0), run.Join(1);
  run.Train(2);
  run.journal->Append(learner::GapRecord{});
  run.BeginTerm(5, run.journal->position());
  run.Replay(6);
  EXPECT_EQ(run.difference,
            "the journal goes on at version 5 after 2: a write failed between them");
}

TEST(ReplayFromACut, TheTermGoesOn) {
  JournalledRun whole;
  whole.BeginTerm();
  whole.Join(0), whole.Join(1);
  const auto cut = whole.CheckpointAt(3, whole.Train(3));
  whole.Arrive(0, wire::Outcome::kStale);
  whole.journal->Append(learner::LostRecord{1, 7, learner::LostWhy::kDeadline});
  whole.Die(1), whole.Join(1);
  whole.Train(3);
  const auto from_cut = whole.Replay(6, cut), from_zero = whole.Replay(6);
  ExpectSame(from_cut, from_zero);
  EXPECT_EQ(from_cut.counters, from_zero.counters);
  EXPECT_EQ(from_cut.actors, from_zero.actors);
  const auto counters = learner::Counters::Restore(from_cut.counters);
  EXPECT_EQ(counters.updates, 6u);
  EXPECT_EQ(counters.applied, 12u);
  EXPECT_EQ(counters.merged, 12u);
  EXPECT_EQ(counters.deadlines, 1u);
  EXPECT_EQ(counters.dropped_total(), 1u);
  EXPECT_EQ(counters.staleness.counts(), std::vector<std::uint64_t>{12});
  EXPECT_GT(counters.episodes, 0u);
}

TEST(ReplayFromACut, TheNextTermRestoresItsActors) {
  InterruptedRun run;
  const auto cut = run.CheckpointAt(3, run.cut);
  run.BeginTerm(3, run.cut);
  run.Restore(0, MakeIncarnation(1, 0)), run.Restore(1, MakeIncarnation(1, 0));
  run.Train(3);
  ExpectSame(run.Replay(6, cut), Uninterrupted());
  // A state that no actor has used yet stays.
  const auto waiting = run.Replay(3, cut);
  EXPECT_EQ(waiting.actors, cut.actors);
}

// Their join lies before the cut, their first gradient behind it.
TEST(ReplayFromACut, ActorsThatHadJoinedWithoutAGradientHaveTheirLives) {
  InterruptedRun run;
  run.BeginTerm(3, run.cut);
  run.Restore(0, MakeIncarnation(1, 0)), run.Arrive(0), run.Update();
  run.Restore(1, MakeIncarnation(1, 0));
  const auto restored = run.CheckpointAt(4, run.journal->position());
  run.Train(1);
  run.Die(1), run.Join(1, MakeIncarnation(1, 1));
  auto fresh = run.CheckpointAt(5, run.journal->position());
  std::erase_if(fresh.actors->actors, [](const auto& actor) { return actor.slot == 1; });
  run.Train(1);
  const auto from_zero = run.Replay(6);
  ASSERT_EQ(run.difference, "");
  for (const auto& cut : {restored, fresh}) {
    const auto from_cut = run.Replay(6, cut);
    EXPECT_EQ(run.difference, "");
    ExpectSame(from_cut, from_zero);
  }
}

TEST(ReplayFromACut, AStateOfOtherEnvsIsAnError) {
  InterruptedRun run;
  auto cut = run.CheckpointAt(3, run.cut);
  cut.actors->actors[0].state.resize(40);
  run.Arrive(1);
  run.Update();
  run.Replay(4, cut);
  EXPECT_THAT(run.difference, HasSubstr("the saved state of actor 0 does not fit: "));
}

TEST(ReplayFromACut, AJournalWhoseBeginningWasPrunedIsReplayedFromItsOldestCut) {
  JournalledRun run;
  run.BeginTerm(0, {}, /*segment_bytes=*/100);
  run.Join(0), run.Join(1);
  std::vector<learner::JournalPosition> ends = {{}};
  for (int i = 0; i < 6; ++i) ends.push_back(run.Train(1)), run.Flush();  // a segment each
  for (const std::uint64_t version : {2, 4, 6}) {
    learner::WriteCheckpoint(run.checkpoints(), run.CheckpointAt(version, ends[version]));
  }
  for (const auto& segment : learner::ListSegments(run.dir / "journal")) {
    if (segment.segment < ends[3].segment) std::filesystem::remove(segment.path);
  }
  ReplayOptions options;
  options.run_dir = run.dir.path();
  testing::internal::CaptureStdout();
  EXPECT_EQ(RunReplay(options), 0);
  EXPECT_THAT(testing::internal::GetCapturedStdout(),
              testing::AllOf(HasSubstr("the replay begins at checkpoints/t0001-v000000000004."
                                       "safetensors: the journal before it is gone"),
                             HasSubstr("replayed 2 versions"), HasSubstr("bit for bit")));
  for (const auto& path : learner::ListCheckpoints(run.checkpoints())) {
    std::filesystem::remove(learner::ActorStatesPath(path));
  }
  EXPECT_THAT(ErrorOf([&] { RunReplay(options); }),
              HasSubstr("journal begins at version 3, and there is no checkpoint with the states"));
}

}  // namespace
}  // namespace starling::replay
