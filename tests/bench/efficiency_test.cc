#include "bench/efficiency.h"

#include <gmock/gmock.h>

#include "core/config/config.h"

namespace starling::bench {
namespace {

using nlohmann::json;
using testing::AllOf;
using testing::HasSubstr;

// 2 ms a step: an ideal actor does 500 steps a second. One over ipc does 480, over tcp 450.
PacedRuns SomeRuns() {
  const auto point = [](const char* wire, double jitter, std::uint64_t bound, int actors,
                        double rate) {
    return PacedPoint{.way = {wire, jitter, bound},
                      .actors = actors,
                      .rate = rate,
                      .numbers = {{"mean_staleness", 3.5}}};
  };
  return {.step_ms = 2,
          .points = {point("ipc", 0, kUnbounded, 1, 480), point("ipc", 0, kUnbounded, 4, 1824),
                     point("ipc", 0.2, kUnbounded, 4, 1728), point("ipc", 0.2, 4, 4, 1440),
                     point("ipc", 0.2, 0, 4, 960), point("tcp", 0, kUnbounded, 4, 1620),
                     point("tcp", 0, kUnbounded, 1, 450), point("tcp", 0.2, 4, 4, 1341)}};
}

TEST(EfficiencyTest, IsHeldToOneActorOnTheSameWireAndToTheIdeal) {
  const PacedRuns runs = SomeRuns();
  EXPECT_EQ(IdealRate(runs), 500);
  EXPECT_EQ(RateOfOne(runs, "ipc"), 480);
  EXPECT_EQ(RateOfOne(runs, "tcp"), 450);
  EXPECT_DOUBLE_EQ(Efficiency(runs, runs.points[1]), 1824 / (4 * 480.0));
  EXPECT_DOUBLE_EQ(ShareOfIdeal(runs, runs.points[1]), 1824 / 2000.0);
  EXPECT_DOUBLE_EQ(Efficiency(runs, runs.points[5]), 1620 / (4 * 450.0));
}

TEST(EfficiencyTest, ARowIsHeldToTheWorstOfItsRuns) {
  const auto rows = EfficiencyRows(SomeRuns(), true);
  ASSERT_EQ(rows.size(), 3u);
  EXPECT_THAT(rows[0].what, AllOf(HasSubstr("4 actors"), HasSubstr("unbounded")));
  EXPECT_EQ(rows[0].measured,
            "ipc 95 % (91 % of the ideal), ipc with jitter 90 % (86 % of the ideal), "
            "tcp 90 % (81 % of the ideal)");
  EXPECT_EQ(rows[0].holds, true);
  EXPECT_EQ(rows[1].measured,
            "ipc with jitter 75 % (72 % of the ideal), tcp with jitter 74 % (67 % of the ideal)");
  EXPECT_EQ(rows[1].holds, false) << "over tcp";
  EXPECT_EQ(rows[2].holds, std::nullopt) << "nothing is asked of a bound of 0";
  for (const Row& row : EfficiencyRows(SomeRuns(), false)) EXPECT_EQ(row.holds, std::nullopt);
}

TEST(EfficiencyTest, TheTableHasALineForEveryWay) {
  const std::string table = EfficiencyTable(SomeRuns());
  EXPECT_THAT(table, HasSubstr("| wire | jitter | staleness | 1 actor | 4 actors |\n"
                               "|---|---|---|---|---|\n"
                               "| ipc | none | unbounded | 480, 100 % | 1,824, 95 % |\n"));
  EXPECT_THAT(table, HasSubstr("| ipc | ± 20 % | bound 4 |  | 1,440, 75 % |\n")) << "no one actor";
}

TEST(EfficiencyTest, JsonHoldsEveryRun) {
  const json numbers = EfficiencyJson(SomeRuns());
  EXPECT_EQ(numbers["ideal_rate_of_one"], 500);
  ASSERT_EQ(numbers["runs"].size(), SomeRuns().points.size());
  EXPECT_EQ(numbers["runs"][0]["bound"], "unbounded");
  EXPECT_EQ(numbers["runs"][3]["bound"], 4);
  EXPECT_EQ(numbers["runs"][3]["efficiency"], 0.75);
  EXPECT_EQ(numbers["runs"][3]["mean_staleness"], 3.5);
}

}  // namespace
}  // namespace starling::bench
