// A grid of characters, drawn on and then turned into lines of text. Characters outside of it are
// dropped, so no drawing is wider or higher than the screen. Panels on it share one frame.
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

// Columns of a text of printable ASCII.
inline int ColumnsOf(std::string_view text) { return static_cast<int>(text.size()); }

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

// ---- the frame of a panel: a title, an axis at the left and one below

// Columns left of a plot: seven for labels, so that the axis never moves, and one for the axis.
inline constexpr int kAxisColumns = 8;

// Returns the area of the plot: `panel` without its title and axes.
Area PlotOf(const Area& panel);

// `title` at the left, `newest` at the right.
void DrawTitle(Canvas& canvas, const Area& panel, std::string_view title, std::string_view newest);

struct Mark {
  int at = 0;  // the row or column of the canvas
  std::string text;
};
// Draws the axis left of `plot`, with marks on some of its rows.
void DrawLeftAxis(Canvas& canvas, const Area& plot, const std::vector<Mark>& rows, bool utf8);
// Draws the axis below `plot`. Each mark is written into it from its column on.
void DrawLowerAxis(Canvas& canvas, const Area& plot, const std::vector<Mark>& columns, bool utf8);

}  // namespace starling::monitor
