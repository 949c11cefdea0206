// The screen of a run as lines of text, by a pure function; its layout and its panels.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "learner/run_status.h"
#include "monitor/chart.h"
#include "monitor/console.h"
#include "monitor/run_history.h"

namespace starling::monitor {

// ---- A grid of characters (canvas.cc), drawn on and then turned into lines of text. Characters
// outside of it are dropped, so no drawing is wider or higher than the screen. Panels on it share
// one frame.

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

// The frame of a panel has a title, an axis at the left and one below.

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

// ---- the whole screen

// Returns the block to draw; its last line is empty, for the cursor and typed characters. Returns
// no lines if the terminal is too small: then only the bar fits.
std::vector<std::string> ScreenLines(const RunView& view, const ProgressStyle& style);

// ---- the places of the panels

struct Layout {
  int height = 0;  // rows of all panels together
  Area title;
  std::optional<Area> returns, rate, staleness, actors;
  Area bottleneck;
};

// A smaller terminal shows the bar alone.
inline constexpr int kMinColumns = 60, kMinRows = 16;

// A pure function of the terminal's size and the number of actors, so that no panel moves while a
// run goes on. Returns nullopt if the terminal of `columns` x `rows` is too small.
std::optional<Layout> PlanScreen(int columns, int rows, int actors);

// ---- a curve (curve.cc)

struct CurvePanel {
  std::string title;
  std::string newest;      // value at the right of the title
  const Series* series;    // never null
  double until_s = 15;     // end of the time axis
  bool from_zero = false;  // the value axis begins at 0
  std::string if_empty;    // text in place of the line
};

// Draws a number over time as a line of dots in a frame: braille with UTF-8 (two by four dots in a
// character), else asterisks.
void DrawCurvePanel(Canvas& canvas, const Area& area, const CurvePanel& panel, bool utf8);

// ---- the staleness (staleness_panel.cc)

// How a histogram becomes bars in a given number of columns.
struct StalenessBars {
  StalenessBins bins;
  int columns = 1;        // of a bar, with the gap after it
  int bound_column = -1;  // where the line right of the bound stands; -1: beyond the last bar
};

// Shows every value up to the bound, or (if the bound is far beyond the values) up to a round
// number that 99.5 % of the gradients do not exceed. `bound` is kUnbounded for none. The line of
// the bound takes one of `columns`.
StalenessBars ArrangeStaleness(const std::vector<std::uint64_t>& histogram, std::uint64_t bound,
                               int columns);

// Draws the staleness of every gradient applied so far as bars, and the bound as a line: no bar may
// stand right of it.
void DrawStalenessPanel(Canvas& canvas, const Area& area, const learner::StalenessStatus& staleness,
                        std::uint64_t bound, bool utf8);

// ---- the actors (actor_table.cc)

// Columns of a table; the narrow one leaves out "waits".
inline constexpr int kTableColumns = 53, kNarrowTableColumns = 47, kTableGap = 3;

// Returns the number of tables that fit side by side.
int TablesAbreast(int columns);

// Returns the rows in the order for a table with `room` lines: by slot if all fit, else dead,
// silent and starting ones first, then those less than half as fast as the median (slowest first),
// then the others by slot.
std::vector<ActorRow> InOrder(std::vector<ActorRow> rows, std::size_t room);

// "and 12 more: 2 starting, 10 alive, 38.1k to 42.0k steps/s": for rows without room.
std::string Others(std::span<const ActorRow> rows);

// All actors by slot if they fit, else those that deserve a look first, and a line about the
// others.
void DrawActorTable(Canvas& canvas, const Area& area, const std::vector<ActorRow>& rows, bool utf8);

}  // namespace starling::monitor
