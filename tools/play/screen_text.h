// Pictures as lines of text, a pure function; tools/play/terminal.h writes them.
//
// With colours a character is two pixels, one above the other (the upper half block): 84 x 84 takes
// 84 columns and 42 lines. Without them a cell of a grid is a letter, a = channel 0, and a picture
// is characters as dense as it is bright.
#pragma once

#include <string>
#include <vector>

#include "envs/picture.h"

namespace starling::play {

enum class Palette { kNone, k256, k24Bit };

// What the terminal can do, by its environment: NO_COLOR, TERM and COLORTERM; and `utf8`, without
// which there is no half block (monitor/console.h knows).
Palette DetectPalette(bool utf8);

// The image in at most `lines` lines of `columns` columns, both at least 1: enlarged by a whole
// factor if there is room, shrunk if there is not. Each line leaves the colours as they were.
std::vector<std::string> ColorLines(const envs::Image& image, Palette palette, int columns,
                                    int lines);

// The newest frame of env 0 without colours, likewise.
std::vector<std::string> PlainLines(const envs::FrameEnvs& envs, int columns, int lines);

// What to send to a terminal so that it shows `lines` where it showed others: only those that
// differ, each at its place.
class LineScreen {
 public:
  // The bytes; everything is drawn anew the first time and when `columns` or `rows`, the size of
  // the terminal, have changed. Lines beyond `rows` are left out.
  std::string Update(const std::vector<std::string>& lines, int columns, int rows);

 private:
  int columns_ = 0, rows_ = 0;
  std::vector<std::string> shown_;
};

}  // namespace starling::play
