#include "bench/figure.h"

#include <gmock/gmock.h>

#include "bench/stats.h"

namespace starling::bench {
namespace {

std::vector<NamedResult> SomeResults() {
  return {
      {"speed",
       {.rows = {{.what = "fast", .measured = "9 steps/s", .wanted = "≥ 5", .holds = true},
                 {.what = "slow", .measured = "1 step/s", .wanted = "≥ 5", .holds = false},
                 {.what = "too short to say", .measured = "?", .wanted = "≥ 5"}},
        .details = "More.\n",
        .json = {{"fast", 9}}}},
      {"failed", {.rows = {{.what = "failed", .measured = "could not be measured"}}}},
  };
}

TEST(FigureTest, EachFigureStandsBesideItsLimit) {
  EXPECT_EQ(ToMarkdown(SomeResults(), "a machine", "scripts/bench"),
            "Measured by `scripts/bench` on a machine.\n\n"
            "| figure | measured | wanted | holds |\n|---|---|---|---|\n"
            "| fast | 9 steps/s | ≥ 5 | yes |\n"
            "| slow | 1 step/s | ≥ 5 | **no** |\n"
            "| too short to say | ? | ≥ 5 |  |\n"
            "| failed | could not be measured |  |  |\n"
            "\nMore.\n");
}

TEST(FigureTest, JsonHoldsTheNumbersOfWhatWasMeasured) {
  const auto written =
      nlohmann::json::parse(ToJson(SomeResults(), "a \"machine\"", "scripts/bench", true));
  EXPECT_EQ(written["hardware"], "a \"machine\"");
  EXPECT_EQ(written["quick"], true);
  EXPECT_EQ(written["figures"].dump(), R"({"speed":{"fast":9}})");
}

TEST(StatsTest, LeastAndMost) {
  EXPECT_EQ(Least({3, 1, 2}), 1);
  EXPECT_EQ(Most({3, 1, 2}), 3);
}

// The value that the share does not exceed: of 100 values the 50th, the 99th and the last.
TEST(StatsTest, Percentile) {
  std::vector<double> values;
  for (int i = 100; i >= 1; --i) values.push_back(i);
  EXPECT_EQ(Percentile(values, 0.5), 50);
  EXPECT_EQ(Percentile(values, 0.99), 99);
  EXPECT_EQ(Percentile(values, 1), 100);
  EXPECT_EQ(Percentile(values, 0), 1);
  EXPECT_EQ(Percentile({7}, 0.99), 7);
}

TEST(StatsTest, WorkIsRepeatedOftenEnoughForAMedian) {
  int calls = 0;
  EXPECT_EQ(TimeManyNs(0, [&] { ++calls; }).size(), kMinRepeats);
  EXPECT_EQ(calls, static_cast<int>(kMinRepeats) + 1);  // once to warm up
}

}  // namespace
}  // namespace starling::bench
