#include "tools/report/curves.h"

#include <gmock/gmock.h>

#include "tests/tools/report/loaded_runs.h"

namespace starling::report {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;

TEST(CurvesTest, ReturnsFromTheFirstEpisodeThatEnded) {
  const results::LoadedRun run = RunWith({{0, 0, {}}, {10, 1, 2.0}, {30, 2, 4.0}});
  EXPECT_THAT(ReturnBySteps(run), ElementsAre(Sample{10, 2}, Sample{30, 4}));
  EXPECT_THAT(ReturnBySeconds(run), ElementsAre(Sample{1, 2}, Sample{2, 4}));
}

TEST(CurvesTest, LinearBetweenNeighbours) {
  const Samples samples = {{10, 2}, {30, 4}, {40, 0}};
  EXPECT_EQ(At(samples, 5), 2);
  EXPECT_EQ(At(samples, 10), 2);
  EXPECT_EQ(At(samples, 15), 2.5);
  EXPECT_EQ(At(samples, 35), 2);
  EXPECT_EQ(At(samples, 99), 0);
}

// 100 steps in the first second, 300 in the next two, none in the fourth.
TEST(CurvesTest, ThroughputIsAMeanOverEqualParts) {
  const results::LoadedRun run = RunWith({{0, 0, {}}, {100, 1, {}}, {400, 3, {}}, {400, 4, {}}});
  EXPECT_THAT(Throughput(run, 4), ElementsAre(Sample{2, 100}));                 // 400 / 4
  EXPECT_THAT(Throughput(run, 2), ElementsAre(Sample{1, 125}, Sample{3, 75}));  // 250 / 2, 150 / 2
  EXPECT_THAT(Throughput(run, 2.3), SizeIs(2)) << "equal parts of about that";
  EXPECT_THAT(Throughput(run, 99), SizeIs(1));
  EXPECT_THAT(Throughput(run, 0.1), SizeIs(3)) << "as many as there are lines after the first";
  EXPECT_THAT(Throughput(RunWith({{0, 0, {}}}), 5), IsEmpty());
  EXPECT_THAT(Throughput(RunWith({}), 5), IsEmpty());
}

TEST(CurvesTest, ThinnedKeepsBothEnds) {
  Samples samples;
  for (int i = 0; i <= 1000; ++i) samples.push_back({1.0 * i, 2.0 * i});
  EXPECT_THAT(Thinned(samples, 5), ElementsAre(Sample{0, 0}, Sample{250, 500}, Sample{500, 1000},
                                               Sample{750, 1500}, Sample{1000, 2000}));
  EXPECT_THAT(Thinned(samples, 500), SizeIs(500));
  EXPECT_THAT(Thinned({{1, 1}, {2, 2}}, 5), SizeIs(2));
}

// Four runs with slopes 1, 2, 3 and 4: in the middle 2.5, for certain between 1 and 4
// (tests/results/statistics_test.cc). One begins at 2, one ends at 6.
TEST(CurvesTest, AcrossTheRunsThatAreAllThere) {
  std::vector<Samples> runs;
  for (const double slope : {1.0, 2.0, 3.0, 4.0}) {
    const double begin = slope == 3 ? 2 : 0, end = slope == 2 ? 6 : 10;
    runs.push_back({{begin, slope * begin}, {5, slope * 5}, {end, slope * end}});
  }
  const GroupCurve curve = Across(runs, 100, 0);
  EXPECT_THAT(curve.middle, ElementsAre(Sample{2, 5}, Sample{4, 10}, Sample{6, 15}));
  EXPECT_THAT(curve.low, ElementsAre(2, 4, 6));
  EXPECT_THAT(curve.high, ElementsAre(8, 16, 24));
}

TEST(CurvesTest, RunsThatNeverMeetHaveNoCurve) {
  EXPECT_THAT(Across({{{0, 1}, {1, 1}}, {{2, 1}, {3, 1}}}, 100, 0).middle, IsEmpty());
  EXPECT_THAT(Across({}, 100, 0).middle, IsEmpty());
  EXPECT_THAT(Across({{{4, 1}}, {{4, 3}}}, 100, 0).middle, ElementsAre(Sample{4, 2}));
}

TEST(CurvesTest, NoMorePointsThanAskedFor) {
  Samples samples;
  for (int i = 0; i < 5000; ++i) samples.push_back({1.0 * i, 0});
  EXPECT_THAT(Across({samples}, 200, 0).middle, SizeIs(200));
}

}  // namespace
}  // namespace starling::report
