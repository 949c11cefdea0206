// All environments together, on a page.
#include <gmock/gmock.h>

#include "tests/tools/report/loaded_runs.h"
#include "tools/report/sections.h"

namespace starling::report {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

class OverEnvsTest : public testing::Test {
 protected:
  void Add(const char* env, const char* delay, const std::vector<double>& returns,
           const char* correction = "\"none\"") {
    for (const double mean_return : returns) {
      runs_.push_back(RunOf({{"env.name", env},
                             {"staleness.delay", delay},
                             {"staleness.correction", correction},
                             {"run.seed", std::to_string(runs_.size())}}));
      runs_.back().summary.emplace();
      runs_.back().summary->mean_return = mean_return;
    }
  }
  std::string Section() const {
    const std::vector<Group> groups = MakeGroups(runs_);
    const std::optional<FacetGrid> grid = FacetGridOf(groups);
    return OverEnvsSection(groups, grid ? &*grid : nullptr, Measure::kTraining);
  }
  std::vector<results::LoadedRun> runs_;
};

// Of the reference's: 0.5, 0.5 in a and 1, 1 in b. The middle two of the four: 0.75. In a no run is
// better, in b all are equal: (0 + 0.5) / 2. Draws within an environment change nothing.
TEST_F(OverEnvsTest, ReturnsAreSharesOfTheFirstColumns) {
  Add("\"a\"", "0", {10, 10});
  Add("\"a\"", "4", {5, 5});
  Add("\"b\"", "0", {2, 2});
  Add("\"b\"", "4", {2, 2});
  EXPECT_THAT(
      Section(),
      AllOf(HasSubstr("the reference, delay = 0, in the same environment"),
            HasSubstr("Environments: a, b. "),
            HasSubstr("delay = 0</td><td>4</td><td>1.00</td><td>1.00 to 1.00</td>"
                      "<td>1.00</td><td>1.00 to 1.00</td><td>–</td>"),
            HasSubstr("delay = 4</td><td>4</td><td>0.75</td><td>0.75 to 0.75</td>"
                      "<td>0.75</td><td>0.75 to 0.75</td><td>0.25</td><td>0.25 to 0.25</td>"),
            HasSubstr("performance profiles"), Not(HasSubstr("Left out")),
            Not(HasSubstr("interquartile mean</figcaption>"))))
      << "two columns are no curve";
}

// In b three runs of four are lost: of all eight the middle four are 0, 1, 1 and 1 of the
// reference's, and the mean over environments is (1 + 1 / 4) / 2.
TEST_F(OverEnvsTest, ThePlainMeanSeesWhatIsLost) {
  Add("\"a\"", "0", {10, 10, 10, 10});
  Add("\"a\"", "4", {10, 10, 10, 10});
  Add("\"b\"", "0", {2, 2, 2, 2});
  Add("\"b\"", "4", {2, 0, 0, 0});
  EXPECT_THAT(Section(), AllOf(HasSubstr("delay = 4</td><td>8</td><td>0.75</td>"),
                               HasSubstr("</td><td>0.62</td><td>")));
}

TEST_F(OverEnvsTest, NumbersMakeACurve) {
  for (const char* env : {"\"a\"", "\"b\""}) {
    for (const char* delay : {"0", "4", "16"}) Add(env, delay, {3});
  }
  EXPECT_THAT(Section(), AllOf(HasSubstr("<figcaption>interquartile mean</figcaption>"),
                               Not(HasSubstr("class=\"whisker")), HasSubstr("staleness.delay"),
                               HasSubstr("delay = 4</td><td>2</td><td>1.00</td><td>–</td>")))
      << "one run has no interval";
}

// Delay 4 lacks an environment. The dots are at places 0 and 2 of three, and the second is half as
// high as the first: the axis begins at 0.
TEST_F(OverEnvsTest, AColumnThatIsLeftOutLeavesAGapInTheCurve) {
  for (const char* env : {"\"a\"", "\"b\""}) {
    Add(env, "0", {4, 4});
    Add(env, "16", {2, 2});
  }
  Add("\"a\"", "4", {3});
  const std::string html = Section();
  monitor::Plot plot{.x_label = "staleness.delay",
                     .y_label = "return, of the reference's",
                     .from_zero = true,
                     .places = {"0", "4", "16"}};
  plot.whiskers = {{.style = 0, .x = 0, .low = 1, .high = 1},
                   {.style = 0, .x = 2, .low = 0.5, .high = 0.5}};
  for (const std::size_t style : {1, 2, 0}) {
    const auto kind = style > 0 ? monitor::Curve::Kind::kRun : monitor::Curve::Kind::kGroup;
    plot.curves.push_back({.kind = kind,
                           .style = style,
                           .samples = {{0, 1}, {2, 0.5}},
                           .title = style == 1   ? "a"
                                    : style == 2 ? "b"
                                                 : "",
                           .dots = true});
  }
  EXPECT_THAT(html, HasSubstr(DrawPlot(plot)));
}

TEST_F(OverEnvsTest, EachCombinationOfTheOtherKeysIsALine) {
  for (const char* env : {"\"a\"", "\"b\""}) {
    for (const char* delay : {"0", "4", "16"}) Add(env, delay, {2, 2});
    Add(env, "16", {3, 3}, "\"gap\"");
  }
  EXPECT_THAT(Section(), AllOf(HasSubstr("<title>correction = none</title>"),
                               HasSubstr("<title>correction = gap</title>"),
                               HasSubstr("delay, correction = 16, gap</td><td>4</td><td>1.50</td>"),
                               HasSubstr("class=\"whisker g1 d0\"")));
}

TEST_F(OverEnvsTest, WhatCannotBeComparedIsLeftOut) {
  Add("\"a\"", "0", {1});
  Add("\"b\"", "0", {2});
  Add("\"lost\"", "0", {-1});  // no share of it means anything
  Add("\"a\"", "4", {1});
  Add("\"a\"", "16", {1});
  Add("\"b\"", "16", {1});
  EXPECT_THAT(Section(),
              AllOf(HasSubstr("Left out, without a positive return of the reference: lost."),
                    HasSubstr("Groups without a finished run in each of them are left out"),
                    HasSubstr("Environments: a, b. "), HasSubstr("delay = 16</td>"),
                    Not(HasSubstr("delay = 4</td>"))));
}

TEST_F(OverEnvsTest, OneEnvironmentIsNotAll) {
  Add("\"a\"", "0", {1});
  Add("\"a\"", "4", {1});
  EXPECT_EQ(Section(), "");
  Add("\"lost\"", "0", {0});
  Add("\"lost\"", "4", {1});
  EXPECT_THAT(Section(), HasSubstr("not compared together: it needs two environments with a "
                                   "positive return of delay = 0"));
}

TEST_F(OverEnvsTest, MoreGroupsThanStylesOfLines) {
  for (int delay = 0; delay < 25; ++delay) {
    for (const char* env : {"\"a\"", "\"b\""}) Add(env, std::to_string(delay).c_str(), {1});
  }
  EXPECT_THAT(Section(), AllOf(HasSubstr("interquartile mean</figcaption>"),
                               HasSubstr("<summary>all 25 groups</summary>"),
                               HasSubstr("25 groups an environment are more than 24 styles"),
                               Not(HasSubstr("performance profiles</figcaption>"))));
}

}  // namespace
}  // namespace starling::report
