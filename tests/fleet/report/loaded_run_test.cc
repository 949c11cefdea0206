#include "fleet/report/loaded_run.h"

#include <gmock/gmock.h>

#include "tests/fleet/report/written_run.h"

namespace starling::fleet {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

std::string Metric(int steps, double seconds, const std::string& mean_return) {
  return fmt::format("{{\"steps\":{},\"seconds\":{},\"mean_return\":{}}}\n", steps, seconds,
                     mean_return);
}

std::vector<double> StepsOf(const std::vector<MetricPoint>& points) {
  std::vector<double> steps;
  for (const MetricPoint& point : points) steps.push_back(point.steps);
  return steps;
}

TEST(ParseMetricsTest, ALastLineThatWasCutIsPassedOver) {
  int damaged = -1;
  const auto points =
      ParseMetrics(Metric(0, 0, "null") + Metric(10, 1, "2.5") + "{\"steps\":20,\"sec", damaged);
  ASSERT_THAT(points, SizeIs(2));
  EXPECT_FALSE(points[0].mean_return);
  EXPECT_EQ(points[1].mean_return, 2.5);
  EXPECT_EQ(points[1].seconds, 1);
  EXPECT_EQ(damaged, 0);
}

TEST(ParseMetricsTest, OtherDamagedLinesAreCounted) {
  int damaged = 0;
  const auto points =
      ParseMetrics(Metric(0, 0, "1") + "\0\0\n{\"steps\":3}\n" + Metric(10, 1, "1"), damaged);
  EXPECT_THAT(StepsOf(points), ElementsAre(0, 10));
  EXPECT_EQ(damaged, 2);
}

// Gone on with from 10: what it did up to 30 before counts no more.
TEST(ParseMetricsTest, WhatARunLostIsTakenBack) {
  int damaged = 0;
  const auto points =
      ParseMetrics(Metric(0, 0, "1") + Metric(10, 1, "1") + Metric(20, 2, "1") +
                       Metric(30, 3, "1") + Metric(10, 1.5, "1") + Metric(25, 3, "1"),
                   damaged);
  EXPECT_THAT(StepsOf(points), ElementsAre(0, 10, 10, 25));
}

TEST(ParseEvalsTest, StepsAndReturns) {
  int damaged = 0;
  const auto points = ParseEvals(
      "{\"steps\":10,\"term\":1,\"version\":3,\"episodes\":5,\"mean_return\":1.5,\"std\":0.1,"
      "\"seconds\":0.2}\n{\"steps\":20,\"mean_return\":2.5}\n",
      damaged);
  ASSERT_THAT(points, SizeIs(2));
  EXPECT_EQ(points[0].steps, 10);
  EXPECT_EQ(points[1].mean_return, 2.5);
}

class LoadRunTest : public testing::Test {
 protected:
  TempDir dir_;
};

TEST_F(LoadRunTest, AFinishedRun) {
  const LoadedRun run = LoadRun(WriteRun(dir_, "a", {.seed = 7}));
  EXPECT_EQ(run.state, RunState::kFinished);
  EXPECT_THAT(run.troubles, IsEmpty());
  EXPECT_EQ(run.Key("run.seed"), "7");
  EXPECT_EQ(run.Key("env.name"), "\"catch\"");
  EXPECT_EQ(run.Key("env.nome"), "");
  EXPECT_THAT(run.metrics, SizeIs(11));
  EXPECT_THAT(run.staleness, ElementsAre(60, 30, 9, 1));
  EXPECT_EQ(run.time.actors.gradient, 0.5);
  EXPECT_EQ(run.time.learner.lanes, 0.2);
  EXPECT_EQ(run.steps(), 1000);
}

TEST_F(LoadRunTest, OneThatWasInterruptedOrKilled) {
  for (const bool summary : {true, false}) {
    const LoadedRun run =
        LoadRun(WriteRun(dir_, summary ? "a" : "b", {.steps = 400, .summary = summary}));
    EXPECT_EQ(run.state, RunState::kUnfinished);
    EXPECT_THAT(run.troubles, ElementsAre("stopped at 40 % of its steps"));
  }
}

TEST_F(LoadRunTest, AFailedOneSaysWhy) {
  WriteRun(dir_, "a", {.steps = 400});
  dir_.Write("a/log",
             "12:00:00.000 info  fleet: learner started, pid 3\n"
             "12:00:01.000 error fleet: the learner gave up\n");
  const LoadedRun run = LoadRun(dir_ / "a");
  EXPECT_EQ(run.state, RunState::kFailed);
  EXPECT_THAT(run.troubles, Contains("the learner gave up"));
}

TEST_F(LoadRunTest, DamageIsSaidAndTheRestIsRead) {
  WriteRun(dir_, "a", {});
  dir_.Write("a/config.toml", "[run\n");
  LoadedRun run = LoadRun(dir_ / "a");
  EXPECT_EQ(run.state, RunState::kDamaged);
  EXPECT_THAT(run.troubles, ElementsAre(HasSubstr("config.toml is damaged: ")));
  EXPECT_THAT(run.metrics, SizeIs(11));

  dir_.Write("a/config.toml", "[run]\nsteps = 10\n");
  EXPECT_THAT(LoadRun(dir_ / "a").troubles, ElementsAre(HasSubstr("there is no env.name in it")));

  WriteRun(dir_, "b", {});
  dir_.Write("b/summary.json", "{\"steps\": 1000");
  run = LoadRun(dir_ / "b");
  EXPECT_EQ(run.state, RunState::kDamaged);
  EXPECT_THAT(run.troubles, ElementsAre("summary.json is damaged"));

  WriteRun(dir_, "c", {});
  std::filesystem::remove(dir_ / "c/metrics.jsonl");
  run = LoadRun(dir_ / "c");
  EXPECT_EQ(run.state, RunState::kFinished) << "its numbers are sound";
  EXPECT_THAT(run.troubles, ElementsAre("metrics.jsonl is missing: no curves"));

  std::filesystem::create_directory(dir_ / "d");
  run = LoadRun(dir_ / "d");
  EXPECT_EQ(run.state, RunState::kDamaged);
  EXPECT_THAT(run.troubles, Contains("config.toml is missing"));
}

}  // namespace
}  // namespace starling::fleet
