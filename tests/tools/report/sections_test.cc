#include "tools/report/sections.h"

#include <gmock/gmock.h>

#include "monitor/chart.h"
#include "tests/support/html.h"
#include "tests/tools/report/loaded_runs.h"

namespace starling::report {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;
using testing::SizeIs;

// Two counts of actors by three bounds.
FacetGrid SomeGrid() {
  return {.row_key = "actors.count",
          .column_keys = {"staleness.bound"},
          .rows = {"4", "16"},
          .columns = {"0", "1", "unbounded"},
          .column_names = {"bound = 0", "bound = 1", "bound = unbounded"},
          .groups = {{0, 1, 2}, {3, std::nullopt, 4}}};
}

HeatMap SomeMap() {
  return {.caption = "seconds",
          .cells = {{{7, "7.00"}, {0, "0.00"}, {3.5, "3.50"}},
                    {{std::nullopt, "never", "1 of 3"}, {}, {5, "5.00", "2 of 3"}}}};
}

// Sevenths of 0 to 7.
TEST(HeatScaleTest, EqualPartsFromTheLeastToTheLargest) {
  const HeatScale scale{.low = 0, .high = 7};
  EXPECT_EQ(HeatOf(0, scale), 0u);
  EXPECT_EQ(HeatOf(0.99, scale), 0u);
  EXPECT_EQ(HeatOf(1, scale), 1u);
  EXPECT_EQ(HeatOf(6.5, scale), 6u);
  EXPECT_EQ(HeatOf(7, scale), 6u);
}

// Sevenths of 1 to 10^7 are powers of ten.
TEST(HeatScaleTest, WhatIsFarApartIsOnALogarithmicScale) {
  const HeatScale scale = ScaleOf({{1, "1"}, {1e7, "10M"}, {}});
  EXPECT_TRUE(scale.logarithmic);
  EXPECT_EQ(HeatOf(5, scale), 0u);
  EXPECT_EQ(HeatOf(50, scale), 1u);
  EXPECT_EQ(HeatOf(1e7, scale), 6u);
  EXPECT_FALSE(ScaleOf({{1, "1"}, {20, "20"}}).logarithmic);
  EXPECT_FALSE(ScaleOf({{0, "0"}, {20, "20"}}).logarithmic) << "0 has no logarithm";
}

TEST(HeatMapTest, EveryCellHasItsNumberAndItsColour) {
  const std::string html = DrawHeatMap(SomeMap(), SomeGrid());
  EXPECT_EQ(HtmlMistake(html), "");
  EXPECT_THAT(html, HasSubstr("<tr><th>4</th><td class=\"h6\">7.00</td><td class=\"h0\">0.00</td>"
                              "<td class=\"h3\">3.50</td></tr>"));
  EXPECT_THAT(html, HasSubstr("<td class=\"h5\">5.00<small>2 of 3</small></td>"));
  EXPECT_THAT(html, HasSubstr("<th colspan=\"3\">staleness.bound</th>"));
  EXPECT_THAT(html, HasSubstr("<p class=\"scale\">0.00 <i class=\"h0\"></i>"));
  EXPECT_THAT(html, Not(HasSubstr("#"))) << "no colour: the style sheet decides";
}

TEST(HeatMapTest, NeverAndMissingAreNoNumbers) {
  const std::string html = DrawHeatMap(SomeMap(), SomeGrid());
  EXPECT_THAT(html, HasSubstr("<td class=\"never\">never<small>1 of 3</small></td>"));
  EXPECT_THAT(html, HasSubstr("<td class=\"none\" title=\"there is no such run\"></td>"));
  HeatMap nothing = SomeMap();
  nothing.cells = {{{}, {}, {}}, {{}, {}, {}}};
  EXPECT_THAT(DrawHeatMap(nothing, SomeGrid()), Not(HasSubstr("class=\"scale\"")));
}

// 3.5 is the middle of the first row; the second has nothing but 5.
TEST(HeatMapTest, RowsMayHaveScalesOfTheirOwn) {
  HeatMap map = SomeMap();
  map.by_row = true;
  const std::string html = DrawHeatMap(map, SomeGrid());
  EXPECT_THAT(html, HasSubstr("<td class=\"h3\">5.00<small>2 of 3</small></td>"));
  EXPECT_THAT(html, HasSubstr("a scale of its own"));
}

Group GroupOf(std::vector<results::LoadedRun>& runs, const Counts& counts) {
  runs.push_back({});
  runs.back().summary.emplace();
  runs.back().summary->staleness.histogram = counts;
  return {.label = "a", .config = {}, .runs = {&runs.back()}};
}

TEST(BarsTest, ASmallBoundIsABarEach) {
  const Bars bars = BarsFor({{5, 5}, {5, 5, 5, 5, 5}}, 25);
  EXPECT_EQ(bars.width, 1u);
  EXPECT_THAT(monitor::BinStaleness({5, 5}, bars.number, bars.width).counts,
              ElementsAre(5, 5, 0, 0, 0));
  EXPECT_EQ(BarsFor({}, 25).number, 4u);
}

TEST(BarsTest, WideStalenessKeepsItsShape) {
  Counts counts(100);
  for (std::size_t tau = 0; tau < counts.size(); ++tau) counts[tau] = tau < 50 ? 1 : 3;
  const Bars bars = BarsFor({counts}, 25);
  EXPECT_EQ(bars.width, 4u);
  const monitor::StalenessBins bins = monitor::BinStaleness(counts, bars.number, bars.width);
  ASSERT_THAT(bins.counts, SizeIs(25));
  EXPECT_EQ(bins.counts.front(), 4u);
  EXPECT_EQ(bins.counts.back(), 12u);
  EXPECT_FALSE(bins.open);
}

// One in a thousand far away makes no bars for itself.
TEST(BarsTest, TheRareLieBeyond) {
  Counts counts(200);
  counts[0] = 600;
  counts[3] = 399;
  counts[199] = 1;
  const Bars bars = BarsFor({counts}, 25);
  EXPECT_EQ(bars.width, 1u);
  const monitor::StalenessBins bins = monitor::BinStaleness(counts, bars.number, bars.width);
  EXPECT_THAT(bins.counts, ElementsAre(600, 0, 0, 399, 1));
  EXPECT_TRUE(bins.open);
}

TEST(StalenessSectionTest, NoBarIsHigherThanItsAxis) {
  std::vector<results::LoadedRun> runs;
  runs.reserve(2);
  Counts late(31);
  late[0] = 1;
  late[30] = 99;
  const std::vector<Group> groups = {GroupOf(runs, late), GroupOf(runs, {50, 50})};
  const std::string section = StalenessSection(groups);
  EXPECT_THAT(section, HasSubstr("<title>30–31: 99 gradients, 99.00 %</title>"));
  EXPECT_THAT(section, Not(HasSubstr(" y=\"-")));
}

TEST(StalenessSectionTest, EqualRowsAreDrawnOnce) {
  std::vector<results::LoadedRun> runs;
  for (const char* env : {"\"catch\"", "\"dummy\"", "\"other\""}) {
    for (const char* bound : {"0", "4"}) {
      runs.push_back(RunOf({{"env.name", env}, {"staleness.bound", bound}}));
      runs.back().summary.emplace();
      runs.back().summary->staleness.histogram = {7, 2};
    }
  }
  runs[3].summary->staleness.histogram = {7, 3};
  const std::vector<Group> groups = MakeGroups(runs);
  const auto grid = FacetGridOf(groups);
  ASSERT_TRUE(grid);
  const std::string section = StalenessSection(groups, &*grid);
  EXPECT_THAT(section, testing::AllOf(HasSubstr("<h3>env.name = catch, other</h3>"),
                                      HasSubstr("<h3>env.name = dummy</h3>")));
  std::size_t figures = 0;
  for (std::size_t at = 0; (at = section.find("<figure", at)) != std::string::npos; ++at) ++figures;
  EXPECT_EQ(figures, 4u);
}

}  // namespace
}  // namespace starling::report
