#include "tools/sweep/sweep.h"

#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

namespace starling::sweep {
namespace {

using testing::HasSubstr;

RunOutcome Done(std::uint64_t seed, double training, double evaluation, double rate) {
  learner::RunStatus summary;
  summary.steps = 100;
  summary.seconds = 2;
  summary.steps_per_second = rate;
  summary.mean_return = training;
  summary.staleness = {.max = 3, .mean = 0.5, .histogram = {}};
  summary.checkpoint = "checkpoints/a";
  return {.seed = seed,
          .dir = "bound=4/seed-" + std::to_string(seed),
          .state = results::RunState::kFinished,
          .summary = summary,
          .eval = results::FinalEval{
              .checkpoint = "checkpoints/a", .played = {10}, .mean_return = evaluation, .std = 1}};
}

PointOutcome Point() {
  PointOutcome point{"bound=4", {{"staleness.bound", "4"}}, {}};
  point.runs = {Done(1, 10, 1, 50), Done(2, 20, 2, 60), Done(3, 30, 4, 70), Done(4, 40, 21, 80)};
  point.runs.push_back({.seed = 5,
                        .dir = "bound=4/seed-5",
                        .state = results::RunState::kFailed,
                        .error = "the disk is full"});
  return point;
}

Grid SomeGrid(std::int64_t episodes) {
  return {.file = "g.toml",
          .config = "catch.toml",
          .dir = "sweeps/g",
          .at_once = 1,
          .seeds = {1, 2, 3, 4, 5},
          .eval = {.episodes = episodes},
          .points = {}};
}

TEST(OutcomeTest, NumbersAreThoseOfTheRunsThatAreDone) {
  const PointNumbers numbers = NumbersOf(Point(), /*evaluated=*/true);
  EXPECT_EQ(numbers.finished, 4u);
  ASSERT_TRUE(numbers.returns);
  EXPECT_EQ(numbers.returns->mean, 7.0);                // (1 + 2 + 4 + 21) / 4
  EXPECT_EQ(numbers.returns->median, 3.0);              // (2 + 4) / 2
  EXPECT_EQ(numbers.returns->interquartile_mean, 3.0);  // without 1 and 21
  EXPECT_EQ(numbers.steps_per_second, 65.0);            // (50 + 60 + 70 + 80) / 4
  EXPECT_EQ(NumbersOf(Point(), /*evaluated=*/false).returns->mean, 25.0);
}

TEST(OutcomeTest, WithoutARunThatIsDoneNothingIsKnown) {
  PointOutcome point = Point();
  for (RunOutcome& run : point.runs) run.state = results::RunState::kRunning;
  const PointNumbers numbers = NumbersOf(point, true);
  EXPECT_EQ(numbers.finished, 0u);
  EXPECT_FALSE(numbers.returns || numbers.steps_per_second);
}

TEST(OutcomeTest, Table) {
  PointOutcome open{"bound=16", {{"staleness.bound", "16"}}, {}};
  open.runs = {{.seed = 1, .dir = "x"}};
  EXPECT_EQ(SweepTable(SomeGrid(10), {Point(), open}),
            "point        seeds       mean     median    iq mean     95 % interval    steps/s\n"
            "bound=4     4 of 5       7.00       3.00       3.00     1.00 to 21.00         65\n"
            "bound=16    0 of 1          -          -          -                 -          -\n"
            "Returns of the final weights, 10 episodes a run.\n");
  EXPECT_THAT(SweepTable(SomeGrid(0), {Point()}), HasSubstr("last 100 training episodes"));
  PointOutcome silent = Point();
  silent.runs[0].summary->mean_return.reset();
  EXPECT_THAT(SweepTable(SomeGrid(0), {silent}), HasSubstr("3 of 5      30.00"))
      << "the mean is that of three";
}

TEST(OutcomeTest, Json) {
  PointOutcome some = Point();
  some.runs[4].error = "the disk is full\xff";
  const auto json = nlohmann::ordered_json::parse(SweepJson(SomeGrid(10), {some}));
  EXPECT_EQ(json["grid"], "g.toml");
  EXPECT_EQ(json["seeds"], nlohmann::ordered_json({1, 2, 3, 4, 5}));
  const auto& point = json["points"][0];
  EXPECT_EQ(point["settings"]["staleness.bound"], "4");
  EXPECT_EQ(point["finished"], 4);
  EXPECT_EQ(point["interquartile_mean"], 3.0);
  const auto& run = point["runs"][3];
  EXPECT_EQ(run["seed"], 4);
  EXPECT_EQ(run["dir"], "bound=4/seed-4");
  EXPECT_EQ(run["state"], "finished");
  EXPECT_TRUE(run["error"].is_null());
  EXPECT_EQ(run["evaluation"]["mean_return"], 21.0);
  EXPECT_EQ(run["training_return"], 40.0);
  const auto& failed = point["runs"][4];
  EXPECT_EQ(failed["state"], "failed");
  EXPECT_EQ(failed["error"], "the disk is full\xef\xbf\xbd") << "not UTF-8";
  EXPECT_TRUE(failed["steps"].is_null());
  EXPECT_TRUE(failed["evaluation"].is_null());
}

}  // namespace
}  // namespace starling::sweep
