#include "results/run_record.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <sys/stat.h>

#include "tests/support/written_run.h"

namespace starling::results {
namespace {

using namespace std::string_literals;
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
      ParseMetrics(Metric(0, 0, "1") + "\0\0\n{\"steps\":3}\n"s + Metric(10, 1, "1"), damaged);
  EXPECT_THAT(StepsOf(points), ElementsAre(0, 10));
  EXPECT_EQ(damaged, 2);
}

// Resumed from step 10: the lines up to step 30 before it no longer count.
TEST(ParseMetricsTest, WhatARunLostIsTakenBack) {
  int damaged = 0;
  const auto points =
      ParseMetrics(Metric(0, 0, "1") + Metric(10, 1, "1") + Metric(20, 2, "1") +
                       Metric(30, 3, "1") + Metric(10, 1.5, "1") + Metric(25, 3, "1"),
                   damaged);
  EXPECT_THAT(StepsOf(points), ElementsAre(0, 10, 10, 25));
}

TEST(ParseMetricsTest, NumbersThatCannotBeAreDamage) {
  int damaged = 0;
  const auto points =
      ParseMetrics(Metric(0, 0, "1") + Metric(10, 1, "1") + Metric(-5, 2, "1") +
                       Metric(20, -5, "1") + Metric(20, 2, "1e300") + "{\"steps\":2",
                   damaged);
  EXPECT_THAT(StepsOf(points), ElementsAre(0, 10));
  EXPECT_EQ(damaged, 3);
}

TEST(ParseMetricsTest, AWholeLastLineThatIsGarbageIsDamage) {
  int damaged = 0;
  ParseMetrics(Metric(0, 0, "1") + "garbage\n", damaged);
  EXPECT_EQ(damaged, 1);
}

TEST(FlatConfigTest, KeysOfAllSections) {
  const FlatConfig flat = Flatten("outside = 1\n[a]\nx = 0.003\ny = [1, 2]\n[b]\nx = \"w\"\n");
  EXPECT_EQ(flat, (FlatConfig{{"a.x", "0.003"}, {"a.y", "[1, 2]"}, {"b.x", "\"w\""}}));
  EXPECT_THROW(Flatten("[a"), std::runtime_error);
  EXPECT_THROW(Flatten(std::string(200'000, '.')), std::runtime_error);
}

class LoadRunTest : public testing::Test {
 protected:
  TempDir dir_;
};

TEST_F(LoadRunTest, AFinishedRun) {
  const LoadedRun run = LoadRun(WriteRun(dir_, "a", {.seed = 7}));
  EXPECT_EQ(run.state, RunState::kFinished);
  EXPECT_THAT(run.problems, IsEmpty());
  EXPECT_EQ(run.Key("run.seed"), "7");
  EXPECT_EQ(run.Key("env.name"), "\"catch\"");
  EXPECT_EQ(run.Key("env.nome"), "");
  EXPECT_THAT(run.metrics, SizeIs(11));
  ASSERT_TRUE(run.summary);
  EXPECT_THAT(run.summary->staleness.histogram, ElementsAre(60, 30, 9, 1));
  EXPECT_EQ(run.summary->time.actors.gradient, 0.5);
  EXPECT_EQ(run.summary->time.learner.lanes, 0.2);
  EXPECT_EQ(run.steps(), 1000);
}

TEST_F(LoadRunTest, OneThatWasInterruptedOrKilled) {
  for (const bool summary : {true, false}) {
    const LoadedRun run =
        LoadRun(WriteRun(dir_, summary ? "a" : "b", {.steps = 400, .summary = summary}));
    EXPECT_EQ(run.state, RunState::kUnfinished);
    EXPECT_THAT(run.problems, ElementsAre("is at 40 % of its steps"));
  }
}

TEST_F(LoadRunTest, OneThatEndedByItsScoreIsFinished) {
  const auto state_with = [&](const std::string& until_return, int episodes) {
    WriteRun(dir_, "a", {.steps = 400, .mean_return = 5});
    const std::string config = dir_.Read("a/config.toml"), summary = dir_.Read("a/summary.json");
    dir_.Write("a/config.toml", "[run]\nuntil_return = " + until_return + config.substr(5));
    dir_.Write("a/summary.json", fmt::format("{{\"episodes\":{},{}", episodes, summary.substr(1)));
    return LoadRun(dir_ / "a").state;
  };
  EXPECT_EQ(state_with("5", 100), RunState::kFinished);
  EXPECT_EQ(state_with("5.0", 100), RunState::kFinished);
  EXPECT_EQ(state_with("-1", 99), RunState::kUnfinished);
  EXPECT_EQ(state_with("5.01", 100), RunState::kUnfinished);
  EXPECT_EQ(state_with("\"never\"", 100), RunState::kUnfinished);
}

// A program may lack the instructions of its configuration.
TEST_F(LoadRunTest, ASimulationHasTheInstructionsThatComputedIt) {
  WriteRun(dir_, "a", {});
  dir_.Write("a/config.toml", dir_.Read("a/config.toml") + "[actors]\ninstructions = \"avx2\"\n");
  const std::string summary = dir_.Read("a/summary.json");
  dir_.Write("a/summary.json", "{\"instructions\":\"native\"," + summary.substr(1));
  EXPECT_EQ(LoadRun(dir_ / "a").Key("actors.instructions"), "\"avx2\"") << "of its actors";
  dir_.Write("a/simulated", "");
  EXPECT_EQ(LoadRun(dir_ / "a").Key("actors.instructions"), "\"native\"");
}

TEST_F(LoadRunTest, CurvesThatEndEarlyAreLeftOut) {
  WriteRun(dir_, "a", {});
  dir_.Write("a/metrics.jsonl", MetricsOf({.steps = 300}));
  LoadedRun run = LoadRun(dir_ / "a");
  EXPECT_EQ(run.state, RunState::kFinished);
  EXPECT_THAT(run.problems, ElementsAre("metrics.jsonl ends at 30 % of its steps: no curves"));
  EXPECT_THAT(run.metrics, IsEmpty());
  dir_.Write("a/metrics.jsonl", "");
  EXPECT_THAT(LoadRun(dir_ / "a").problems, ElementsAre("metrics.jsonl is empty: no curves"));
}

TEST_F(LoadRunTest, AnEvaluationOfOtherWeightsIsLeftOut) {
  WriteRun(dir_, "a", {});
  WriteFinalEval(dir_ / "a", {.checkpoint = "checkpoints/a", .played = {5}, .mean_return = 2});
  EXPECT_TRUE(LoadRun(dir_ / "a").final_eval);
  WriteFinalEval(dir_ / "a", {.checkpoint = "checkpoints/old", .played = {5}, .mean_return = 2});
  const LoadedRun run = LoadRun(dir_ / "a");
  EXPECT_FALSE(run.final_eval);
  EXPECT_THAT(run.problems, ElementsAre("final_eval.json is not of its final weights: left out"));
}

TEST_F(LoadRunTest, EvaluationsThatARunLostAreTakenBack) {
  WriteRun(dir_, "a", {});
  std::string lines;
  for (const int steps : {10, 20, 30, 20}) {
    lines += fmt::format(
        "{{\"steps\":{},\"term\":1,\"version\":3,\"episodes\":5,\"mean_return\":1.5,\"std\":0.1,"
        "\"seconds\":0.2}}\n",
        steps);
  }
  dir_.Write("a/eval.jsonl", lines + "{\"steps\":20}\n{\"ste");
  const LoadedRun run = LoadRun(dir_ / "a");
  ASSERT_THAT(run.evals, SizeIs(3));
  EXPECT_EQ(run.evals[1].steps, 20u);
  EXPECT_EQ(run.evals[2].steps, 20u);
  EXPECT_THAT(run.problems, ElementsAre("1 damaged line of eval.jsonl left out"));
}

TEST_F(LoadRunTest, WhatIsNoFileIsNotReadForEver) {
  WriteRun(dir_, "a", {});
  for (const char* name : {"metrics.jsonl", "summary.json", "log", "final_eval.json"}) {
    std::filesystem::remove(dir_ / ("a/" + std::string(name)));
    ASSERT_EQ(::mkfifo((dir_ / ("a/" + std::string(name))).c_str(), 0600), 0);
  }
  const LoadedRun run = LoadRun(dir_ / "a");
  EXPECT_EQ(run.state, RunState::kDamaged);
  EXPECT_THAT(run.problems, ElementsAre("metrics.jsonl cannot be read: Invalid argument: no curves",
                                        "summary.json cannot be read: Invalid argument"));
}

TEST_F(LoadRunTest, DamageIsSaidAndTheRestIsRead) {
  WriteRun(dir_, "a", {});
  // 1. A damaged configuration.
  dir_.Write("a/config.toml", "[run\n");
  LoadedRun run = LoadRun(dir_ / "a");
  EXPECT_EQ(run.state, RunState::kDamaged);
  EXPECT_THAT(run.problems, ElementsAre(HasSubstr("config.toml is damaged: ")));
  EXPECT_THAT(run.metrics, SizeIs(11));

  dir_.Write("a/config.toml", "[run]\nsteps = 10\n");
  EXPECT_THAT(LoadRun(dir_ / "a").problems, ElementsAre(HasSubstr("there is no env.name in it")));

  // 2. A damaged summary.
  WriteRun(dir_, "b", {});
  dir_.Write("b/summary.json", "{\"steps\": 1000");
  run = LoadRun(dir_ / "b");
  EXPECT_EQ(run.state, RunState::kDamaged);
  EXPECT_THAT(run.problems, ElementsAre("summary.json is damaged"));

  // 3. Missing files.
  WriteRun(dir_, "c", {});
  std::filesystem::remove(dir_ / "c/metrics.jsonl");
  run = LoadRun(dir_ / "c");
  EXPECT_EQ(run.state, RunState::kFinished) << "its numbers are sound";
  EXPECT_THAT(run.problems, ElementsAre("metrics.jsonl is missing: no curves"));

  std::filesystem::create_directory(dir_ / "d");
  run = LoadRun(dir_ / "d");
  EXPECT_EQ(run.state, RunState::kDamaged);
  EXPECT_THAT(run.problems, Contains("config.toml is missing"));
}

using MetricsTailTest = TempDirTest;

std::string MetricLine(int steps, double seconds) {
  return fmt::format("{{\"steps\":{},\"seconds\":{},\"mean_return\":null}}\n", steps, seconds);
}

TEST_F(MetricsTailTest, ReadsWhatIsNew) {
  MetricsTail tail(dir_.path());
  EXPECT_FALSE(tail.Read()) << "there is no file";
  std::string text = MetricLine(10, 1);
  dir_.Write("metrics.jsonl", text + "{\"steps\":2");  // half a line
  EXPECT_TRUE(tail.Read());
  ASSERT_EQ(tail.points().size(), 1u);
  EXPECT_FALSE(tail.Read()) << "half a line is none";
  text += MetricLine(20, 2) + "damaged\n" + MetricLine(30, 3);
  dir_.Write("metrics.jsonl", text);
  EXPECT_TRUE(tail.Read());
  ASSERT_EQ(tail.points().size(), 3u);
  EXPECT_EQ(tail.points().back().steps, 30);
  text += MetricLine(20, 2.5);  // resumed from a checkpoint
  dir_.Write("metrics.jsonl", text);
  tail.Read();
  ASSERT_EQ(tail.points().size(), 3u) << "the point at step 30 is taken back";
  EXPECT_EQ(tail.points().back().seconds, 2.5);
  dir_.Write("metrics.jsonl", MetricLine(5, 1));
  EXPECT_TRUE(tail.Read()) << "another file";
  ASSERT_EQ(tail.points().size(), 1u);
  std::filesystem::remove(dir_ / "metrics.jsonl");
  EXPECT_TRUE(tail.Read());
  EXPECT_TRUE(tail.points().empty());
}

// A run of months is read in parts, and as a whole in the end.
TEST_F(MetricsTailTest, AFileOfAnySizeIsReadInParts) {
  std::string text;
  for (int i = 1; i <= 400'000; ++i) text += MetricLine(i, i);
  ASSERT_GT(text.size(), std::size_t{16} << 20);
  dir_.Write("metrics.jsonl", text);
  MetricsTail tail(dir_.path());
  EXPECT_TRUE(tail.Read());
  EXPECT_TRUE(tail.behind());
  EXPECT_LT(tail.points().size(), 200'000u);
  while (tail.behind()) EXPECT_TRUE(tail.Read());
  tail.Read();
  EXPECT_EQ(tail.points().size(), 400'000u);
}

}  // namespace
}  // namespace starling::results
