#include "tools/sweep/sweep.h"

#include <gmock/gmock.h>

#include <vector>

#include "tools/sweep/grid.h"

namespace starling::sweep {
namespace {

using Seconds = std::vector<double>;

TEST(SweepTimeLeftTest, NothingIsKnownUntilARunHasFinished) {
  EXPECT_FALSE(SweepTimeLeft(Seconds{}, Seconds{5}, 3, 1));
}

TEST(SweepTimeLeftTest, EveryRunTakesAsLongAsThoseBefore) {
  // 20 s a run: three wait (60 s), one has 20 - 5 s to go.
  EXPECT_EQ(SweepTimeLeft(Seconds{10, 30}, Seconds{5}, 3, 1), 75.0);
  // Side by side: (3 x 20 + 15 + 10) / 2.
  EXPECT_EQ(SweepTimeLeft(Seconds{20}, Seconds{5, 10}, 3, 2), 42.5);
}

TEST(SweepTimeLeftTest, NoShorterThanTheRunThatHasMostToDo) {
  // 20 s of work for four, but one of them needs all 20.
  EXPECT_EQ(SweepTimeLeft(Seconds{20}, Seconds{0}, 0, 4), 20.0);
}

TEST(SweepTimeLeftTest, ARunThatTakesLongerIsAboutToEnd) {
  EXPECT_EQ(SweepTimeLeft(Seconds{20}, Seconds{25}, 1, 1), 20.0);
}

TEST(SweepBarTest, WhatEachWidthShows) {
  const SweepProgress progress{.total = 12, .done = 5, .running = 2, .failed = 1, .left_s = 754};
  const auto at = [&](int width) { return SweepBar(progress, {width, false, false}); };
  EXPECT_EQ(at(100),
            "[###################-------------------]  5/12 runs done, 1 failed, 12:34 left, "
            "2 running");
  EXPECT_EQ(at(80),
            "[##############--------------]  5/12 runs done, 1 failed, 12:34 left, 2 running");
  EXPECT_EQ(at(50), "5/12 runs done, 1 failed, 12:34 left, 2 running");
  EXPECT_EQ(at(30), "5/12 runs done, 1 failed");
  EXPECT_EQ(at(15), "5/12 runs done");
  EXPECT_EQ(at(5), "5/12");
  EXPECT_EQ(at(0), "");
}

TEST(SweepBarTest, WhatIsNotKnownIsLeftOut) {
  EXPECT_EQ(SweepBar({.total = 2, .done = 0, .running = 1, .failed = 0, .left_s = {}},
                     {50, false, false}),
            "[---------------------]  0/2 runs done, 1 running");
}

using testing::ElementsAre;
using testing::MatchesRegex;

TEST(NamesTest, KeysAreAsShortAsTheyCanBeToldApart) {
  EXPECT_THAT(ShortKeys({"staleness.bound", "optimizer.lr"}), ElementsAre("bound", "lr"));
  EXPECT_THAT(ShortKeys({"net.kind", "optimizer.lr", "optimizer.kind"}),
              ElementsAre("net.kind", "lr", "optimizer.kind"));
}

TEST(NamesTest, ValuesKeepWhatAShellDoesNotMind) {
  EXPECT_EQ(ValueName("4"), "4");
  EXPECT_EQ(ValueName("-0.5"), "-0.5");
  EXPECT_EQ(ValueName("1e-05"), "1e-05");
  EXPECT_EQ(ValueName("\"unbounded\""), "unbounded");
  EXPECT_EQ(ValueName("\"minatar/breakout\""), "minatar-breakout");
  EXPECT_EQ(ValueName("[ 64, 32 ]"), "64-32");
  EXPECT_EQ(ValueName("[ \"conv 16 3x3\", \"relu\" ]"), "conv-16-3x3-relu");
  EXPECT_EQ(ValueName("\"\""), "empty");
}

TEST(NamesTest, LongValuesEndInAHashOfAllOfThem) {
  const std::string a = "\"" + std::string(60, 'a') + "b\"",
                    b = "\"" + std::string(60, 'a') + "c\"";
  EXPECT_THAT(ValueName(a), MatchesRegex("a{31}-[0-9a-f]{8}"));
  EXPECT_NE(ValueName(a), ValueName(b));
}

TEST(NamesTest, PointsAreNamedByWhatVaries) {
  EXPECT_EQ(PointName({}), "base");
  EXPECT_EQ(PointName({{"staleness.bound", "\"unbounded\""}, {"optimizer.lr", "0.001"}}),
            "bound=unbounded,lr=0.001");
  std::vector<std::pair<std::string, std::string>> many;
  for (int i = 0; i < 20; ++i) many.emplace_back("env.key" + std::to_string(i), "12345678");
  EXPECT_EQ(PointName(many).size(), 160u);
}

}  // namespace
}  // namespace starling::sweep
