#include "monitor/screen/screen.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "core/config/config.h"

namespace starling::monitor {
namespace {

constexpr int kMaxBarColumns = 6;

// Returns the largest value shown: a round number, so that it seldom changes.
std::uint64_t LastShown(const std::vector<std::uint64_t>& histogram, std::uint64_t bound,
                        std::uint64_t bars) {
  const std::uint64_t most = StalenessQuantile(histogram, 995);
  if (bound != kUnbounded && (bound < bars / 2 || bound / 4 <= most)) return bound;
  std::uint64_t last = 3;
  while (last < most) last = 2 * last + 1;
  return last;
}

// Returns the end of the axis: the largest share, rounded up to ten per cent.
double TopShare(const StalenessBins& bins) {
  double most = 0;
  for (std::size_t bin = 0; bin < bins.counts.size(); ++bin) most = std::max(most, bins.Share(bin));
  return std::clamp(std::ceil(most * 10 - 1e-9) / 10, 0.1, 1.0);
}

// Fills a bar from below, the topmost character in eighths. Every share above 0 is visible.
void DrawBar(Canvas& canvas, const Area& bar, double part, bool utf8) {
  const int steps = utf8 ? 8 : 1;
  const auto exact = part * bar.height * steps;
  const int full = part > 0 ? std::max(1, static_cast<int>(std::lround(exact))) : 0;
  for (int row = 0; row < bar.height; ++row) {
    const int here = std::clamp(full - row * steps, 0, steps);
    if (here == 0) break;
    const char32_t shown = utf8 ? static_cast<char32_t>(0x2580 + here) : U'#';  // 2581 is an eighth
    for (int x = bar.x; x < bar.right(); ++x) {
      canvas.Put(x, bar.bottom() - 1 - row, shown, Ink::kCurve);
    }
  }
}

std::vector<Mark> ValueMarks(const Area& plot, const StalenessBars& bars) {
  std::vector<Mark> marks;
  int free_from = plot.x;
  const auto& [counts, width, open] = bars.bins;
  const int plot_end = plot.x + static_cast<int>(counts.size()) * bars.columns;
  for (std::size_t bar = 0; bar < counts.size(); ++bar) {
    const int x = plot.x + static_cast<int>(bar) * bars.columns;
    const bool more = open && bar + 1 == counts.size();
    const std::string text = fmt::format("{}{}", bar * width, more ? "+" : "");
    const int end = x + ColumnsOf(text);
    const bool room_for_last = more || !open || end + 6 <= plot_end;
    if (x < free_from || end > plot.right() || !room_for_last) continue;
    marks.push_back({x, text});
    free_from = end + 2;
  }
  return marks;
}

std::string Described(const learner::StalenessStatus& staleness, std::uint64_t bound, int room) {
  const std::string mean = fmt::format("mean {:.1f}", staleness.mean),
                    max = fmt::format("max {}", staleness.max),
                    limit = bound == kUnbounded ? "unbounded" : fmt::format("bound {}", bound);
  const std::string all = fmt::format("{}  {}  {}", mean, max, limit);
  return ColumnsOf(all) <= room ? all : fmt::format("{}  {}", mean, limit);
}

}  // namespace

StalenessBars ArrangeStaleness(const std::vector<std::uint64_t>& histogram, std::uint64_t bound,
                               int columns) {
  const int room = std::max(1, columns - 1);
  const std::uint64_t last = LastShown(histogram, bound, static_cast<std::uint64_t>(room));
  const std::uint64_t width = last / static_cast<std::uint64_t>(room) + 1;
  auto count = static_cast<int>(last / width + 1);
  StalenessBars bars{.bins = {}, .columns = std::min(room / count, kMaxBarColumns)};
  if (bound != kUnbounded && bound <= last) {
    bars.bound_column = count * bars.columns;
  } else {
    count = room / bars.columns;  // no line ends the bars: fill the width
  }
  bars.bins = BinStaleness(histogram, static_cast<std::size_t>(count), width);
  return bars;
}

void DrawStalenessPanel(Canvas& canvas, const Area& area, const learner::StalenessStatus& staleness,
                        std::uint64_t bound, bool utf8) {
  const Area plot = PlotOf(area);
  if (plot.width < 1 || plot.height < 1) return;
  constexpr std::string_view kTitle = "staleness";
  const int room = area.width - ColumnsOf(kTitle) - 1;
  DrawTitle(canvas, area, kTitle, Described(staleness, bound, room));

  // 1. The axes.
  const StalenessBars bars = ArrangeStaleness(staleness.histogram, bound, plot.width);
  const double top = TopShare(bars.bins);
  std::vector<Mark> rows{{plot.y, fmt::format("{:.0f} %", 100 * top)}};
  if (plot.height > 1) rows.push_back({plot.bottom() - 1, ""});
  DrawLeftAxis(canvas, plot, rows, utf8);
  DrawLowerAxis(canvas, plot, ValueMarks(plot, bars), utf8);

  // 2. The bars.
  const int gap = bars.columns >= 3 ? 1 : 0;
  for (std::size_t bar = 0; bar < bars.bins.counts.size(); ++bar) {
    const int x = plot.x + static_cast<int>(bar) * bars.columns;
    const Area area_of_bar{x, plot.y, bars.columns - gap, plot.height};
    DrawBar(canvas, area_of_bar, bars.bins.Share(bar) / top, utf8);
  }

  // 3. The line of the bound.
  if (bars.bound_column < 0) return;
  for (int y = plot.y; y <= plot.bottom(); ++y) {
    canvas.Put(plot.x + bars.bound_column, y, utf8 ? U'┃' : U'|', Ink::kWarn);
  }
}

}  // namespace starling::monitor
