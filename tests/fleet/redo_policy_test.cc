// The redo before a learner that goes on with a run: when it runs, and what its end means.
#include "fleet/redo_policy.h"

#include <gmock/gmock.h>
#include <signal.h>

#include "core/error.h"
#include "tests/fleet/policy_fixture.h"

namespace starling::fleet {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr SendSignal kKillRedo{kRedoSlot, SIGKILL};

// A resumed run, at the redo before its first learner.
class RedoPolicyTest : public testing::Test {
 protected:
  RedoPolicyTest() { EXPECT_THAT(policy_.Start(0), Are(StartRedo{})); }
  SupervisorPolicy policy_{PolicyLimits{}, 2, {1000}, /*resume=*/true, "run/log"};
};

TEST_F(RedoPolicyTest, TheFleetStartsBehindIt) {
  EXPECT_THAT(policy_.Tick(50'000), IsEmpty());
  EXPECT_THAT(Deeds(policy_.OnRedoExit(50'001, 75, Exit(0))),
              Are(StartLearner{true}, StartActor{0}, StartActor{1}));
  EXPECT_EQ(policy_.counts().actors_started, 2u);
  EXPECT_EQ(policy_.counts().learner_restarted, 0u);
}

TEST_F(RedoPolicyTest, WhateverItsOtherEndsTheLearnerStarts) {
  const struct {
    ChildExit exit;
    std::string warning;  // one that ended with 1 has named what is lost
  } kEnds[] = {
      {Exit(kExitDone), ""},
      {Exit(kExitFailed), ""},
      {Exit(kExitUserError),
       "the redo (pid 75) ended with exit status 2: no memory: updates after "
       "the newest checkpoint may be lost"},
      {kAborted, "the redo (pid 75) was killed by SIGABRT: no memory: updates after"},
      {{ChildExit::How::kNotStarted, ENOENT}, "the redo could not be started (No such file"},
  };
  policy_.OnRedoExit(5, 75, Exit(0));
  policy_.OnStatus(10, StatusAt(0));
  std::uint64_t steps = 0;
  for (const auto& [exit, warning] : kEnds) {
    steps += 160;
    policy_.OnStatus(10, StatusAt(steps, fmt::format("checkpoints/{}", steps)));
    EXPECT_THAT(Deeds(policy_.OnLearnerExit(10, 76, kKilled9)), Are(StartRedo{}));
    Actions end = policy_.OnRedoExit(10, 75, exit, "no memory");
    if (!warning.empty()) {  // once more
      EXPECT_THAT(Said(end, LogLevel::kWarn), HasSubstr("; tried once more"));
      EXPECT_THAT(Deeds(end), Are(StartRedo{}));
      end = policy_.OnRedoExit(10, 75, exit, "no memory");
    }
    EXPECT_THAT(Deeds(end), Are(StartLearner{true}));
    EXPECT_THAT(Said(end, LogLevel::kWarn), testing::StartsWith(warning));
    EXPECT_EQ(Said(end, LogLevel::kWarn).empty(), warning.empty());
    policy_.OnStatus(10, StatusAt(steps));
  }
}

// What it has redone cannot be written, and a learner would pass it over.
TEST_F(RedoPolicyTest, OneThatForbidsALearnerEndsTheRun) {
  const Actions end = policy_.OnRedoExit(20, 75, Exit(kExitNotNow), "No space left on device");
  EXPECT_THAT(Said(end, LogLevel::kError), HasSubstr("ended with exit status 4: its message"));
  EXPECT_THAT(
      Deeds(end),
      End(kExitFailed, "the redo (pid 75) ended with exit status 4: No space left on device"));
}

TEST_F(RedoPolicyTest, SoDoesOneThatFindsTheRunLockedAtItsStart) {
  const Actions end = policy_.OnRedoExit(20, 75, Exit(kExitUserError), "is still using it");
  EXPECT_THAT(Deeds(end),
              End(kExitUserError, "the redo (pid 75) ended with exit status 2: is still using it"));
}

TEST_F(RedoPolicyTest, InTheMiddleOfARunTooAndItsActorsEnd) {
  policy_.OnRedoExit(20, 75, Exit(0));
  policy_.OnStatus(20, StatusAt(0));
  policy_.OnStatus(25, StatusAt(160));
  EXPECT_THAT(Deeds(policy_.OnLearnerExit(30, 76, kKilled9)), Are(StartRedo{}));
  EXPECT_THAT(Deeds(policy_.OnRedoExit(40, 75, Exit(kExitNotNow), "full")), IsEmpty());
  EXPECT_THAT(Deeds(policy_.Tick(40 + PolicyLimits{}.actor_grace_ms)),
              Are(SendSignal{0, SIGTERM}, SendSignal{1, SIGTERM}));
  policy_.OnActorExit(600, 0, 77, Exit(0));
  EXPECT_THAT(Deeds(policy_.OnActorExit(600, 1, 78, Exit(0))),
              End(kExitFailed, "the redo (pid 75) ended with exit status 4: full"));
}

TEST_F(RedoPolicyTest, HowFarItIsIsKnownUntilItsEnd) {
  EXPECT_EQ(policy_.redo(), std::nullopt);
  policy_.OnRedoStatus(10, {.done = 3, .updates = 7});
  EXPECT_EQ(policy_.redo(), (monitor::RedoStatus{3, 7}));
  policy_.OnRedoExit(20, 75, Exit(0));
  EXPECT_EQ(policy_.redo(), std::nullopt);
}

TEST_F(RedoPolicyTest, OneThatHangsIsKilledAndTheLearnerStarts) {
  policy_.OnRedoStatus(1000, {.done = 3, .updates = 7});
  EXPECT_THAT(policy_.Tick(600'999), IsEmpty());
  EXPECT_THAT(policy_.Tick(601'000), Are(kKillRedo));
  EXPECT_THAT(policy_.Tick(602'000), IsEmpty()) << "killed once";
  const Actions end = policy_.OnRedoExit(602'001, 75, kKilled9);
  EXPECT_THAT(Said(end, LogLevel::kWarn),
              HasSubstr("the redo (pid 75) was killed by SIGKILL: it had not reported for 600 s"));
  EXPECT_THAT(Deeds(end), testing::Contains(Action(StartLearner{true})));
}

TEST_F(RedoPolicyTest, AStopEndsItAndNothingIsStarted) {
  const Actions stop = policy_.OnStopSignal(100, SIGINT);
  EXPECT_THAT(Deeds(stop), Are(kKillRedo));
  EXPECT_THAT(Said(stop), AllOf(HasSubstr("SIGINT: "), HasSubstr("redone at the next --resume")));
  const Actions end = policy_.OnRedoExit(110, 75, kKilled9);
  EXPECT_THAT(Deeds(end), End(kExitInterrupted));
  EXPECT_THAT(Said(end, LogLevel::kWarn), "");
}

// In the middle of a run: its actors wait for the learner, or look for it and end.
TEST_F(RedoPolicyTest, NoActorIsGivenUpForIt) {
  policy_.OnRedoExit(0, 75, Exit(0));
  policy_.OnStatus(0, StatusAt(0));
  policy_.OnStatus(1, StatusAt(160));
  policy_.OnLearnerExit(10, 76, kKilled9);
  std::int64_t now = 10;
  for (int death = 0; death < 20; ++death) {
    for (const int slot : {0, 1}) policy_.OnActorExit(now, slot, 77, Exit(1), "no learner");
    now += 1000;
    policy_.OnRedoStatus(now, {});
    EXPECT_THAT(Deeds(policy_.Tick(now)), Are(StartActor{0}, StartActor{1}));
  }
  policy_.OnRedoExit(now, 75, Exit(0));
  policy_.OnActorExit(now, 0, 77, Exit(1), "no learner");
  EXPECT_FALSE(policy_.over()) << "they do not count afterwards either";
  // The learner starts for long, too: a full disk has no room for its term.
  for (int death = 0; death < 20; ++death) {
    now += 1000;
    policy_.Tick(now);
    for (const int slot : {0, 1}) policy_.OnActorExit(now, slot, 77, Exit(1), "no learner");
  }
  policy_.OnStatus(now, StatusAt(160));
  now += 1000;
  policy_.Tick(now);
  policy_.OnActorExit(now, 0, 77, Exit(1), "no learner");
  EXPECT_FALSE(policy_.over());
}

TEST_F(RedoPolicyTest, WhatItHasRedoneIsProgressOfTheRun) {
  policy_.OnRedoExit(0, 75, Exit(0));
  for (int death = 0; death < 40; ++death) {
    const std::int64_t now = 1000 * death;
    policy_.OnStatus(now, StatusAt(0));
    policy_.OnLearnerExit(now, 76, kKilled9);
    policy_.Tick(now + 900);
    policy_.OnRedoStatus(now + 901, {.done = 1, .updates = 1});
    EXPECT_THAT(Deeds(policy_.OnRedoExit(now + 902, 75, Exit(0))), Are(StartLearner{true}))
        << death;
  }
}

TEST(RedoStatus, IsALine) {
  EXPECT_EQ(monitor::ToLine({120, 3000}), "120 3000\n");
  EXPECT_EQ(monitor::ParseRedoStatus("120 3000"), (monitor::RedoStatus{120, 3000}));
  for (const char* other : {"", "120", "120 ", " 3000", "120 x", "-1 3", "1 2 3"}) {
    EXPECT_EQ(monitor::ParseRedoStatus(other), std::nullopt) << other;
  }
}

}  // namespace
}  // namespace starling::fleet
