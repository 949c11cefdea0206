#include "results/summary.h"

#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "core/error.h"
#include "core/text.h"
#include "tests/support/fleet_fixtures.h"

namespace starling::results {
namespace {

using Json = nlohmann::ordered_json;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

Config SomeConfig() {
  Config config;
  config.env.name = "catch";
  config.run.seed = 3;
  config.staleness.bound = 4;
  config.actors.instructions = Instructions::kAvx2;
  return config;
}

learner::RunStatus SomeStatus() {
  learner::RunStatus status;
  status.phase = "done";
  status.steps = 1'000'160;
  status.frames = 1'000'160;
  status.updates = 6251;
  status.seconds = 61.5;
  status.steps_per_second = 16'262.8;
  status.mean_return = 24.5;
  status.episodes = 1234;
  status.envs_replaced = 3;
  status.episodes_cut = 24;
  status.staleness = {.max = 2, .mean = 0.5, .histogram = {3126, 3124, 1}};
  status.gradients = {.received = 6263,
                      .applied = 6251,
                      .merged = 2,
                      .in_flight = 2,
                      .dropped = {{"not_finite", 3}, {"too_stale", 7}}};
  status.time = {.actors = {.wait = 2, .refresh = 1, .act = 38, .gradient = 54, .push = 5},
                 .learner = {.receive = 4, .dispatch = 1, .idle = 45, .lanes = 7}};
  status.checkpoint = "checkpoints/t0001-v000000006251.safetensors";
  status.final = true;
  return status;
}

Json Parsed(const RunSummary& summary) { return Json::parse(ToJson(summary)); }

TEST(SummaryTest, ValuesOfStatusConfigAndCounts) {
  const Json expected = Json::parse(R"({
    "env": "catch", "seed": 3, "steps": 1000160, "frames": 1000160, "updates": 6251,
    "seconds": 61.5, "steps_per_second": 16262.8, "mean_return": 24.5, "episodes": 1234,
    "staleness": {"bound": 4, "max": 2, "mean": 0.5, "histogram": [3126, 3124, 1]},
    "gradients": {"received": 6263, "applied": 6251, "merged": 2, "in_flight": 2,
                  "dropped": {"not_finite": 3, "too_stale": 7}},
    "actors": {"started": 5, "restarted": 2}, "learner": {"restarted": 1},
    "envs": {"replaced": 3, "episodes_cut": 24}, "exact": true,
    "time": {"actors": {"wait": 0.02, "refresh": 0.01, "act": 0.38, "act_wait": 0.0,
                        "gradient": 0.54, "push": 0.05},
             "learner": {"receive": 0.08, "dispatch": 0.02, "idle": 0.9, "lanes": 0.14}},
    "bottleneck": "the actors: they compute 92 % of the time (act 38 %, gradient 54 %);)"
                                    R"( the learner's lanes are busy 14 %, its network thread 10 %",
    "error": null, "final_checkpoint": "checkpoints/t0001-v000000006251.safetensors",
    "instructions": "avx2"})");
  EXPECT_EQ(Parsed(BuildSummary(SomeConfig(), SomeStatus(), {5, 2, 1})), expected);
}

TEST(SummaryTest, RunInWhichNoLearnerEverSpoke) {
  Config config = SomeConfig();
  config.staleness.bound = kUnbounded;
  const Json summary = Parsed(BuildSummary(config, std::nullopt, {2, 0, 4}));
  EXPECT_EQ(summary["steps"], 0);
  EXPECT_EQ(summary["mean_return"], nullptr);
  EXPECT_EQ(summary["final_checkpoint"], nullptr);
  EXPECT_EQ(summary["staleness"]["bound"], "unbounded");
  EXPECT_EQ(summary["staleness"]["histogram"], Json::array());
  EXPECT_EQ(summary["gradients"]["dropped"], Json::object());
  EXPECT_EQ(summary["learner"]["restarted"], 4);
}

EvalStanding SomeEvaluations() {
  return {.best = EvalLine{.steps = 900'000,
                           .term = 1,
                           .version = 5625,
                           .episodes = 20,
                           .mean_return = 30.25,
                           .std = 2.5,
                           .seconds = 1.5},
          .last = EvalLine{.steps = 1'000'160,
                           .term = 1,
                           .version = 6251,
                           .episodes = 20,
                           .mean_return = 28.5,
                           .std = 3,
                           .seconds = 1.25}};
}

TEST(SummaryTest, EvaluationsAndWhereItStartedFromIfThereWereAny) {
  Config config = SomeConfig();
  Json summary = Parsed(BuildSummary(config, SomeStatus(), {}, SomeEvaluations()));
  EXPECT_FALSE(summary.contains("eval") || summary.contains("init_from"));
  config.eval.every_steps = 100'000;
  config.run.init_from = "/runs/a/checkpoints/best.safetensors";
  summary = Parsed(BuildSummary(config, SomeStatus(), {}, SomeEvaluations()));
  EXPECT_EQ(summary["init_from"], config.run.init_from);
  EXPECT_EQ(summary["eval"], Json::parse(R"({
    "best": {"steps": 900000, "term": 1, "version": 5625, "episodes": 20, "mean_return": 30.25,
             "std": 2.5, "seconds": 1.5},
    "last": {"steps": 1000160, "term": 1, "version": 6251, "episodes": 20, "mean_return": 28.5,
             "std": 3.0, "seconds": 1.25}})"));
  EXPECT_EQ(Parsed(BuildSummary(config, SomeStatus(), {}))["eval"],
            Json::parse(R"({"best": null, "last": null})"));
}

TEST(SummaryTest, TheReturnAtWhichItEnded) {
  Config config = SomeConfig();
  const auto described = [&] {
    return DescribeRun(BuildSummary(config, SomeStatus(), {}), kExitDone, "r", "s");
  };
  config.run.until_return = 24.6;
  EXPECT_FALSE(Parsed(BuildSummary(config, SomeStatus(), {})).contains("until_return"));
  EXPECT_THAT(described(), testing::Each(Not(HasSubstr("until_return"))));
  config.run.until_return = 24.5;
  EXPECT_EQ(Parsed(BuildSummary(config, SomeStatus(), {}))["until_return"], 24.5);
  EXPECT_THAT(described(), Contains("  reached     mean return 24.50 over the last 100 episodes: "
                                    "run.until_return = 24.5 is reached"));
}

TEST(SummaryTest, LinesOnTheEvaluations) {
  Config config = SomeConfig();
  config.eval.every_steps = 100'000;
  const auto lines = [&](const EvalStanding& evaluated) {
    return DescribeRun(BuildSummary(config, SomeStatus(), {}, evaluated), kExitDone, "r", "s");
  };
  EvalStanding evaluated = SomeEvaluations();
  EXPECT_THAT(lines(evaluated),
              testing::IsSupersetOf(
                  {"  evaluation  best 30.25 at 900,000 steps, last 28.50 at 1,000,160 steps",
                   "  best        r/checkpoints/best.safetensors"}));
  evaluated.best.reset();  // it could not be saved
  EXPECT_THAT(lines(evaluated), Contains("  evaluation  last 28.50 at 1,000,160 steps"));
  EXPECT_THAT(lines(evaluated), Not(Contains(HasSubstr("best"))));
  EXPECT_THAT(lines({}), Contains("  evaluation  none has ended"));
}

TEST(SummaryTest, IsWrittenWholeOneKeyALine) {
  TempDir dir;
  dir.Write("summary.json", "of an earlier run");
  const RunSummary summary = BuildSummary(SomeConfig(), SomeStatus(), {5, 2, 1});
  EXPECT_EQ(WriteSummary(dir.path(), summary), "");
  EXPECT_EQ(dir.Read("summary.json"), ToJson(summary));
  EXPECT_THAT(dir.Lines("summary.json"), testing::SizeIs(Parsed(summary).size() + 2));
}

TEST(SummaryTest, TroubleWithTheDiskIsReturned) {
  TempDir dir;
  const std::string problem = WriteSummary(dir.path() / "absent", {});
  EXPECT_THAT(problem, HasSubstr("absent"));
  EXPECT_THAT(problem, HasSubstr("No such file"));
}

TEST(SummaryTest, LinesForPeople) {
  const RunSummary summary = BuildSummary(SomeConfig(), SomeStatus(), {5, 2, 1, 1});
  EXPECT_THAT(
      DescribeRun(summary, kExitDone, "runs/catch", "bin/starling"),
      ElementsAre("done in 1:02: 1,000,160 steps, 6,251 updates, 16,263 steps/s",
                  "  return      24.50, mean of the last 100 of 1,234 training episodes",
                  "  staleness   mean 0.50, max 2, bound 4",
                  "  gradients   6,263 received, 6,251 applied (2 merged), 2 under way at the end, "
                  "dropped: 3 not_finite, 7 too_stale",
                  "  restarted   actors 2 times, the learner 1 times",
                  "  given up    1 actor that ended again and again (see the log)",
                  "  replaced    3 processes of envs, 24 episodes were cut (see the log)",
                  "  bottleneck  the actors: they compute 92 % of the time (act 38 %, gradient "
                  "54 %); the learner's lanes are busy 14 %, its network thread 10 %",
                  "  checkpoint  runs/catch/checkpoints/t0001-v000000006251.safetensors",
                  "  next        bin/starling eval runs/catch --episodes 100"));
}

TEST(SummaryTest, LinesAfterAnInterruptAndWithoutACheckpoint) {
  learner::RunStatus status = SomeStatus();
  auto lines = DescribeRun(BuildSummary(SomeConfig(), status, {}), kExitInterrupted, "r", "s");
  EXPECT_THAT(lines.front(), HasSubstr("interrupted after 1:02"));
  EXPECT_EQ(lines.back(), "  go on with  s train --resume r");
  lines = DescribeRun(BuildSummary(SomeConfig(), status, {}), kExitInterrupted, "-my run", "b n/s");
  EXPECT_EQ(lines.back(), "  go on with  'b n/s' train --resume './-my run'");

  status = learner::RunStatus{};
  lines =
      DescribeRun(BuildSummary(SomeConfig(), status, {}, {}, "disk full"), kExitFailed, "r", "s");
  EXPECT_EQ(lines[0], "failed after 0:00: 0 steps, 0 updates, 0 steps/s");
  EXPECT_EQ(lines[1], "  return      no episode has ended yet");
  EXPECT_THAT(lines, Not(Contains(HasSubstr("bottleneck"))));
  EXPECT_THAT(lines, Contains("  error       disk full"));
  EXPECT_THAT(lines, Contains("  no checkpoint was written; the log is r/log"));
  EXPECT_EQ(lines.back(), "  start again with the same command");
  status.steps = 320;  // a directory with steps is not taken over
  lines = DescribeRun(BuildSummary(SomeConfig(), status, {}), kExitFailed, "r", "s");
  EXPECT_EQ(lines.back(), "  no checkpoint was written; the log is r/log");
}

TEST(SummaryTest, WhatIsWrittenIsRead) {
  const TempDir dir;
  const learner::RunStatus status = SomeStatus();
  ASSERT_EQ(WriteSummary(dir.path(), BuildSummary(SomeConfig(), status, {5, 2, 1})), "");
  const std::optional<RunResult> result = ReadSummary(dir.path());
  ASSERT_TRUE(result);
  EXPECT_EQ(result->error, "");
  const learner::RunStatus& read = result->training;
  EXPECT_EQ(read.steps, status.steps);
  EXPECT_EQ(read.seconds, status.seconds);
  EXPECT_EQ(read.steps_per_second, status.steps_per_second);
  EXPECT_EQ(read.mean_return, status.mean_return);
  EXPECT_EQ(read.staleness.mean, status.staleness.mean);
  EXPECT_EQ(read.staleness.histogram, status.staleness.histogram);
  EXPECT_EQ(read.time.actors.gradient, 0.54);
  EXPECT_EQ(read.checkpoint, status.checkpoint);

  ASSERT_EQ(WriteSummary(dir.path(), BuildSummary(SomeConfig(), {}, {5, 2, 1})), "");
  EXPECT_EQ(ReadSummary(dir.path())->training.checkpoint, "");
}

TEST(SummaryTest, TheErrorIsReadAndMayBeReplacedAlone) {
  const TempDir dir;
  EXPECT_EQ(WriteError(dir.path(), "disk full"), "") << "there is no summary to change";
  EXPECT_FALSE(ReadSummary(dir.path()));
  const std::string not_utf8 = "it printed \xe9";
  ASSERT_EQ(WriteSummary(dir.path(), BuildSummary(SomeConfig(), SomeStatus(), {}, {}, not_utf8)),
            "");
  EXPECT_EQ(ReadSummary(dir.path())->error, "it printed \xef\xbf\xbd");
  EXPECT_EQ(WriteError(dir.path(), ""), "");
  EXPECT_EQ(ReadSummary(dir.path())->error, "");
  EXPECT_EQ(dir.Read("summary.json"), ToJson(BuildSummary(SomeConfig(), SomeStatus(), {})));
}

TEST(SummaryTest, ADamagedSummaryIsNone) {
  const TempDir dir;
  EXPECT_FALSE(ReadSummary(dir.path()));
  for (const char* text :
       {"", "{}", "[]", "{\"steps\": 100", R"({"steps":"x"})",
        R"({"steps":1,"final_checkpoint":2})", R"({"steps":-5,"final_checkpoint":null})",
        R"({"steps":1,"steps_per_second":-1e300,"final_checkpoint":null})",
        R"({"steps":1,"staleness":{"histogram":[-1]},"final_checkpoint":null})"}) {
    dir.Write("summary.json", text);
    EXPECT_FALSE(ReadSummary(dir.path())) << text;
  }
}

}  // namespace
}  // namespace starling::results
