#include "tools/report/sections.h"

#include <gmock/gmock.h>

#include "monitor/chart.h"

namespace starling::report {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;
using testing::SizeIs;

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

}  // namespace
}  // namespace starling::report
