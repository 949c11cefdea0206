// The table of endings, written out.
#include "fleet/endings.h"

#include <gtest/gtest.h>
#include <signal.h>

#include "core/error.h"

namespace starling::fleet {
namespace {

const ChildExit kInOrder{ChildExit::How::kExited, kExitDone};
const ChildExit kFailed{ChildExit::How::kExited, kExitFailed};
const ChildExit kMistake{ChildExit::How::kExited, kExitUserError};
const ChildExit kGaveUp{ChildExit::How::kExited, kExitGaveUp};
const ChildExit kKilled{ChildExit::How::kKilled, SIGKILL};
const ChildExit kNotStarted{ChildExit::How::kNotStarted, 2};

constexpr RunPoint kRunning{}, kEnding{.ending = true}, kHome{.dismissed = true},
    kComplete{.complete = true, .dismissed = true},
    kSaved{.complete = true, .dismissed = true, .last_status = true}, kWorked{.worked = true};

TEST(Endings, OfALearner) {
  const struct {
    ChildExit exit;
    RunPoint run;
    LearnerEnding ending;
  } cases[] = {
      {kInOrder, kRunning, LearnerEnding::kStoppedElsewhere},
      {kFailed, kRunning, LearnerEnding::kCrashed},
      {kMistake, kRunning, LearnerEnding::kMistake},
      {kMistake, kWorked, LearnerEnding::kCrashed},  // a port taken meanwhile, a full /dev/shm
      {kGaveUp, kWorked, LearnerEnding::kGaveUp},
      {kKilled, kRunning, LearnerEnding::kCrashed},
      {kNotStarted, kRunning, LearnerEnding::kCrashed},
      {kInOrder, kComplete, LearnerEnding::kDone},
      {kFailed, kComplete, LearnerEnding::kCrashed},  // before it could save: another one will
      {kKilled, kComplete, LearnerEnding::kCrashed},
      {kInOrder, kSaved, LearnerEnding::kDone},
      {kFailed, kSaved, LearnerEnding::kNoLastCheckpoint},
      {kKilled, kSaved, LearnerEnding::kDoneThenKilled},
      {kMistake, kEnding, LearnerEnding::kExpected},
      {kKilled, kEnding, LearnerEnding::kExpected},
  };
  for (const auto& [exit, run, ending] : cases) {
    EXPECT_EQ(ClassifyLearner(exit, run), ending)
        << Describe(exit) << ", complete " << run.complete << ", ending " << run.ending;
  }
}

TEST(Endings, OfAnActor) {
  EXPECT_EQ(ClassifyActor(kInOrder, kRunning), ActorEnding::kLeft);
  EXPECT_EQ(ClassifyActor(kFailed, kRunning), ActorEnding::kDied);
  EXPECT_EQ(ClassifyActor(kKilled, kRunning), ActorEnding::kDied);
  for (const int error : {ENOENT, ENOEXEC, EACCES}) {
    EXPECT_EQ(ClassifyActor({ChildExit::How::kNotStarted, error}, kRunning), ActorEnding::kMistake);
    EXPECT_EQ(ClassifyActor({ChildExit::How::kNotStarted, error}, kWorked), ActorEnding::kDied);
  }
  EXPECT_EQ(ClassifyActor({ChildExit::How::kNotStarted, ENOMEM}, kRunning), ActorEnding::kDied);
  EXPECT_EQ(ClassifyActor(kMistake, kRunning), ActorEnding::kMistake);
  EXPECT_EQ(ClassifyActor(kMistake, kWorked), ActorEnding::kDied);
  for (const ChildExit& exit : {kInOrder, kFailed, kMistake, kKilled}) {
    EXPECT_EQ(ClassifyActor(exit, kHome), ActorEnding::kExpected);
    EXPECT_EQ(ClassifyActor(exit, kEnding), ActorEnding::kExpected);
  }
}

TEST(Endings, EveryEndingOfARunHasARule) {
  EXPECT_EQ(RuleFor(LearnerEnding::kMistake)->exit_status, kExitUserError);
  EXPECT_EQ(RuleFor(LearnerEnding::kGaveUp)->exit_status, kExitFailed);
  EXPECT_EQ(RuleFor(LearnerEnding::kStoppedElsewhere)->exit_status, kExitInterrupted);
  EXPECT_EQ(RuleFor(LearnerEnding::kDone)->exit_status, kExitDone);
  EXPECT_EQ(RuleFor(LearnerEnding::kDoneThenKilled)->exit_status, kExitDone);
  EXPECT_EQ(RuleFor(LearnerEnding::kNoLastCheckpoint)->exit_status, kExitFailed);
  EXPECT_FALSE(RuleFor(LearnerEnding::kCrashed));
  EXPECT_FALSE(RuleFor(LearnerEnding::kExpected));
}

}  // namespace
}  // namespace starling::fleet
