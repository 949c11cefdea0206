// Returns against the values of a key, as lines.
#include <gmock/gmock.h>

#include "tests/support/html.h"
#include "tests/tools/report/loaded_runs.h"
#include "tools/report/sections.h"

namespace starling::report {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::SizeIs;

using Columns = std::vector<std::vector<std::string>>;

FacetGrid GridOf(const std::vector<std::string>& keys, const Columns& columns) {
  FacetGrid grid{.row_key = "env.name",
                 .column_keys = keys,
                 .rows = {},
                 .columns = {},
                 .column_names = {},
                 .groups = {}};
  grid.column_values = columns;
  return grid;
}

TEST(ValueLinesTest, OneKeyIsOneLine) {
  const auto lines =
      ValueLinesOf(GridOf({"staleness.bound"}, Columns{{"0"}, {"16"}, {"unbounded"}}));
  ASSERT_TRUE(lines);
  EXPECT_EQ(lines->key, "staleness.bound");
  EXPECT_THAT(lines->places, ElementsAre("0", "16", "∞"));
  EXPECT_THAT(lines->lines, ElementsAre(""));
  EXPECT_EQ(lines->cells[2].place, 2u);
  EXPECT_EQ(LegendOf(*lines), "");
}

// Delays 0, 4 and 16, and a gap at two of them.
TEST(ValueLinesTest, OtherKeysAreLines) {
  const auto lines = ValueLinesOf(GridOf(
      {"staleness.delay", "staleness.correction", "optimizer.lr"}, Columns{{"0", "none", "0.1"},
                                                                           {"4", "none", "0.1"},
                                                                           {"4", "gap", "0.2"},
                                                                           {"16", "none", "0.1"},
                                                                           {"16", "gap", "0.2"}}));
  ASSERT_TRUE(lines);
  EXPECT_THAT(lines->places, ElementsAre("0", "4", "16"));
  EXPECT_THAT(lines->lines, ElementsAre("correction, lr = none, 0.1", "correction, lr = gap, 0.2"));
  EXPECT_EQ(lines->cells[4].place, 2u);
  EXPECT_EQ(lines->cells[4].line, 1u);
  EXPECT_THAT(LegendOf(*lines), HasSubstr("correction, lr = gap, 0.2</li>"));
}

TEST(ValueLinesTest, TwoValuesAreNoCurveAndTextIsNoQuantity) {
  EXPECT_FALSE(ValueLinesOf(GridOf({"a.b"}, Columns{{"0"}, {"1"}})));
  EXPECT_FALSE(ValueLinesOf(GridOf({"a.b"}, Columns{{"none"}, {"inverse"}, {"sqrt"}})));
}

// The second line has no value in the middle, and no interval at its end.
TEST(PlotByValueTest, ALineHasTheColumnsThatAreThere) {
  const Columns columns = {{"0", "x"}, {"0", "y"}, {"1", "x"}, {"1", "y"}, {"2", "x"}, {"2", "y"}};
  const auto lines = ValueLinesOf(GridOf({"a.b", "a.c"}, columns));
  ASSERT_TRUE(lines);
  const results::Interval interval{.low = 1, .high = 5};
  const monitor::Plot plot = PlotByValue(
      *lines, {{2, interval}, {3, interval}, {2, interval}, {}, {2, interval}, {4, std::nullopt}});
  ASSERT_THAT(plot.curves, SizeIs(2));
  EXPECT_THAT(plot.curves[0].samples, SizeIs(3));
  // The second line lies 0.04 to the right of its places.
  EXPECT_THAT(plot.curves[1].samples,
              ElementsAre(monitor::Sample{0.04, 3}, monitor::Sample{2.04, 4}));
  ASSERT_THAT(plot.whiskers, SizeIs(4)) << "of one run nobody knows the spread";
  EXPECT_EQ(plot.whiskers[3].style, 1u);
  EXPECT_EQ(plot.whiskers[3].x, 0.04);
  EXPECT_EQ(plot.whiskers[3].high, 5);
  EXPECT_THAT(plot.places, ElementsAre("0", "1", "2"));
}

class ByValueSectionTest : public testing::Test {
 protected:
  ByValueSectionTest() {
    for (const char* env : {"\"a\"", "\"b\""}) {
      for (const char* delay : {"0", "4", "16"}) {
        for (const char* seed : {"1", "2"}) {
          runs_.push_back(
              RunOf({{"env.name", env}, {"staleness.delay", delay}, {"run.seed", seed}}));
          runs_.back().summary.emplace();
          runs_.back().summary->mean_return = 7;
        }
      }
    }
  }
  std::vector<results::LoadedRun> runs_;
};

TEST_F(ByValueSectionTest, AFigureForEachRow) {
  const std::vector<Group> groups = MakeGroups(runs_);
  const std::optional<FacetGrid> grid = FacetGridOf(groups);
  ASSERT_TRUE(grid);
  const std::string html = ByValueSection(groups, &*grid, Measure::kTraining);
  EXPECT_EQ(HtmlMistake(html), "");
  EXPECT_THAT(html, AllOf(HasSubstr("<h2>Return against staleness.delay</h2>"),
                          HasSubstr("<figcaption>env.name = a</figcaption>"),
                          HasSubstr("<figcaption>env.name = b</figcaption>"),
                          HasSubstr(">16</text>"), Not(HasSubstr("class=\"legend\""))));
  EXPECT_THAT(ByValueSection(groups, nullptr, Measure::kTraining), IsEmpty());
}

TEST_F(ByValueSectionTest, ARowWithoutFinishedRunsSaysSo) {
  for (results::LoadedRun& run : runs_) {
    if (run.Key("env.name") == "\"b\"") run.state = results::RunState::kUnfinished;
  }
  const std::vector<Group> groups = MakeGroups(runs_);
  const std::optional<FacetGrid> grid = FacetGridOf(groups);
  ASSERT_TRUE(grid);
  EXPECT_THAT(ByValueSection(groups, &*grid, Measure::kTraining),
              AllOf(HasSubstr("<svg"), HasSubstr("no run has finished here")));
}

}  // namespace
}  // namespace starling::report
