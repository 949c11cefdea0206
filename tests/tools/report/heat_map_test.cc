#include "tools/report/sections.h"

#include <gmock/gmock.h>

#include "tests/support/html.h"

namespace starling::report {
namespace {

using testing::HasSubstr;
using testing::Not;

// Two counts of actors by three bounds.
FacetGrid SomeGrid() {
  return {.row_key = "actors.count",
          .column_key = "staleness.bound",
          .rows = {"4", "16"},
          .columns = {"0", "1", "unbounded"},
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

}  // namespace
}  // namespace starling::report
