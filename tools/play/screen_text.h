// Turns pictures into lines of text, by pure functions; tools/play/terminal.h writes them.
//
// With colours a character shows two pixels, one above the other (the upper half block): 84 x 84
// takes 84 columns and 42 lines. Without colours a cell of a grid is a letter, a = channel 0, and a
// picture consists of characters whose density is its brightness.
#pragma once

#include <string>
#include <vector>

#include "envs/picture.h"

namespace starling::play {

enum class Palette { kNone, k256, k24Bit };

// Returns the palette of the terminal by NO_COLOR and COLORTERM. Colours need `utf8`
// (monitor/console.h), which has the half block.
Palette DetectPalette(bool utf8);

// Returns the image in at most `lines` lines of `columns` columns, enlarged by a whole factor or
// shrunk to fit. Each line ends by resetting the colours. REQUIRES: columns >= 1, lines >= 1.
std::vector<std::string> ColorLines(const envs::Image& image, Palette palette, int columns,
                                    int lines);

// Returns the newest frame of env 0 without colours, likewise.
std::vector<std::string> PlainLines(const envs::FrameEnvs& envs, int columns, int lines);

// Redraws only the lines that changed.
class LineScreen {
 public:
  // Returns the bytes for the terminal, whose size is `columns` x `rows`. Draws everything the
  // first time and after a change of the size. Leaves out lines beyond `rows`.
  std::string Update(const std::vector<std::string>& lines, int columns, int rows);

 private:
  int columns_ = 0, rows_ = 0;
  std::vector<std::string> shown_;
};

}  // namespace starling::play
