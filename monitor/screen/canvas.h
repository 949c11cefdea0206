// A grid of characters, drawn on and then turned into lines of text. Characters outside of it are
// dropped, so no drawing is wider or higher than the screen.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "monitor/progress.h"

namespace starling::monitor {

// The meaning of a colour: kGood, kWarn and kBad are states, kCurve is data.
enum class Ink : std::uint8_t { kPlain, kBold, kDim, kGood, kWarn, kBad, kCurve };

// Columns and rows, both counted from 0.
struct Area {
  int x = 0, y = 0, width = 0, height = 0;
  int right() const { return x + width; }
  int bottom() const { return y + height; }
  friend bool operator==(const Area&, const Area&) = default;
};

class Canvas {
 public:
  Canvas(int width, int height);

  int width() const { return width_; }
  int height() const { return height_; }

  // REQUIRES: `character` is one column wide.
  void Put(int x, int y, char32_t character, Ink ink = Ink::kPlain);
  // Bytes that are not printable ASCII become '?'.
  void Text(int x, int y, std::string_view text, Ink ink = Ink::kPlain);
  // The same, with the last character in column `right` - 1.
  void TextBefore(int right, int y, std::string_view text, Ink ink = Ink::kPlain);

  // Returns `height` lines without trailing spaces. Each line ends with the terminal's own colours.
  std::vector<std::string> Lines(bool color) const;

 private:
  struct Cell {
    char32_t character = U' ';
    Ink ink = Ink::kPlain;
  };
  std::string Line(int y, bool color) const;

  int width_, height_;
  std::vector<Cell> cells_;
};

}  // namespace starling::monitor
