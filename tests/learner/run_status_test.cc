#include "learner/run_status.h"

#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>

namespace starling::learner {
namespace {

RunStatus FullStatus() {
  return {
      .phase = "running",
      .term = 2,
      .steps = 320,
      .frames = 321,
      .updates = 3,
      .seconds = 1.5,
      .steps_per_second = 213.5,
      .mean_return = 4.25,
      .mean_length = 9.5,
      .episodes = 7,
      .episodes_cut = 9,
      .envs_replaced = 2,
      .lr = 0.25,
      .entropy_coef = 0.125,
      .losses = {.policy = -1, .value = 2, .entropy = 3, .grad_norm = 4},
      .gradients =
          {.received = 6, .applied = 3, .merged = 2, .in_flight = 1, .dropped = {{"stale", 2}}},
      .frames_refused = {{"kind", 4}},
      .deadlines = 5,
      .breaks = 6,
      .staleness = {.bound = 4, .max = 2, .mean = 0.5, .histogram = {1, 1, 1}},
      .actors_alive = 2,
      .actor_us =
          UnrollStatus{.wait = 1, .refresh = 2, .act = 3, .act_wait = 6, .gradient = 4, .push = 5},
      .time =
          {.actors = {.wait = 1, .refresh = 2, .act = 3, .act_wait = 6, .gradient = 4, .push = 5},
           .learner = {.receive = 6, .dispatch = 7, .idle = 8, .lanes = 9}},
      .version = 4,
      .checkpoint = "checkpoints/x",
      .saving = SavingStatus{.written = 8, .size = 9, .waited = 10},
      .joined = {{0, 1, 3, 30, 2, 1, 99'000}, {1, 5, 0}},
      .final = true};
}

// The format of the line, which other versions of the program read.
constexpr const char* kFullLine =
    R"({"phase":"running","term":2,"steps":320,"frames":321,"updates":3,"seconds":1.5,)"
    R"("steps_per_second":213.5,"mean_return":4.25,"mean_length":9.5,"episodes":7,)"
    R"("episodes_cut":9,"envs_replaced":2,"lr":0.25,"entropy_coef":0.125,)"
    R"("losses":{"policy":-1.0,"value":2.0,"entropy":3.0,"grad_norm":4.0},)"
    R"("gradients":{"received":6,"applied":3,"merged":2,"in_flight":1,"dropped":{"stale":2}},)"
    R"("frames_refused":{"kind":4},"deadlines":5,"breaks":6,)"
    R"("staleness":{"max":2,"mean":0.5,"bound":4,"histogram":[1,1,1]},"actors_alive":2,)"
    R"("actor_us":{"wait":1,"refresh":2,"act":3,"act_wait":6,"gradient":4,"push":5},)"
    R"("time":{"actors":{"wait":1.0,"refresh":2.0,"act":3.0,"act_wait":6.0,)"
    R"("gradient":4.0,"push":5.0},)"
    R"("learner":{"receive":6.0,"dispatch":7.0,"idle":8.0,"lanes":9.0}},)"
    R"("version":4,"checkpoint":"checkpoints/x","saving":{"written":8,"size":9,"waited":10},)"
    R"("joined":[[0,1,3,30,2,1,99],[1,5,0,0,0,0,0]],"final":true})";

TEST(StatusTest, IsWrittenAsALineAndReadBack) {
  EXPECT_EQ(ToJson(FullStatus()).dump(), kFullLine);
  EXPECT_EQ(ParseStatus(kFullLine), FullStatus());
  EXPECT_TRUE(FullStatus().gradients.AddUp());  // 6 = 3 + 2 + 1
}

TEST(StatusTest, UnknownNumbersAreNull) {
  RunStatus status;
  status.losses.policy = NAN;
  const auto line = ToJson(status);
  EXPECT_TRUE(line["mean_return"].is_null());
  EXPECT_TRUE(line["losses"]["policy"].is_null());
  EXPECT_EQ(line["staleness"]["bound"], "unbounded");
  EXPECT_FALSE(line.contains("actor_us"));
  EXPECT_EQ(ParseStatus(line.dump())->staleness.bound, kUnbounded);
}

TEST(StatusTest, ALineOfMetricsHasNoListsOfActorsOrStaleness) {
  const auto line = MetricsLine(FullStatus());
  EXPECT_FALSE(line.contains("joined") || line.contains("saving") || line.contains("final"));
  EXPECT_EQ(line["staleness"].dump(), R"({"max":2,"mean":0.5,"bound":4})");
}

TEST(StatusTest, UnknownKeysAreIgnored) {
  EXPECT_EQ(ParseStatus(R"({"steps":3,"of tomorrow":[]})")->steps, 3u);
}

TEST(StatusTest, AbsentAndNullKeysKeepTheirDefault) {
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

TEST(StatusTest, DetectsGradientsThatDoNotAddUp) {
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
