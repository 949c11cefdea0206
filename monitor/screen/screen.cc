#include "monitor/screen/screen.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "core/config/config.h"
#include "core/text.h"

namespace starling::monitor {
namespace {

// ---- The places of the panels

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

// ---- The lines between the panels

// Returns seed, bound and rule of the run, as many as fit.
std::string Described(const RunFacts& facts, int room) {
  const bool none = facts.bound == kUnbounded;
  const std::string seed = fmt::format("  seed {}", facts.seed);
  const std::string bound = none ? "  unbounded" : fmt::format("  bound {}", facts.bound);
  const std::string rule = none ? "" : facts.drop ? ", drop" : ", wait";
  for (const std::string& text : {seed + bound + rule, seed + bound, bound}) {
    if (ColumnsOf(text) <= room) return text;
  }
  return "";
}

void DrawHeadline(Canvas& canvas, const Area& area, const RunView& view) {
  const Progress& progress = view.progress;
  std::string times = "  " + HumanTime(view.elapsed_s) + " elapsed";
  if (progress.steps_per_second > 0 && progress.steps < progress.total) {
    times += fmt::format(", {} left", TimeLeft(progress));
  }
  const int room = area.width - ColumnsOf(times);
  const std::string env = view.facts.env.substr(0, static_cast<std::size_t>(std::max(0, room)));
  const int columns = ColumnsOf(env);
  canvas.Text(area.x, area.y, env, Ink::kBold);
  canvas.Text(area.x + columns, area.y, Described(view.facts, room - columns));
  canvas.TextBefore(area.right(), area.y, times);
}

CurvePanel ReturnPanel(const RunView& view) {
  return {.title = "return",
          .newest = view.returns->empty() ? "" : fmt::format("{:.1f}", view.returns->last()),
          .series = view.returns,
          .until_s = NiceSpan(view.elapsed_s),
          .from_zero = false,
          .if_empty = "no episode has ended yet"};
}

CurvePanel RatePanel(const RunView& view) {
  return {.title = "steps per second",
          .newest = view.rate->empty() ? "" : HumanCount(view.rate->last()),
          .series = view.rate,
          .until_s = NiceSpan(view.elapsed_s),
          .from_zero = true,
          .if_empty = "not known yet"};
}

// Breaks the text into lines, and cuts it off after the last one.
void DrawSentence(Canvas& canvas, const Area& area, std::string_view head, std::string_view text) {
  canvas.Text(area.x, area.y, head, Ink::kBold);
  const int indent = ColumnsOf(head) + 1;
  int x = indent, y = area.y;
  while (!text.empty() && y < area.bottom()) {
    const std::string_view word = text.substr(0, text.find(' '));
    const int columns = ColumnsOf(word);
    if (x > indent && x + columns > area.right()) {
      x = indent;
      ++y;
      continue;
    }
    canvas.Text(x, y, word);
    x += columns + 1;
    text.remove_prefix(std::min(text.size(), word.size() + 1));
  }
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

std::vector<std::string> ScreenLines(const RunView& view, const ProgressStyle& style) {
  const auto layout = PlanScreen(style.width, style.height, static_cast<int>(view.actors.size()));
  if (!layout) return {};
  Canvas canvas(style.width - 1, layout->height);
  DrawHeadline(canvas, layout->title, view);
  if (layout->returns) DrawCurvePanel(canvas, *layout->returns, ReturnPanel(view), style.utf8);
  if (layout->rate) DrawCurvePanel(canvas, *layout->rate, RatePanel(view), style.utf8);
  if (layout->staleness) {
    DrawStalenessPanel(canvas, *layout->staleness, view.staleness, view.facts.bound, style.utf8);
  }
  if (layout->actors) DrawActorTable(canvas, *layout->actors, view.actors, style.utf8);
  DrawSentence(canvas, layout->bottleneck, "bottleneck",
               view.bottleneck.empty() ? "not known yet" : view.bottleneck);
  std::vector<std::string> lines = canvas.Lines(style.color);
  lines.push_back(ProgressBar(view.progress, style));
  lines.emplace_back();
  return lines;
}

}  // namespace starling::monitor
