#include "bench/figure.h"

#include <gmock/gmock.h>

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

}  // namespace
}  // namespace starling::bench
