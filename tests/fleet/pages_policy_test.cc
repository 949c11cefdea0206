// The supervisor's decisions on the server of its pages; times are milliseconds.
#include "fleet/pages_policy.h"

#include <gmock/gmock.h>

#include "core/error.h"
#include "tests/fleet/policy_fixture.h"

namespace starling::fleet {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;

const Action kStartThem = StartPages{};

class PagesPolicyTest : public testing::Test {
 protected:
  // One run of 1000 steps with one actor, started at time 0.
  PagesPolicyTest()
      : policy_(PolicyLimits{}, 1, {1000}, false, "run/log", /*evaluates=*/false, /*pages=*/true) {
    EXPECT_THAT(policy_.Start(0), Are(kStartThem, StartLearner{false}, StartActor{0}));
  }

  SupervisorPolicy policy_;
};

TEST_F(PagesPolicyTest, AreStartedAgainLaterEachTime) {
  std::int64_t now = 1000;
  for (const std::int64_t wait : {50, 100, 200, 400}) {
    const Actions died = policy_.OnPagesExit(now, 79, kKilled9);
    EXPECT_THAT(Deeds(died), IsEmpty());
    EXPECT_THAT(Said(died), HasSubstr("the server of the status pages (pid 79) was killed by "
                                      "SIGKILL; started again in"));
    EXPECT_THAT(Deeds(policy_.Tick(now + wait - 1)), IsEmpty()) << wait;
    EXPECT_THAT(Deeds(policy_.Tick(now + wait)), Are(kStartThem)) << wait;
    now += wait;
  }
}

TEST_F(PagesPolicyTest, AreGivenUpWithOneWarningAndTheRunGoesOn) {
  std::string said;
  int starts = 0;
  for (std::int64_t now = 1000; now <= 30'000; now += 2000) {
    said = Said(policy_.OnPagesExit(now, 79, kAborted));
    const Actions next = Deeds(policy_.Tick(now + 1999));
    if (next.empty()) break;
    ++starts;
  }
  EXPECT_EQ(starts, 9);
  EXPECT_EQ(said,
            "the server of the status pages (pid 79) was killed by SIGABRT, 10 times in a row: the "
            "run goes on without status pages; the reasons are in run/log\n");
  EXPECT_THAT(Deeds(policy_.Tick(1'000'000)), IsEmpty());
}

TEST_F(PagesPolicyTest, ALongLifeBeginsANewRow) {
  std::int64_t now = 0;
  for (int life = 0; life < 30; ++life) {
    now += 40'000;
    policy_.OnPagesExit(now, 79, kKilled9);
    now += 50;  // as after a first death
    EXPECT_THAT(Deeds(policy_.Tick(now)), Are(kStartThem)) << life;
  }
}

TEST_F(PagesPolicyTest, TheOperatorsMistakeIsNotTriedAgain) {
  EXPECT_THAT(Said(policy_.OnPagesExit(10, 79, Exit(kExitUserError))),
              HasSubstr("the run goes on without status pages"));
  EXPECT_THAT(Deeds(policy_.Tick(100'000)), IsEmpty());
}

// They live: the run does not wait for them.
TEST_F(PagesPolicyTest, ARunThatIsDoneEnds) {
  policy_.OnStatus(1000, Final(1000));
  policy_.OnActorExit(1000, 0, 77, Exit(0));
  EXPECT_THAT(Deeds(policy_.OnLearnerExit(1000, 76, Exit(0))), Are(Finish{0}));
}

}  // namespace
}  // namespace starling::fleet
