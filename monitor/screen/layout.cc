#include "monitor/screen/screen.h"

#include <algorithm>
#include <array>

#include "monitor/screen/panels.h"

namespace starling::monitor {
namespace {

constexpr int kMinBeside = 76;  // columns for two panels side by side
constexpr int kGap = 2;         // columns between them
constexpr int kMinBarColumns = 28;
constexpr int kMaxCurve = 14, kMaxBars = 11, kMaxStacked = 9;
constexpr int kMinPanel = 5;  // rows
constexpr int kMaxSentence = 150;
// Rows of a terminal with empty lines between its panels, side by side and stacked.
constexpr int kRoomy = 30, kRoomyStacked = 40;

// Rows handed out from top to bottom.
class Stack {
 public:
  Stack(int y, int left, int gap) : y_(y), left_(left), gap_(gap) {}
  int left() const { return left_; }
  int y() const { return y_; }

  // Takes `height` rows and a gap, or all that are left. Returns the first row.
  int Take(int height) {
    const int taken = std::min(left_, height + gap_), first = y_;
    y_ += taken;
    left_ -= taken;
    return first;
  }

 private:
  int y_, left_, gap_;
};

int TableRows(int actors, int abreast) { return 1 + (actors + abreast - 1) / abreast; }

int CeilDivide(int a, int b) { return (a + b - 1) / b; }

// Two curves side by side; below them staleness and actors.
void PlanBeside(int width, int actors, int gap, Stack& stack, Layout& layout) {
  const int half = (width - kGap) / 2, most = width - kGap - kMinBarColumns;
  const int rows = std::max(1, stack.left() / 2 - 1);
  const int abreast = std::clamp(CeilDivide(actors, rows), 1, TablesAbreast(most));
  int table = most < kTableColumns ? kNarrowTableColumns
                                   : abreast * (kTableColumns + kTableGap) - kTableGap;
  table = std::max(table, most < kTableColumns ? 0 : width - kGap - half);
  const int bars = width - kGap - table;

  const int wanted = std::max(TableRows(actors, abreast), kMinPanel + 3);
  const int both = stack.left() - 2 * gap;
  const int curves = std::clamp(both - wanted, std::min(both / 2, kMaxCurve), kMaxCurve);
  int y = stack.Take(curves);
  layout.returns = {0, y, half, curves};
  layout.rate = {half + kGap, y, width - half - kGap, curves};
  const int lower = std::min(stack.left() - gap, std::max(wanted, kMaxBars));
  y = stack.Take(lower);
  layout.staleness = {0, y, bars, std::min(lower, kMaxBars)};
  layout.actors = {bars + kGap, y, table, lower};
}

// Panels one above the other, as many as fit. Spare rows go to the panels that profit most.
void PlanStacked(int width, int actors, int gap, Stack& stack, Layout& layout) {
  enum Panel : std::size_t { kReturns, kActors, kRate, kStaleness };
  constexpr std::array<int, 4> kMin{kMinPanel, kMinPanel - 1, kMinPanel, kMinPanel};
  std::array<int, 4> heights{};
  std::size_t panels = 0;
  int spare = stack.left();
  for (; panels < kMin.size() && spare >= kMin[panels] + gap; ++panels) {
    heights[panels] = kMin[panels];
    spare -= kMin[panels] + gap;
  }
  const auto grow = [&](Panel panel, int until) {
    if (panel >= panels) return;
    const int more = std::clamp(until - heights[panel], 0, spare);
    heights[panel] += more;
    spare -= more;
  };
  grow(kActors, std::min(TableRows(actors, 1), kMaxStacked));
  for (const Panel panel : {kReturns, kRate, kStaleness}) grow(panel, kMaxStacked);
  grow(kActors, TableRows(actors, 1));
  const auto take = [&](Panel panel) -> std::optional<Area> {
    if (panel >= panels) return std::nullopt;
    return Area{0, stack.Take(heights[panel]), width, heights[panel]};
  };
  layout.returns = take(kReturns);
  layout.rate = take(kRate);
  layout.staleness = take(kStaleness);
  layout.actors = take(kActors);
}

}  // namespace

std::optional<Layout> PlanScreen(int columns, int rows, int actors) {
  if (columns < kMinColumns || rows < kMinRows) return std::nullopt;
  const int width = columns - 1;  // a character in the last column may wrap
  const bool beside = width >= kMinBeside;
  const bool roomy = rows >= (beside ? kRoomy : kRoomyStacked);
  const int gap = roomy ? 1 : 0;    // rows between panels
  const int above = roomy ? 4 : 1;  // rows for lines that stay
  const int below = 2;              // the bar, and the line of the cursor
  const int sentence = CeilDivide(kMaxSentence, width);
  Layout layout;
  Stack stack(0, rows - above - below - sentence, gap);
  layout.title = {0, stack.Take(1), width, 1};
  if (beside) {
    PlanBeside(width, actors, gap, stack, layout);
  } else {
    PlanStacked(width, actors, gap, stack, layout);
  }
  layout.bottleneck = {0, stack.y(), width, sentence};
  layout.height = layout.bottleneck.bottom();
  return layout;
}

}  // namespace starling::monitor
