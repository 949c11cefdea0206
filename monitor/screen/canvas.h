// A sheet of characters to draw on, and the lines of text that it becomes. What would stand outside
// of it is left out, so nothing drawn can be wider or higher than the screen it is for.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "monitor/progress.h"

namespace starling::monitor {

// What a colour stands for. kGood, kWarn and kBad are states; kCurve is data.
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

  // One character, one column wide.
  void Put(int x, int y, char32_t character, Ink ink = Ink::kPlain);
  // Bytes that are not printable ASCII become '?'.
  void Text(int x, int y, std::string_view text, Ink ink = Ink::kPlain);
  // Its last character stands in column `right` - 1.
  void TextBefore(int right, int y, std::string_view text, Ink ink = Ink::kPlain);

  // As many lines as the canvas is high, without spaces at their ends. Each line leaves the colours
  // as they were.
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
