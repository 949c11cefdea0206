#include "learner/status.h"

#include <gmock/gmock.h>

namespace starling::learner {
namespace {

using testing::ElementsAre;
using testing::Pair;

TEST(StatusTest, ReadsALine) {
  const auto status = ParseStatus(
      R"({"phase":"running","term":2,"steps":320,"frames":321,"updates":3,"version":4,)"
      R"("seconds":1.5,)"
      R"("steps_per_second":213.5,"mean_return":4.25,"episodes":7,)"
      R"("episodes_cut":9,"envs_replaced":2,)"
      R"("staleness":{"bound":4,"max":2,"mean":0.5,"histogram":[1,1,1]},)"
      R"("gradients":{"received":6,"applied":3,"merged":2,"in_flight":1,"dropped":{"stale":2}},)"
      R"("actors_alive":2,"checkpoint":"checkpoints/x",)"
      R"("time":{"actors":{"wait":1,"refresh":2,"act":3,"gradient":4,"push":5},)"
      R"("learner":{"receive":6,"dispatch":7,"idle":8,"lanes":9}},)"
      R"("joined":[[0,1,3,30,2,1,99],[1,5,0,0,0,0,0]],"final":true,"of tomorrow":[]})");
  ASSERT_TRUE(status.has_value());
  EXPECT_EQ(status->phase, "running");
  EXPECT_EQ(status->term, 2u);
  EXPECT_EQ(status->steps, 320u);
  EXPECT_EQ(status->frames, 321u);
  EXPECT_EQ(status->updates, 3u);
  EXPECT_EQ(status->version, 4u);
  EXPECT_EQ(status->seconds, 1.5);
  EXPECT_EQ(status->steps_per_second, 213.5);
  EXPECT_EQ(status->mean_return, 4.25);
  EXPECT_EQ(status->episodes, 7u);
  EXPECT_EQ(status->episodes_cut, 9u);
  EXPECT_EQ(status->envs_replaced, 2u);
  EXPECT_EQ(status->staleness.max, 2u);
  EXPECT_EQ(status->staleness.mean, 0.5);
  EXPECT_THAT(status->staleness.histogram, ElementsAre(1, 1, 1));
  EXPECT_EQ(status->gradients.received, 6u);
  EXPECT_EQ(status->gradients.applied, 3u);
  EXPECT_EQ(status->gradients.merged, 2u);
  EXPECT_THAT(status->gradients.dropped, ElementsAre(Pair("stale", 2)));
  EXPECT_TRUE(status->gradients.AddUp());  // 6 = 3 + 2 + 1
  EXPECT_EQ(status->time.actors.wait, 1);
  EXPECT_EQ(status->time.actors.refresh, 2);
  EXPECT_EQ(status->time.actors.act, 3);
  EXPECT_EQ(status->time.actors.gradient, 4);
  EXPECT_EQ(status->time.actors.push, 5);
  EXPECT_EQ(status->time.learner.receive, 6);
  EXPECT_EQ(status->time.learner.dispatch, 7);
  EXPECT_EQ(status->time.learner.idle, 8);
  EXPECT_EQ(status->time.learner.lanes, 9);
  EXPECT_EQ(status->actors_alive, 2);
  EXPECT_EQ(status->checkpoint, "checkpoints/x");
  EXPECT_THAT(status->joined,
              ElementsAre(JoinedActor{0, 1, 3, 30, 2, 1, 99}, JoinedActor{1, 5, 0}));
  EXPECT_TRUE(status->final);
}

TEST(StatusTest, WhatIsAbsentOrNullKeepsItsDefault) {
  const auto status = ParseStatus(R"({"steps":1,"mean_return":null,"checkpoint":null})");
  ASSERT_TRUE(status.has_value());
  EXPECT_EQ(status->phase, "waiting");
  EXPECT_FALSE(status->mean_return.has_value());
  EXPECT_EQ(status->checkpoint, "");
  EXPECT_FALSE(status->final);
}

TEST(StatusTest, TornAndForeignLinesAreRefused) {
  for (const char* line :
       {"", "x", "[]", "3", R"({"steps":32)", R"({"steps":"many"})", R"({"joined":[[0,1,2]]})",
        R"({"joined":[3]})", R"({"staleness":{"histogram":7}})",
        R"({"time":{"actors":{"act":"x"}}})", R"({"mean_return":"good"})"}) {
    EXPECT_FALSE(ParseStatus(line).has_value()) << line;
  }
}

TEST(StatusTest, GradientsThatDoNotAddUpAreSeen) {
  GradientStatus gradients{.received = 10,
                           .applied = 4,
                           .merged = 0,
                           .in_flight = 1,
                           .dropped = {{"stale", 2}, {"nan", 3}}};
  EXPECT_EQ(gradients.dropped_total(), 5u);
  EXPECT_TRUE(gradients.AddUp());
  ++gradients.received;
  EXPECT_FALSE(gradients.AddUp());
}

}  // namespace
}  // namespace starling::learner
