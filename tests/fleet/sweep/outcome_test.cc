#include "fleet/sweep/outcome.h"

#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

namespace starling::fleet {
namespace {

using testing::HasSubstr;

RunOutcome Done(std::uint64_t seed, double training, double evaluation, double rate) {
  return {.seed = seed,
          .dir = "bound=4/seed-" + std::to_string(seed),
          .standing = RunStanding::kDone,
          .summary = RunSummary{.steps = 100,
                                .seconds = 2,
                                .steps_per_second = rate,
                                .mean_return = training,
                                .staleness_max = 3,
                                .staleness_mean = 0.5,
                                .final_checkpoint = "checkpoints/a"},
          .eval = FinalEval{
              .checkpoint = "checkpoints/a", .episodes = 10, .mean_return = evaluation, .std = 1}};
}

PointOutcome Point() {
  PointOutcome point{"bound=4", {{"staleness.bound", "4"}}, {}};
  point.runs = {Done(1, 10, 1, 50), Done(2, 20, 2, 60), Done(3, 30, 4, 70), Done(4, 40, 21, 80)};
  point.runs.push_back({.seed = 5,
                        .dir = "bound=4/seed-5",
                        .standing = RunStanding::kFailed,
                        .error = "the disk is full"});
  return point;
}

Grid SomeGrid(std::int64_t episodes) {
  return {.file = "g.toml",
          .config = "catch.toml",
          .dir = "sweeps/g",
          .at_once = 1,
          .seeds = {1, 2, 3, 4, 5},
          .eval_episodes = episodes,
          .points = {}};
}

TEST(OutcomeTest, NumbersAreThoseOfTheRunsThatAreDone) {
  const PointNumbers numbers = NumbersOf(Point(), /*evaluated=*/true);
  EXPECT_EQ(numbers.runs, 4u);
  EXPECT_EQ(numbers.mean, 7.0);                // (1 + 2 + 4 + 21) / 4
  EXPECT_EQ(numbers.median, 3.0);              // (2 + 4) / 2
  EXPECT_EQ(numbers.interquartile_mean, 3.0);  // without 1 and 21
  EXPECT_EQ(numbers.steps_per_second, 65.0);   // (50 + 60 + 70 + 80) / 4
  EXPECT_EQ(NumbersOf(Point(), /*evaluated=*/false).mean, 25.0);
}

TEST(OutcomeTest, WithoutARunThatIsDoneNothingIsKnown) {
  PointOutcome point = Point();
  for (RunOutcome& run : point.runs) run.standing = RunStanding::kRunning;
  const PointNumbers numbers = NumbersOf(point, true);
  EXPECT_EQ(numbers.runs, 0u);
  EXPECT_FALSE(numbers.mean || numbers.median || numbers.interquartile_mean ||
               numbers.steps_per_second);
}

TEST(OutcomeTest, Table) {
  PointOutcome open{"bound=unbounded", {{"staleness.bound", "\"unbounded\""}}, {}};
  open.runs = {{.seed = 1, .dir = "x"}};
  EXPECT_EQ(SweepTable(SomeGrid(10), {Point(), open}),
            "point               seeds       mean     median    iq mean    steps/s\n"
            "bound=4            4 of 5       7.00       3.00       3.00         65\n"
            "bound=unbounded    0 of 1          -          -          -          -\n"
            "Returns of the final weights, 10 episodes a run.\n");
  EXPECT_THAT(SweepTable(SomeGrid(0), {Point()}), HasSubstr("last 100 training episodes"));
}

TEST(OutcomeTest, Json) {
  const auto json = SweepJson(SomeGrid(10), {Point()});
  EXPECT_EQ(json["grid"], "g.toml");
  EXPECT_EQ(json["seeds"], nlohmann::ordered_json({1, 2, 3, 4, 5}));
  const auto& point = json["points"][0];
  EXPECT_EQ(point["settings"]["staleness.bound"], "4");
  EXPECT_EQ(point["finished"], 4);
  EXPECT_EQ(point["interquartile_mean"], 3.0);
  const auto& run = point["runs"][3];
  EXPECT_EQ(run["seed"], 4);
  EXPECT_EQ(run["dir"], "bound=4/seed-4");
  EXPECT_EQ(run["state"], "done");
  EXPECT_TRUE(run["error"].is_null());
  EXPECT_EQ(run["evaluation"]["mean_return"], 21.0);
  EXPECT_EQ(run["training_return"], 40.0);
  const auto& failed = point["runs"][4];
  EXPECT_EQ(failed["state"], "failed");
  EXPECT_EQ(failed["error"], "the disk is full");
  EXPECT_TRUE(failed["steps"].is_null());
  EXPECT_TRUE(failed["evaluation"].is_null());
}

}  // namespace
}  // namespace starling::fleet
