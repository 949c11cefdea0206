#include "monitor/svg/plot.h"

#include <gmock/gmock.h>

#include "tests/support/count_in.h"
#include "tests/support/html.h"

namespace starling::monitor {
namespace {

using testing::HasSubstr;
using testing::Not;

Plot SomePlot() {
  Plot plot{.x_label = "steps", .y_label = "a & b"};
  plot.curves.push_back({.style = 0, .samples = {{0, 0}, {100, 10}}, .title = "<first>"});
  return plot;
}

TEST(PlotTest, AxesCurvesAndTitles) {
  const std::string svg = DrawPlot(SomePlot());
  EXPECT_EQ(HtmlMistake(svg), "");
  EXPECT_THAT(svg, HasSubstr(">100</text>"));
  EXPECT_THAT(svg, HasSubstr("a &amp; b"));
  EXPECT_THAT(svg, HasSubstr("<title>&lt;first&gt;</title>"));
  EXPECT_THAT(svg, HasSubstr("class=\"line g0 d0\" points=\""));
}

TEST(PlotTest, BandsAreAsHighAsTheyAre) {
  Plot plot = SomePlot();
  plot.bands.push_back({0, {.middle = {{0, 0}, {100, 10}}, .low = {-10, 0}, .high = {10, 20}}});
  const std::string svg = DrawPlot(plot);
  EXPECT_THAT(svg, HasSubstr(">-10</text>"));
  EXPECT_THAT(svg, HasSubstr(">20</text>"));
  EXPECT_EQ(CountIn(svg, "<polygon class=\"band g0 d0\""), 1u);
}

TEST(PlotTest, APartBeginsWhereItsSamplesDo) {
  Plot plot = SomePlot();
  plot.curves[0].samples = {{40, 0}, {100, 10}};
  EXPECT_THAT(DrawPlot(plot), HasSubstr("data-low=\"0\" data-high=\"100\""));
  plot.part = true;
  EXPECT_THAT(DrawPlot(plot), HasSubstr("data-low=\"40\" data-high=\"100\""));
}

TEST(PlotTest, PlacesAreEvenlySpacedAndHaveNames) {
  Plot plot = SomePlot();
  plot.curves[0].samples = {{0, 5}, {2, 10}};
  plot.places = {"0", "16", "∞"};
  const std::string svg = DrawPlot(plot);
  EXPECT_THAT(svg, HasSubstr("data-low=\"-0.25\" data-high=\"2.25\""));
  EXPECT_THAT(svg, HasSubstr(">∞</text>"));
  EXPECT_THAT(svg, HasSubstr(">16</text>"));
}

TEST(PlotTest, OfManyPlacesSomeHaveNames) {
  Plot plot = SomePlot();
  for (int i = 0; i < 100; ++i) plot.places.push_back(std::to_string(i));
  const std::string svg = DrawPlot(plot);
  EXPECT_THAT(svg, HasSubstr(">95</text>"));
  EXPECT_THAT(svg, Not(HasSubstr(">1</text>")));
}

TEST(PlotTest, WhiskersAreSeenWhole) {
  Plot plot = SomePlot();
  plot.whiskers.push_back({.style = 9, .x = 50, .low = -40, .high = 60});
  const std::string svg = DrawPlot(plot);
  EXPECT_THAT(svg, HasSubstr("class=\"whisker g1 d1\""));
  EXPECT_THAT(svg, HasSubstr(">50</text>")) << "the curve alone ends at 10";
}

TEST(StripsTest, ACellForEachShareThatIsNotZero) {
  Strips strips{.x_label = "version", .y_label = "actor", .rows = {"0", "<7>"}};
  strips.x.Add(100), strips.x.Add(200);
  strips.shares = {{1, 0, 0.5, 0}, {0, 0, 0, 0.01}};
  const std::string svg = DrawStrips(strips);
  EXPECT_EQ(HtmlMistake(svg), "");
  EXPECT_EQ(CountIn(svg, "<rect"), 3u);
  EXPECT_THAT(svg, HasSubstr("opacity=\"1.00\""));
  EXPECT_THAT(svg, HasSubstr("opacity=\"0.50\""));
  EXPECT_THAT(svg, HasSubstr("opacity=\"0.10\"")) << "little stays visible";
  EXPECT_THAT(svg, HasSubstr("&lt;7&gt;"));
  EXPECT_THAT(svg, HasSubstr("data-low=\"100\" data-high=\"200\""));
}

TEST(PlotTest, ASingleSampleIsADot) {
  Plot plot = SomePlot();
  EXPECT_EQ(CountIn(DrawPlot(plot), "<circle"), 0u);
  plot.curves[0].samples = {{5, 5}};
  EXPECT_EQ(CountIn(DrawPlot(plot), "<circle"), 1u);
}

// One goes to 10, the other to 1000: equal heights are equal values in both.
TEST(PlotTest, PlotsBesideEachOtherShareTheirScale) {
  std::vector<Plot> plots = {SomePlot(), SomePlot()};
  plots[1].curves[0].samples = {{0, 0}, {400, 1000}};
  EXPECT_THAT(DrawPlot(plots[0]), Not(HasSubstr(">1000</text>")));
  ShareScale(plots);
  for (const Plot& plot : plots) {
    EXPECT_THAT(DrawPlot(plot), HasSubstr(">1000</text>"));
    EXPECT_THAT(DrawPlot(plot), HasSubstr(">400</text>"));
  }
  plots[0].curves[0].samples.clear();
  plots[0].if_empty = "no episode";
  EXPECT_EQ(DrawPlot(plots[0]), "<p class=\"empty\">no episode</p>\n") << "no axes without a curve";
}

// 60, 30, 9 and 1 of 100.
TEST(HistogramTest, SharesOfAllAndTheRareAreSeen) {
  const std::string svg = DrawHistogram({.counts = {60, 30, 9, 0, 1}}, 0.6, 1);
  EXPECT_EQ(HtmlMistake(svg), "");
  EXPECT_EQ(CountIn(svg, "<rect"), 4u);
  EXPECT_THAT(svg, HasSubstr("<title>0: 60 gradients, 60.00 %</title>"));
  EXPECT_THAT(svg, HasSubstr("<title>4: 1 gradients, 1.00 %</title>"));
  EXPECT_THAT(svg, HasSubstr(">4</text>"));
}

TEST(HistogramTest, BarsMayBeWideAndTheLastOneOpen) {
  const std::string svg = DrawHistogram({.counts = {60, 30, 10}, .width = 5, .open = true}, 0.6, 1);
  EXPECT_EQ(HtmlMistake(svg), "");
  EXPECT_THAT(svg, HasSubstr("<title>5–9: 30 gradients, 30.00 %</title>"));
  EXPECT_THAT(svg, HasSubstr("<title>10+: 10 gradients, 10.00 %</title>"));
  EXPECT_THAT(svg, HasSubstr(">5</text>"));
  EXPECT_THAT(svg, HasSubstr(">10+</text>"));
}

// The line stands right of the bar of the bound, and not where no bar reaches.
TEST(HistogramTest, TheBoundIsALine) {
  const StalenessBins bins{.counts = {60, 30, 10}};
  EXPECT_EQ(CountIn(DrawHistogram(bins, 0.6, 0), "class=\"bound\""), 0u);
  const std::string svg = DrawHistogram(bins, 0.6, 0, false, 2);
  EXPECT_EQ(HtmlMistake(svg), "");
  EXPECT_EQ(CountIn(svg, "class=\"bound\"><title>bound 2</title>"), 1u);
  EXPECT_EQ(CountIn(DrawHistogram(bins, 0.6, 0, false, 3), "class=\"bound\""), 0u);
}

TEST(HistogramTest, NoGradients) {
  EXPECT_THAT(DrawHistogram({.counts = {0, 0}}, 0, 0), HasSubstr("no gradient"));
  EXPECT_THAT(DrawHistogram({.counts = {}}, 0, 0), HasSubstr("no gradient"));
}

TEST(HtmlTest, TheTestFindsWhatIsWrong) {
  EXPECT_EQ(HtmlMistake("<!doctype html><p class=\"a\">x<meta b><line x=\"1\"/></p>"), "");
  EXPECT_NE(HtmlMistake("<p>"), "");
  EXPECT_NE(HtmlMistake("<p></div>"), "");
  EXPECT_NE(HtmlMistake("</p>"), "");
  EXPECT_NE(HtmlMistake("<b><i></b></i>"), "");
  EXPECT_NE(HtmlMistake("a < b"), "");
}

}  // namespace
}  // namespace starling::monitor
