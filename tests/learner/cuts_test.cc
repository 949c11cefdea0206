// Cuts through the engine: grants are withheld until every actor stands between two unrolls.
#include <gmock/gmock.h>

#include <optional>
#include <vector>

#include "tests/learner/engine_fixture.h"
#include "tests/support/in_child.h"

namespace starling::learner {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;
using testing::UnorderedElementsAre;

class CutsTest : public EngineFixture {
 protected:
  CutsTest() { exact_ = true; }

  // Pushes a gradient of `slot`, and lets the engine do all it can.
  void Play(std::uint32_t slot) {
    EXPECT_EQ(Push(Gradient(slot)), "none");
    Finish();
  }
  void Finish() {
    engine_->Advance();
    while (!engine_->idle()) {
      auto finished = engine_->TakeFinished(seconds_);
      if (!finished) {
        progress_.acquire();
        continue;
      }
      if (finished->checkpoint) checkpoints_.push_back(*std::move(finished->checkpoint));
      engine_->Advance();
    }
    granted_.clear();
    for (const auto& [slot, answer] : engine_->TakeReplies(0)) {
      for (const wire::Grant& grant : answer.grants) {
        grants_[slot] = grant;
        granted_.push_back(slot);
      }
    }
  }

  double seconds_ = 1;
  std::vector<CheckpointContent> checkpoints_;
  std::vector<std::uint32_t> granted_;  // by the last Finish
};

// Gradients have 4 samples.
TEST_F(CutsTest, AtBoundZeroACheckpointIsOneAndNothingWaits) {
  JoinBoth({"staleness.bound=0", "checkpoint.every_steps=8"});
  Play(0);
  Play(1);
  ASSERT_THAT(checkpoints_, SizeIs(1));
  EXPECT_TRUE(checkpoints_[0].actors);
  EXPECT_THAT(granted_, ElementsAre(0, 1));
}

// Behind a failed write it is one from which the run can be redone.
TEST_F(CutsTest, ItMendsABrokenJournal) {
  JoinBoth({"staleness.bound=0", "checkpoint.every_steps=16"});
  Play(0), Play(1);
  JournalWriter& journal = engine_->journal();
  {
    const FileSizeLimit full(journal.position().offset);
    Play(0), Play(1);  // a checkpoint that cannot be gone on from
    ASSERT_TRUE(journal.broken());
  }
  Play(0), Play(1);
  EXPECT_TRUE(journal.broken()) << "no cut was captured since there is room";
  Play(0), Play(1);
  EXPECT_FALSE(journal.broken());
  ASSERT_THAT(checkpoints_, SizeIs(2));
  EXPECT_FALSE(checkpoints_[0].journal_whole);
  EXPECT_TRUE(checkpoints_[1].journal_whole);
  EXPECT_TRUE(checkpoints_[1].actors);
  Play(0), Play(1);
  const JournalTail tail = TailOf(dir_ / "journal", checkpoints_[1].journal);
  EXPECT_EQ(tail.updates, 1u);
  EXPECT_EQ(tail.version, 5u);
  EXPECT_FALSE(tail.damaged);
}

// Nothing is due by configuration.
TEST_F(CutsTest, ABrokenJournalAsksForOneAfterTenSeconds) {
  JoinBoth({"staleness.bound=0"});
  {
    const FileSizeLimit full(60);
    Play(0), Play(1);
    ASSERT_TRUE(engine_->journal().broken());
  }
  for (const int seconds : {2, 11, 13}) {
    seconds_ = seconds;
    Play(0), Play(1);
  }
  EXPECT_THAT(checkpoints_, SizeIs(1));
  EXPECT_FALSE(engine_->journal().broken());
}

TEST_F(CutsTest, TheLastOneMendsABrokenJournal) {
  JoinBoth({"staleness.bound=0"});
  {
    const FileSizeLimit full(60);
    Play(0), Play(1);
    ASSERT_TRUE(engine_->journal().broken());
    EXPECT_FALSE(engine_->CaptureNow().journal_whole) << "actors compute";
  }
  engine_->StopGranting();
  Play(0), Play(1);
  ASSERT_TRUE(engine_->AtCut());
  const CheckpointContent last = engine_->CaptureNow();
  EXPECT_TRUE(last.journal_whole);
  EXPECT_TRUE(last.actors);
  EXPECT_EQ(TailOf(dir_ / "journal", last.journal).updates, 0u);
}

TEST_F(CutsTest, UnderABoundGrantsAreWithheldUntilNothingIsOut) {
  JoinBoth({"staleness.bound=4", "checkpoint.every_steps=4"});
  EXPECT_FALSE(engine_->seeks_cut());
  Play(0);  // version 1: a checkpoint is due, but actor 1 computes
  EXPECT_TRUE(engine_->seeks_cut());
  EXPECT_THAT(granted_, ElementsAre(0)) << "granted with the version at which it is due";
  Play(0);
  EXPECT_THAT(granted_, IsEmpty());
  EXPECT_THAT(checkpoints_, IsEmpty());
  Play(1);  // version 3
  EXPECT_FALSE(engine_->seeks_cut());
  EXPECT_THAT(granted_, UnorderedElementsAre(0, 1));
  ASSERT_THAT(checkpoints_, SizeIs(1));
  EXPECT_EQ(checkpoints_[0].state.version, 3u);
  EXPECT_TRUE(checkpoints_[0].actors);
}

TEST_F(CutsTest, OneThatTakesTooLongIsGivenUpForThisCheckpoint) {
  JoinBoth({"staleness.bound=4", "checkpoint.every_steps=4"});
  Play(0);
  Play(0);  // actor 1 computes for very long
  EXPECT_THAT(granted_, IsEmpty());
  engine_->GiveUpCut();
  EXPECT_FALSE(engine_->seeks_cut());
  Finish();
  EXPECT_THAT(granted_, ElementsAre(0));
  Play(0);  // version 3
  ASSERT_THAT(checkpoints_, SizeIs(1));
  EXPECT_EQ(checkpoints_[0].state.version, 3u);
  EXPECT_FALSE(checkpoints_[0].actors);
}

TEST_F(CutsTest, AnActorWhoseGrantExpiredStillComputes) {
  JoinBoth({"staleness.bound=4", "checkpoint.every_steps=4"});
  Received late = Gradient(1);
  Play(0);
  Play(0);
  EXPECT_THAT(engine_->ExpireGrants(30 * kSecond), SizeIs(1));
  EXPECT_FALSE(engine_->AtCut());
  EXPECT_EQ(Push(std::move(late)), "no_grant");
  EXPECT_TRUE(engine_->AtCut());
}

TEST_F(CutsTest, OfAnEngineThatIsNotExactThereAreNone) {
  exact_ = false;
  JoinBoth({"staleness.bound=0", "checkpoint.every_steps=8"});
  Play(0);
  Play(1);
  ASSERT_THAT(checkpoints_, SizeIs(1));
  EXPECT_FALSE(checkpoints_[0].actors);
}

TEST_F(CutsTest, ACheckpointIsDueWhenTheRedoWouldTakeTooLong) {
  JoinBoth({"staleness.bound=0", "checkpoint.redo_s=2"});
  const auto play = [&] {
    for (const std::uint32_t slot : {0u, 1u}) {
      Received gradient = Gradient(slot);
      gradient.body.act_us = 500'000;
      gradient.body.gradient_us = 50'000;
      EXPECT_EQ(Push(std::move(gradient)), "none");
    }
    Finish();
  };
  play();  // 1.1 s
  EXPECT_THAT(checkpoints_, IsEmpty());
  play();  // 2.2 s
  EXPECT_THAT(checkpoints_, SizeIs(1));
  play();
  EXPECT_THAT(checkpoints_, SizeIs(1)) << "the time is counted from the last cut";
}

TEST_F(CutsTest, BeforeTheEndNothingIsGranted) {
  JoinBoth({"staleness.bound=4"});
  engine_->StopGranting();
  EXPECT_FALSE(engine_->AtCut());
  Play(0);
  EXPECT_THAT(granted_, IsEmpty());
  Play(1);
  EXPECT_TRUE(engine_->AtCut());
  EXPECT_EQ(engine_->CaptureNow().state.version, 2u);
  EXPECT_TRUE(engine_->CaptureNow().actors);
}

TEST_F(CutsTest, AnActorThatLeavesWithItsLearnerHasNotDied) {
  JoinBoth({"staleness.bound=4"});
  engine_->Remove(1, "was killed");
  engine_->StopGranting();
  engine_->Remove(0, "said goodbye");
  EXPECT_THAT(Journal<DeathRecord>(), ElementsAre(DeathRecord{1, wire::MakeIncarnation(1, 0)}));
}

TEST_F(CutsTest, TheEndOfARunAtBoundZeroIsOne) {
  JoinBoth({"staleness.bound=0", "run.steps=8"});
  Play(0);
  Play(1);
  EXPECT_TRUE(engine_->over());
  EXPECT_THAT(granted_, IsEmpty());
  EXPECT_TRUE(engine_->AtCut());
}

// ---- lives

TEST_F(CutsTest, ALearnerThatGoesOnFromOneHasTheStatesForItsActors) {
  start_.state.term = 2;
  start_.actors = ActorStates{
      .base = 1,
      .begun = {{0, 1}, {1, 3}},
      .actors = {{.slot = 0, .life = wire::MakeIncarnation(1, 0), .state = {std::byte{7}}}}};
  JoinBoth({"staleness.bound=0"});
  const Member& restored = *engine_->roster().Find(0);
  const Member& fresh = *engine_->roster().Find(1);
  EXPECT_EQ(engine_->StateOf(restored)->state, std::vector{std::byte{7}});
  EXPECT_EQ(engine_->StateOf(fresh), nullptr);
  EXPECT_THAT(
      Journal<LifeRecord>(),
      ElementsAre(LifeRecord{0, wire::MakeIncarnation(2, 0), wire::MakeIncarnation(1, 0), 1},
                  LifeRecord{1, wire::MakeIncarnation(2, 0), wire::MakeIncarnation(1, 3), 0}));
  // Until its first gradient the state waits for the slot, whatever becomes of its actor.
  engine_->Remove(0, "died");
  EXPECT_EQ(engine_->StateOf(engine_->Join(0))->state, std::vector{std::byte{7}});
  engine_->Remove(1, "died");
  engine_->Remove(0, "died");
  EXPECT_EQ(engine_->CaptureNow().actors, start_.actors) << "nothing has happened yet";
  // An actor that cannot use it begins a life that there was not.
  const Member& afresh = engine_->Join(0, "", /*fresh=*/true);
  EXPECT_EQ(afresh.life, wire::MakeIncarnation(1, 1));
  EXPECT_EQ(engine_->counters().breaks, 1u);
  EXPECT_THAT(engine_->waiting(), IsEmpty());
}

TEST_F(CutsTest, WithoutOneLivesAreIncarnations) {
  start_.state.term = 2;
  start_.checkpoint = "checkpoints/x";
  JoinBoth();
  EXPECT_EQ(engine_->counters().breaks, 1u);
  EXPECT_EQ(engine_->roster().Find(0)->life, wire::MakeIncarnation(2, 0));
  EXPECT_THAT(Journal<LifeRecord>(), IsEmpty());
}

}  // namespace
}  // namespace starling::learner
