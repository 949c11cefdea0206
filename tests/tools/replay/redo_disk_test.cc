// A redo on a full disk waits, or gives up; one behind a gap that a full disk left in the journal.
#include "core/error.h"
#include "core/file.h"
#include "tests/support/in_child.h"
#include "tests/tools/replay/redo_fixture.h"

namespace starling::replay {
namespace {

using testing::AllOf;
using testing::ContainsRegex;
using testing::ElementsAre;
using testing::HasSubstr;

TEST_F(RedoTest, AFullDiskIsWaitedFor) {
  const auto disk = FullDisk();
  if (!disk->trouble().empty()) GTEST_SKIP() << "no disk of our own here: " << disk->trouble();
  int waits = 0;
  EXPECT_EQ(Redo(SteadyClock(),
                 [&] {
                   EXPECT_THAT(Checkpoints(), ElementsAre(At(2)));
                   if (++waits == 3) std::filesystem::remove(filler());
                   return true;
                 }),
            kExitDone)
      << said_;
  EXPECT_EQ(waits, 3);
  EXPECT_THAT(said_, AllOf(ContainsRegex("version 5 is done again and cannot be written: .*: No "
                                         "space left on device; no learner starts before\n"),
                           HasSubstr("nothing is lost\n")));
  ExpectRedone();
}

TEST_F(RedoTest, AndIfItStaysFullNoLearnerMayStart) {
  const auto disk = FullDisk();
  if (!disk->trouble().empty()) GTEST_SKIP() << "no disk of our own here: " << disk->trouble();
  EXPECT_EQ(Redo(), kExitNotNow);
  EXPECT_THAT(said_, HasSubstr("No space left on device; these updates are not lost yet: free "
                               "space there, or mend what is wrong, then --resume"));
  EXPECT_THAT(Checkpoints(), ElementsAre(At(2)));
  std::filesystem::remove(filler());
  EXPECT_EQ(Redo(), kExitDone) << said_;
  ExpectRedone();
}

// Its own limit stays.
TEST_F(RedoTest, AFileSizeLimitIsNotWaitedFor) {
  const FileSizeLimit limit(1000);  // the checkpoint is larger
  EXPECT_EQ(Redo(SteadyClock(),
                 [] {
                   ADD_FAILURE() << "waits";
                   return false;
                 }),
            kExitNotNow);
  EXPECT_THAT(said_, HasSubstr("File too large; these updates are not lost yet"));
}

TEST_F(RedoTest, WaitingDoesNotMoveADirectoryOutOfTheWay) {
  std::filesystem::create_directory(At(5));
  EXPECT_EQ(Redo(SteadyClock(),
                 [] {
                   ADD_FAILURE() << "waits";
                   return false;
                 }),
            kExitNotNow);
  EXPECT_THAT(said_, ContainsRegex("cannot be written: .*: Is a directory; these updates are not"));
  std::filesystem::remove(At(5));
  EXPECT_EQ(Redo(), kExitDone) << said_;
  ExpectRedone();
}

// That costs bits, not updates.
TEST_F(RedoTest, ForStatesAloneItDoesNotWait) {
  ASSERT_EQ(Redo(), kExitDone) << said_;
  std::filesystem::remove(learner::ActorStatesPath(At(5)));
  std::filesystem::create_directory(learner::ActorStatesPath(At(5)));
  EXPECT_EQ(Redo(SteadyClock(),
                 [] {
                   ADD_FAILURE() << "waits";
                   return false;
                 }),
            kExitFailed);
  EXPECT_THAT(said_,
              HasSubstr("the states of actors at checkpoints/t0001-v000000000005.safetensors "
                        "cannot be redone: "));
}

TEST_F(RedoTest, BehindAGapOfTheJournalNothingIsKnown) {
  auto cut = run_.CheckpointAt(2, cut_);
  cut.journal_whole = false;
  learner::WriteCheckpoint(run_.checkpoints(), cut);
  EXPECT_EQ(Redo(), kExitFailed);
  EXPECT_THAT(said_, HasSubstr("cannot be redone: the journal has a gap"));
  // Unless the learner said that it ended there.
  run_.dir.Write("metrics.jsonl", R"({"phase":"done","term":1,"version":2})"
                                  "\n");
  EXPECT_EQ(Redo(), kExitDone);
  EXPECT_EQ(said_, "");
}

// A full disk, while the run goes on: up to there it is done again, and from the next cut on.
TEST_F(RedoTest, UpToAGapOfTheJournalAndBehindIt) {
  run_.Train(1);
  run_.Flush();
  {
    const FileSizeLimit full(run_.journal->position().offset + 9);  // the record of a gap
    run_.Train(2);                                                  // versions 7 and 8 are lost
    run_.Flush();
  }
  EXPECT_EQ(Redo(), kExitFailed);
  EXPECT_THAT(said_, ContainsRegex("what came after version 6 cannot be redone: the journal is "
                                   "damaged at .*, where a write failed"));
  EXPECT_EQ(Checkpoints().back(), At(6));
  // The run has gone on meanwhile, and the learner took a cut. What it holds is of no matter here.
  learner::Checkpoint cut = *learner::NewestCut(run_.checkpoints()).checkpoint;
  cut.actors = learner::ReadActorStates(learner::ActorStatesPath(At(6)));
  cut.version = run_.now;
  cut.steps = run_.now * 2 * JournalledRun::kSamples;
  ASSERT_TRUE(run_.journal->GoOn({run_.term, cut.version, cut.steps}, run_.EntropyAt(cut.version)));
  cut.journal = run_.journal->position();
  run_.Train(1);
  run_.Flush();
  // 1. The learner was killed before the checkpoint was written.
  EXPECT_EQ(Redo(), kExitFailed);
  EXPECT_THAT(said_, HasSubstr("what came after version 6 cannot be redone"));
  // 2. After it was.
  learner::WriteCheckpoint(run_.checkpoints(), cut);
  EXPECT_EQ(Redo(), kExitDone) << said_;
  EXPECT_EQ(Checkpoints().back(), At(9));
}

}  // namespace
}  // namespace starling::replay
