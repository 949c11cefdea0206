#include "fleet/eval_process.h"

#include <gtest/gtest.h>

namespace starling::fleet {
namespace {

TEST(EvalSchedule, OncePerMultipleWhenItIsPassed) {
  EvalSchedule schedule(100, 0);
  EXPECT_FALSE(schedule.Due(0));
  EXPECT_FALSE(schedule.Due(99));
  EXPECT_TRUE(schedule.Due(100));
  EXPECT_TRUE(schedule.Due(103)) << "until they are taken";
  schedule.Done(103);
  EXPECT_FALSE(schedule.Due(103));
  EXPECT_FALSE(schedule.Due(199));
  EXPECT_TRUE(schedule.Due(207));
}

TEST(EvalSchedule, MultiplesThatWereMissedAreNotMadeUpFor) {
  EvalSchedule schedule(100, 0);
  EXPECT_TRUE(schedule.Due(560));
  schedule.Done(560);
  EXPECT_FALSE(schedule.Due(599));
  EXPECT_TRUE(schedule.Due(600));
}

// The copy may be newer than the version that was looked at.
TEST(EvalSchedule, WhatCountsIsWhatWasTaken) {
  EvalSchedule schedule(100, 0);
  EXPECT_TRUE(schedule.Due(199));
  schedule.Done(203);
  EXPECT_FALSE(schedule.Due(204));
  EXPECT_TRUE(schedule.Due(300));
}

TEST(EvalSchedule, GoesOnBehindTheLastEvaluation) {
  EvalSchedule schedule(100, 230);
  EXPECT_FALSE(schedule.Due(240));
  EXPECT_TRUE(schedule.Due(300));
}

TEST(EvalSchedule, StepsThatGoBackCountFromThere) {
  EvalSchedule schedule(100, 0);
  EXPECT_TRUE(schedule.Due(730));
  schedule.Done(730);
  EXPECT_FALSE(schedule.Due(250)) << "the learner went on from a checkpoint";
  EXPECT_FALSE(schedule.Due(299));
  EXPECT_TRUE(schedule.Due(300));
}

TEST(EvalSchedule, StepsThatWentBackWhileNobodyLooked) {
  EvalSchedule schedule(100, 730);
  EXPECT_FALSE(schedule.Due(250));
  EXPECT_TRUE(schedule.Due(310));
}

}  // namespace
}  // namespace starling::fleet
