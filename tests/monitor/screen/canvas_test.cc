#include "monitor/screen/canvas.h"

#include <gmock/gmock.h>

namespace starling::monitor {
namespace {

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
