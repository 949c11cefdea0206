#include "monitor/screen/screen.h"

#include <gmock/gmock.h>

#include <vector>

namespace starling::monitor {
namespace {

std::vector<Area> Panels(const Layout& layout) {
  std::vector<Area> areas{layout.title, layout.bottleneck};
  for (const auto& area : {layout.returns, layout.rate, layout.staleness, layout.actors}) {
    if (area) areas.push_back(*area);
  }
  return areas;
}

bool Overlap(const Area& a, const Area& b) {
  return a.x < b.right() && b.x < a.right() && a.y < b.bottom() && b.y < a.bottom();
}

TEST(LayoutTest, NothingOverlapsOrStandsOutsideWhateverTheSize) {
  for (const int actors : {1, 2, 16, 1024}) {
    for (int columns = kMinColumns; columns <= 300; columns += 3) {
      for (int rows = kMinRows; rows <= 90; ++rows) {
        const auto layout = PlanScreen(columns, rows, actors);
        ASSERT_TRUE(layout);
        // Below it the bar and the cursor, above it a line that stays.
        ASSERT_LE(layout->height, rows - 3) << columns << " x " << rows;
        ASSERT_TRUE(layout->returns) << columns << " x " << rows;
        const auto areas = Panels(*layout);
        for (std::size_t i = 0; i < areas.size(); ++i) {
          ASSERT_GE(areas[i].height, 1) << i << ": " << columns << " x " << rows;
          ASSERT_GE(areas[i].x, 0);
          ASSERT_LE(areas[i].right(), columns - 1);
          ASSERT_LE(areas[i].bottom(), layout->height) << i << ": " << columns << " x " << rows;
          for (std::size_t j = 0; j < i; ++j) {
            ASSERT_FALSE(Overlap(areas[i], areas[j]))
                << i << " " << j << ": " << columns << " x " << rows << ", " << actors << " actors";
          }
        }
      }
    }
  }
}

TEST(LayoutTest, TooSmallIsNothing) {
  EXPECT_FALSE(PlanScreen(kMinColumns - 1, 50, 2));
  EXPECT_FALSE(PlanScreen(200, kMinRows - 1, 2));
  EXPECT_FALSE(PlanScreen(0, 0, 2));
}

TEST(LayoutTest, TheLeastInterestingIsLeftOutFirst) {
  const auto all = PlanScreen(60, 30, 2), three = PlanScreen(60, 22, 2),
             two = PlanScreen(60, 16, 2);
  EXPECT_TRUE(all->actors && all->rate && all->staleness);
  EXPECT_TRUE(three->actors && three->rate && !three->staleness);
  EXPECT_TRUE(two->actors && !two->rate && !two->staleness);
}

TEST(LayoutTest, ALargeTerminalIsNotFilledForItsOwnSake) {
  EXPECT_LT(PlanScreen(120, 90, 4)->height, 40);
  EXPECT_GE(PlanScreen(120, 90, 40)->actors->height, 41) << "but every actor has its row";
}

using testing::ElementsAre;

TEST(CanvasTest, LinesEndWhereSomethingStands) {
  Canvas canvas(6, 3);
  canvas.Text(1, 0, "ab");
  canvas.TextBefore(6, 2, "xyz");
  EXPECT_THAT(canvas.Lines(false), ElementsAre(" ab", "", "   xyz"));
}

TEST(CanvasTest, WhatStandsOutsideIsLeftOut) {
  Canvas canvas(4, 1);
  canvas.Text(2, 0, "abc");
  canvas.TextBefore(2, 0, "xyz");
  canvas.Put(0, 1, U'!');
  canvas.Put(0, -1, U'!');
  EXPECT_THAT(canvas.Lines(false), ElementsAre("yzab"));
  EXPECT_THAT(Canvas(-1, 2).Lines(true), ElementsAre("", ""));
}

TEST(CanvasTest, ColoursEndWithTheirLine) {
  Canvas canvas(8, 2);
  canvas.Text(0, 0, "a", Ink::kBad);
  canvas.Text(2, 0, "b", Ink::kBad);
  canvas.Text(3, 0, "c");
  canvas.Text(4, 0, "d", Ink::kWarn);
  canvas.Text(0, 1, "e");
  EXPECT_THAT(canvas.Lines(true), ElementsAre("\033[31ma b\033[0mc\033[33md\033[0m", "e"));
  EXPECT_THAT(canvas.Lines(false), ElementsAre("a bcd", "e"));
}

TEST(CanvasTest, CharactersBecomeUtf8AndStrayBytesAQuestionMark) {
  Canvas canvas(5, 1);
  canvas.Put(0, 0, U'é');
  canvas.Put(1, 0, U'⣿');
  canvas.Text(2, 0, "\033\xc3~");
  EXPECT_THAT(canvas.Lines(false), ElementsAre("é⣿??~"));
}

}  // namespace
}  // namespace starling::monitor
