#include "fleet/supervisor_policy.h"

#include <gmock/gmock.h>
#include <signal.h>

#include "core/error.h"
#include "tests/fleet/policy_fixture.h"

namespace starling::fleet {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;
using PolicyOfOne = PolicyOf<1>;
using PolicyOfTwo = PolicyOf<2>;

TEST_F(PolicyOfTwo, TellsHowEachActorStands) {
  EXPECT_EQ(policy_.processes(),
            (std::vector<monitor::ActorProcess>{{true, false, 0}, {true, false, 0}}));
  policy_.OnStatus(100, Joined(1, {{1, 7, 3}}));
  EXPECT_EQ(policy_.processes()[1], (monitor::ActorProcess{true, true, 0}));
  policy_.OnActorExit(200, 1, 99, kKilled9);  // replaced at once
  EXPECT_EQ(policy_.processes()[1], (monitor::ActorProcess{true, false, 1}));
  policy_.OnActorExit(300, 0, 98, kKilled9);  // in 50 ms
  EXPECT_EQ(policy_.processes()[0], (monitor::ActorProcess{false, false, 0}));
  policy_.Tick(350);
  EXPECT_EQ(policy_.processes()[0], (monitor::ActorProcess{true, false, 1}));
  EXPECT_FALSE(policy_.over());
  policy_.OnStopSignal(400, SIGINT);
  EXPECT_TRUE(policy_.over());
}

TEST(PolicyTest, StartsTheLearnerThenEveryActor) {
  SupervisorPolicy policy(PolicyLimits{}, 2, {1000}, /*resume=*/false, "run/log");
  EXPECT_THAT(policy.Start(0), Are(StartLearner{false}, StartActor{0}, StartActor{1}));
  EXPECT_EQ(policy.counts().actors_started, 2u);
  EXPECT_EQ(policy.counts().actors_restarted, 0u);
}

TEST_F(PolicyOfTwo, ActorThatDiesYoungWaitsTwiceAsLongEachTimeUpToASecond) {
  // the other one lives: the run is not hopeless
  std::int64_t now = 1000;
  for (const std::int64_t wait : {50, 100, 200, 400, 800, 1000, 1000}) {
    const Actions died = policy_.OnActorExit(now, 1, 77, kAborted);
    EXPECT_THAT(Deeds(died), IsEmpty());
    EXPECT_THAT(Said(died), HasSubstr("actor 1 (pid 77) was killed by SIGABRT"));
    EXPECT_THAT(Deeds(policy_.Tick(now + wait - 1)), IsEmpty()) << wait;
    EXPECT_THAT(Deeds(policy_.Tick(now + wait)), Are(StartActor{1})) << wait;
    now += wait;
  }
  EXPECT_EQ(policy_.counts().actors_restarted, 7u);
  EXPECT_EQ(policy_.counts().actors_started, 2u);
}

TEST_F(PolicyOfTwo, ActorWithAnAcceptedGradientIsReplacedAtOnce) {
  policy_.OnStatus(10, Joined(1, {{0, 1, 0}, {1, 1, 1}}));
  const Actions died = policy_.OnActorExit(20, 1, 78, kKilled9);
  EXPECT_THAT(Deeds(died), Are(StartActor{1}));
  EXPECT_THAT(Said(died, LogLevel::kWarn),
              HasSubstr("actor 1 (pid 78) was killed by SIGKILL; replaced at once; at most its "
                        "gradients in flight are lost"));
  // The one beside it joined but had none accepted.
  EXPECT_THAT(Deeds(policy_.OnActorExit(20, 0, 77, kKilled9)), IsEmpty());
}

TEST_F(PolicyOfTwo, GradientsOfTheProcessBeforeDoNotCountForItsSuccessor) {
  policy_.OnStatus(10, Joined(1, {{0, 1, 5}}));
  policy_.OnActorExit(20, 0, 77, kKilled9);
  policy_.OnStatus(30, Joined(1, {{0, 1, 6}}));  // the learner has not noticed yet
  EXPECT_THAT(Deeds(policy_.OnActorExit(40, 0, 78, kKilled9)), IsEmpty());
  EXPECT_THAT(Deeds(policy_.Tick(90)), Are(StartActor{0}));
  policy_.OnStatus(100, Joined(1, {{0, 3, 1}}));
  EXPECT_THAT(Deeds(policy_.OnActorExit(110, 0, 79, kKilled9)), Are(StartActor{0}));
}

TEST_F(PolicyOfTwo, IncarnationsAreToldApartByTerm) {
  policy_.OnStatus(10, Joined(1, {{0, 1, 5}}));
  policy_.OnActorExit(20, 0, 77, kKilled9);
  policy_.OnStatus(30, Joined(2, {{0, 1, 1}}));  // a new learner counts incarnations afresh
  EXPECT_THAT(Deeds(policy_.OnActorExit(40, 0, 78, kKilled9)), Are(StartActor{0}));
}

TEST(PolicyTest, RowsOfActorsStartedByHandAreIgnored) {
  EXPECT_THAT(Started(1).OnStatus(10, Joined(1, {{7, 1, 5}, {-1, 1, 5}})), IsEmpty());
}

TEST(PolicyTest, WhereAllActorsComeFromElsewhereTheyAreCountedAsTheyJoin) {
  SupervisorPolicy policy(PolicyLimits{}, 0, {1000}, /*resume=*/false, "run/log");
  EXPECT_THAT(policy.Start(0), Are(StartLearner{false}));
  policy.OnStatus(10, Joined(1, {{0, 0x10000, 2}, {1, 0x10000, 0}}));
  policy.OnStatus(20, Joined(1, {{0, 0x10000, 3}, {1, 0x10001, 1}}));
  EXPECT_EQ(policy.counts().actors_started, 2u);
  EXPECT_EQ(policy.counts().actors_restarted, 1u);
  // A new learner's members are those of the one before, and another.
  ExpectLearnerAgain(policy, policy.OnLearnerExit(30, 77, kKilled9), 30);
  policy.OnStatus(40, Joined(2, {{0, 0x20000, 1}, {1, 0x20000, 1}, {2, 0x20000, 0}}));
  EXPECT_EQ(policy.counts().actors_started, 3u);
  EXPECT_EQ(policy.counts().actors_restarted, 1u);
  policy.OnStatus(50, Final(1000));
  EXPECT_THAT(Deeds(policy.OnLearnerExit(60, 78, Exit(0))), End(0));
}

TEST_F(PolicyOfTwo, AnAcceptedGradientEndsTheBackOff) {
  policy_.OnActorExit(0, 0, 1, kAborted);
  policy_.Tick(50);
  policy_.OnActorExit(50, 0, 2, kAborted);  // the next would wait 200 ms
  policy_.Tick(150);
  policy_.OnStatus(160, Joined(1, {{0, 1, 1}}));
  EXPECT_THAT(Deeds(policy_.OnActorExit(170, 0, 3, kAborted)), Are(StartActor{0}));
  policy_.OnActorExit(180, 0, 4, kAborted);
  EXPECT_THAT(Deeds(policy_.Tick(229)), IsEmpty());
  EXPECT_THAT(Deeds(policy_.Tick(230)), Are(StartActor{0}));
}

// They end when they find no learner.
TEST_F(PolicyOfOne, ActorsThatEndWhileTheFirstLearnerStartsAreNotGivenUp) {
  auto die = [&, now = std::int64_t{0}](int times) mutable {
    for (int death = 0; death < times; ++death) {
      policy_.OnActorExit(now, 0, 1, Exit(1), "no learner within 60 s");
      now += 1000;
      ASSERT_THAT(Deeds(policy_.Tick(now)), Are(StartActor{0}));
    }
  };
  die(20);
  policy_.OnStatus(20'000, StatusAt(0));
  die(9);
}

TEST_F(PolicyOfOne, NoActorThatEverGetsAnywhereEndsTheRun) {
  policy_.OnStatus(0, StatusAt(0));
  std::int64_t now = 0;
  for (int death = 1; death < 10; ++death) {
    policy_.OnActorExit(now, 0, 1, Exit(1));
    now += 1000;
    ASSERT_THAT(Deeds(policy_.Tick(now)), Are(StartActor{0}));
  }
  const Actions last = policy_.OnActorExit(now, 0, 1, Exit(1), "CHECK(x) failed");
  EXPECT_THAT(Said(last, LogLevel::kError), HasSubstr("the reasons are in run/log"));
  EXPECT_THAT(Deeds(last), Are(SendSignal{kLearnerSlot, SIGTERM}));
  EXPECT_THAT(Deeds(policy_.OnLearnerExit(now + 1, 9, Exit(0))),
              End(kExitFailed,
                  "every actor ended 10 times in a row before its first "
                  "accepted gradient: CHECK(x) failed"));
}

// ---- one slot that never works, beside one that does

// Lets actor 1 die young until it is given up. Returns the waits between its lives and the actions
// of its last end.
std::pair<std::vector<std::int64_t>, Actions> DieYoung(SupervisorPolicy& policy) {
  std::vector<std::int64_t> waits;
  std::int64_t now = 20;
  for (;;) {
    Actions died = policy.OnActorExit(now, 1, 78, Exit(1), "no such map");
    if (policy.counts().actors_given_up > 0) return {waits, died};
    const std::int64_t begin = now;
    do {
      policy.OnStatus(++now, Joined(1, {{0, 1, 1}}));
    } while (Deeds(policy.Tick(now)).empty());
    waits.push_back(now - begin);
  }
}

TEST_F(PolicyOfTwo, ASlotThatNeverWorksIsGivenUpAndTheOtherGoesOn) {
  policy_.OnStatus(10, Joined(1, {{0, 1, 1}}));
  const auto [waits, last] = DieYoung(policy_);
  EXPECT_THAT(waits, testing::ElementsAre(50, 100, 200, 400, 800, 1600, 3200, 6400, 12'800, 25'600,
                                          51'200, 60'000, 60'000, 60'000));
  EXPECT_THAT(Said(last, LogLevel::kError),
              HasSubstr("actor 1 ended 15 times in a row before its first accepted gradient: its "
                        "slot is given up, the others go on; its last end: no such map; the "
                        "reasons are in run/log"));
  EXPECT_THAT(Deeds(last), IsEmpty());
  EXPECT_EQ(policy_.counts().actors_given_up, 1u);
  // Also when the learner is started again.
  std::int64_t now = 300'000;
  policy_.OnStatus(now, Joined(1, {{0, 1, 2}}));
  ExpectLearnerAgain(policy_, policy_.OnLearnerExit(now, 76, kKilled9), now);
  EXPECT_THAT(Deeds(policy_.Tick(now + 60'000)), IsEmpty());
  policy_.OnStatus(now, StatusAt(0));
  // Nothing is left if the other one no longer works either.
  for (int death = 0; death < 11; ++death) {  // the first is that of a process that worked
    ASSERT_FALSE(policy_.over());
    policy_.OnActorExit(now += 60'000, 0, 77, Exit(1));
    policy_.Tick(now + 60'000);
  }
  EXPECT_TRUE(policy_.over());
}

TEST(PolicyTest, ARunThatNeedsEverySlotEndsWithOneThatIsGivenUp) {
  SupervisorPolicy policy({.needs_every_slot = true}, 2, {1000}, /*resume=*/false, "run/log");
  policy.Start(0);
  policy.OnStatus(10, Joined(1, {{0, 1, 1}}));
  const Actions last = DieYoung(policy).second;
  EXPECT_THAT(Said(last, LogLevel::kError),
              HasSubstr("the run ends, because bound 0 needs every actor; its last end: no such"));
  EXPECT_THAT(Deeds(last), Are(SendSignal{kLearnerSlot, SIGTERM}));
  policy.OnLearnerExit(900'000, 76, Exit(0));
  EXPECT_THAT(Deeds(policy.OnActorExit(900'001, 0, 77, Exit(0))),
              End(kExitFailed,
                  "actor 1 ended 15 times in a row before its first accepted gradient, and bound 0 "
                  "needs every actor: no such map"));
}

TEST_F(PolicyOfTwo, OperatorsMistakeOfAnActorEndsTheRunWithTwo) {
  EXPECT_THAT(Deeds(policy_.OnActorExit(10, 0, 77, Exit(2), "no such plug-in")),
              Are(SendSignal{kLearnerSlot, SIGTERM}));
  EXPECT_THAT(Deeds(policy_.OnActorExit(11, 1, 78, Exit(2))), IsEmpty());
  EXPECT_THAT(Deeds(policy_.OnLearnerExit(20, 76, Exit(0))),
              End(kExitUserError, "no such plug-in"));
}

TEST_F(PolicyOfOne, OperatorsMistakeOfTheLearnerEndsTheRunWithTwo) {
  EXPECT_THAT(Deeds(policy_.OnLearnerExit(10, 76, Exit(2))), IsEmpty());
  EXPECT_THAT(Deeds(policy_.Tick(509)), IsEmpty());
  EXPECT_THAT(Deeds(policy_.Tick(510)), Are(SendSignal{0, SIGTERM}));
  EXPECT_THAT(Deeds(policy_.OnActorExit(520, 0, 77, Exit(0))),
              End(kExitUserError, "the learner (pid 76) ended with exit status 2"));
}

TEST_F(PolicyOfOne, ExitStatusTwoIsADeathAsAnyOtherOnceTheSlotHasWorked) {
  policy_.OnStatus(10, Joined(1, {{0, 1, 1}}));
  EXPECT_THAT(Deeds(policy_.OnActorExit(20, 0, 77, Exit(2), "the env died 3 times")),
              Are(StartActor{0}));
  // Its successor has had no gradient accepted, but the slot has.
  EXPECT_THAT(Deeds(policy_.OnActorExit(30, 0, 78, Exit(2))), IsEmpty());
  EXPECT_THAT(Deeds(policy_.Tick(80)), Are(StartActor{0}));
}

TEST_F(PolicyOfOne, ExitStatusTwoOfALearnerIsACrashOnceOneHasReported) {
  policy_.OnStatus(10, StatusAt(0));
  EXPECT_THAT(Deeds(policy_.OnLearnerExit(20, 76, kAborted)), IsEmpty());
  ExpectLearnerAgain(policy_, policy_.Tick(70), 70);
  EXPECT_THAT(Deeds(policy_.OnLearnerExit(80, 77, Exit(2), "address in use")), IsEmpty());
  ExpectLearnerAgain(policy_, policy_.Tick(180), 180);
  policy_.OnStatus(190, StatusAt(0));
  policy_.OnStatus(200, StatusAt(160));
  ExpectLearnerAgain(policy_, policy_.OnLearnerExit(210, 78, kAborted), 210);
}

TEST_F(PolicyOfOne, LearnerThatGivesUpIsNotStartedAgain) {
  policy_.OnStatus(10, StatusAt(160));
  policy_.OnLearnerExit(20, 76, Exit(kExitGaveUp), "every gradient is refused");
  EXPECT_THAT(Deeds(policy_.OnActorExit(30, 0, 77, Exit(0))),
              End(kExitFailed, "every gradient is refused"));
}

// ---- processes that hang

TEST_F(PolicyOfOne, LearnerThatDoesNotReportIsWarnedOfThenKilledAndStartedAgain) {
  policy_.OnStatus(10, StatusAt(0));
  policy_.OnStatus(1000, StatusAt(160));
  EXPECT_THAT(policy_.Tick(5999), IsEmpty());
  EXPECT_THAT(Said(policy_.Tick(6000), LogLevel::kWarn),
              HasSubstr("the learner has not reported for 5 s"));
  EXPECT_TRUE(policy_.learner_silent());
  EXPECT_THAT(policy_.Tick(60'999), IsEmpty()) << "warned once";
  EXPECT_THAT(Deeds(policy_.Tick(61'000)), Are(SendSignal{kLearnerSlot, SIGKILL}));
  EXPECT_THAT(policy_.Tick(62'000), IsEmpty()) << "killed once";
  const Actions died = policy_.OnLearnerExit(62'001, 76, kKilled9);
  ExpectLearnerAgain(policy_, died, 62'001);
  EXPECT_THAT(Said(died),
              HasSubstr("(pid 76) was killed by SIGKILL: it had not reported for 60 s"));
  EXPECT_FALSE(policy_.learner_silent());
  EXPECT_THAT(policy_.Tick(200'000), IsEmpty()) << "a start may take its time";
}

TEST_F(PolicyOfOne, LearnerThatReportsAgainIsForgiven) {
  policy_.OnStatus(0, StatusAt(160));
  policy_.Tick(50'000);
  EXPECT_THAT(Said(policy_.OnStatus(59'000, StatusAt(160))), HasSubstr("reports again"));
  EXPECT_FALSE(policy_.learner_silent());
  EXPECT_THAT(policy_.Tick(63'999), IsEmpty());
}

TEST_F(PolicyOfTwo, ActorThatHangsIsKilledAndReplaced) {
  const auto reports = [&](std::int64_t now, std::vector<learner::ActorStatus> rows) {
    policy_.OnStatus(now, Joined(1, std::move(rows)));
    return Deeds(policy_.Tick(now));
  };
  EXPECT_THAT(reports(100, {{0, 1, 4}, {1, 1, 3}}), IsEmpty());
  // The learner no longer hears of actor 1, and removes it.
  EXPECT_THAT(reports(60'099, {{0, 1, 9}}), IsEmpty());
  EXPECT_THAT(reports(60'100, {{0, 1, 9}}), Are(SendSignal{1, SIGKILL}));
  EXPECT_THAT(reports(60'200, {{0, 1, 9}}), IsEmpty()) << "killed once";
  const Actions died = policy_.OnActorExit(60'300, 1, 78, kKilled9);
  EXPECT_THAT(Deeds(died), Are(StartActor{1}));
  EXPECT_THAT(Said(died, LogLevel::kWarn),
              HasSubstr("actor 1 (pid 78) was killed by SIGKILL: it hung, the learner had not "
                        "heard of it for 60 s"));
  EXPECT_THAT(reports(200'000, {{0, 1, 9}}), IsEmpty()) << "one that has not joined may take long";
}

TEST_F(PolicyOfTwo, ActorsHaveTimeToFindANewLearner) {
  policy_.OnStatus(100, Joined(1, {{0, 1, 4}, {1, 1, 3}}));
  policy_.OnStatus(50'000, Joined(1, {{0, 1, 4}, {1, 1, 3}}));
  ExpectLearnerAgain(policy_, policy_.OnLearnerExit(50'000, 76, kKilled9), 50'000);
  policy_.OnStatus(109'000, Joined(2, {{0, 9, 0}}));
  EXPECT_THAT(Deeds(policy_.Tick(111'000)), IsEmpty());
  policy_.OnStatus(169'000, Joined(2, {{0, 9, 0}}));
  EXPECT_THAT(Deeds(policy_.Tick(169'000)), Are(SendSignal{1, SIGKILL}));
}

// ---- actors that leave

TEST_F(PolicyOfOne, ActorsThatOnlyLeaveAreWarnedOfAndGivenUp) {
  policy_.OnStatus(0, StatusAt(0));
  std::int64_t now = 0;
  for (int life = 1; life < 10; ++life) {
    EXPECT_THAT(Said(policy_.OnActorExit(now, 0, 77, Exit(0)), LogLevel::kWarn), "");
    now += 1000;
    const Actions next = policy_.Tick(now);
    EXPECT_THAT(Deeds(next), Are(StartActor{0}));
    EXPECT_THAT(Said(next, LogLevel::kWarn),
                HasSubstr("actor 0 left with exit status 0 while the run goes on"));
  }
  policy_.OnActorExit(now, 0, 77, Exit(0));
  EXPECT_THAT(Deeds(policy_.Tick(now + 1000)), Are(SendSignal{kLearnerSlot, SIGTERM}));
  EXPECT_THAT(Deeds(policy_.OnLearnerExit(now + 1001, 76, Exit(0))),
              End(kExitFailed,
                  "every actor ended 10 times in a row before its first accepted gradient: it "
                  "left with exit status 0"));
}

TEST_F(PolicyOfOne, LearnerWithProgressIsRestartedAtOnceFromItsCheckpoint) {
  policy_.OnStatus(10, StatusAt(0));
  policy_.OnStatus(20, StatusAt(320, "checkpoints/b"));
  const Actions died = policy_.OnLearnerExit(30, 76, kKilled9);
  ExpectLearnerAgain(policy_, died, 30);
  EXPECT_THAT(Said(died, LogLevel::kWarn),
              HasSubstr("the learner (pid 76) was killed by SIGKILL at 320 steps; started again at "
                        "once from checkpoints/b or a newer one"));
  EXPECT_EQ(policy_.counts().learner_restarted, 1u);
}

TEST_F(PolicyOfOne, LearnerWithoutProgressBacksOffAndIsGivenUpAtTheFifthDeath) {
  std::int64_t now = 0;
  for (const std::int64_t wait : {50, 100, 200, 400}) {
    policy_.OnStatus(now, StatusAt(160));  // where it begins, and no further
    EXPECT_THAT(Deeds(policy_.OnLearnerExit(now, 76, kAborted)), IsEmpty());
    EXPECT_THAT(Deeds(policy_.Tick(now + wait - 1)), IsEmpty());
    ExpectLearnerAgain(policy_, policy_.Tick(now + wait), now + wait);
    now += wait;
  }
  const Actions fifth = policy_.OnLearnerExit(now, 76, kAborted, "out of memory");
  EXPECT_THAT(Said(fifth, LogLevel::kError),
              HasSubstr("5 times in a row without an applied update: gave up; the reasons are in "
                        "run/log"));
  EXPECT_THAT(Deeds(policy_.Tick(now + 500)), Are(SendSignal{0, SIGTERM}));
  EXPECT_THAT(Deeds(policy_.OnActorExit(now + 501, 0, 77, Exit(0))),
              End(kExitFailed,
                  "the learner (pid 76) was killed by SIGABRT, 5 times in a row without an applied "
                  "update: out of memory"));
  EXPECT_EQ(policy_.counts().learner_restarted, 4u);
}

TEST_F(PolicyOfOne, AnyProgressForgivesTheDeathsBefore) {
  std::int64_t now = 0;
  const auto die_young = [&](int times) {
    for (int i = 0; i < times; ++i) {
      policy_.OnLearnerExit(now, 76, kAborted);
      now += 1000;
      ExpectLearnerAgain(policy_, policy_.Tick(now), now);
    }
  };
  die_young(4);
  policy_.OnStatus(now, Joined(1, {{0, 1, 1}}));  // an accepted gradient is progress, too
  ExpectLearnerAgain(policy_, policy_.OnLearnerExit(now, 76, kAborted), now);
  die_young(4);
}

TEST_F(PolicyOfOne, LearnerThatNeverReachesANewCheckpointIsGivenUpInTheEnd) {
  for (int death = 1; death < 30; ++death) {
    policy_.OnStatus(death, StatusAt(0));
    policy_.OnStatus(death, StatusAt(500));
    ExpectLearnerAgain(policy_, policy_.OnLearnerExit(death, 76, kAborted), death);
  }
  policy_.OnStatus(40, StatusAt(0));
  policy_.OnStatus(40, StatusAt(500));
  EXPECT_THAT(Said(policy_.OnLearnerExit(40, 76, kAborted), LogLevel::kError),
              HasSubstr("30 times in a row without a newer checkpoint: gave up"));
}

TEST_F(PolicyOfTwo, ProgramThatCannotBeStartedCountsAsDead) {
  const Actions died = policy_.OnActorExit(0, 0, -1, {ChildExit::How::kNotStarted, ENOMEM});
  EXPECT_THAT(Said(died), HasSubstr("actor 0 could not be started (Cannot allocate memory)"));
  EXPECT_THAT(Deeds(policy_.Tick(50)), Are(StartActor{0}));
}

TEST(PolicyDeathTest, NobodyDiesTwice) {
  SupervisorPolicy policy(PolicyLimits{}, 1, {1000}, false, "log");
  policy.Start(0);
  policy.OnActorExit(0, 0, 1, kAborted);
  EXPECT_DEATH(policy.OnActorExit(1, 0, 1, kAborted), "actor 0 died twice");
}

}  // namespace
}  // namespace starling::fleet
