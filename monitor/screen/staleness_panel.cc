#include "monitor/screen/staleness_panel.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <string>
#include <string_view>

#include "core/config/config.h"
#include "monitor/screen/frame.h"

namespace starling::monitor {
namespace {

constexpr int kWidestBar = 6;

std::uint64_t Total(const std::vector<std::uint64_t>& histogram) {
  return std::accumulate(histogram.begin(), histogram.end(), std::uint64_t{0});
}

// The least value that 99.5 % of all do not exceed.
std::uint64_t AlmostAll(const std::vector<std::uint64_t>& histogram) {
  const std::uint64_t total = Total(histogram);
  std::uint64_t sum = 0;
  for (std::size_t value = 0; value < histogram.size(); ++value) {
    sum += histogram[value];
    if (static_cast<double>(sum) >= 0.995 * static_cast<double>(total)) return value;
  }
  return 0;
}

// The largest value shown: a round number, so that it seldom changes.
std::uint64_t LastShown(const std::vector<std::uint64_t>& histogram, std::uint64_t bound,
                        std::uint64_t bars) {
  const std::uint64_t most = AlmostAll(histogram);
  if (bound != kUnbounded && (bound < bars / 2 || bound / 4 <= most)) return bound;
  std::uint64_t last = 3;
  while (last < most) last = 2 * last + 1;
  return last;
}

// The end of the axis: a share that none exceeds, in whole steps of ten per cent.
double TopShare(const std::vector<double>& shares) {
  const double most = shares.empty() ? 0 : *std::max_element(shares.begin(), shares.end());
  return std::clamp(std::ceil(most * 10 - 1e-9) / 10, 0.1, 1.0);
}

// A column of `rows` characters filled from below, the last of them in eighths; what is there at
// all is seen.
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
  for (std::size_t bar = 0; bar < bars.shares.size(); ++bar) {
    const int x = plot.x + static_cast<int>(bar) * bars.columns;
    const bool more = bars.open && bar + 1 == bars.shares.size();
    const std::string text = fmt::format("{}{}", bar * bars.values, more ? "+" : "");
    const int end = x + static_cast<int>(text.size());
    const bool room_for_last =
        more || !bars.open ||
        end + 6 <= plot.x + static_cast<int>(bars.shares.size()) * bars.columns;
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
  return static_cast<int>(all.size()) <= room ? all : fmt::format("{}  {}", mean, limit);
}

}  // namespace

StalenessBars ArrangeStaleness(const std::vector<std::uint64_t>& histogram, std::uint64_t bound,
                               int columns) {
  StalenessBars bars;
  const int room = std::max(1, columns - 1);
  const std::uint64_t last = LastShown(histogram, bound, static_cast<std::uint64_t>(room));
  bars.values = last / static_cast<std::uint64_t>(room) + 1;
  auto count = static_cast<int>(last / bars.values + 1);
  bars.columns = std::min(room / count, kWidestBar);
  if (bound != kUnbounded && bound <= last) {
    bars.bound_column = count * bars.columns;
  } else {
    count = room / bars.columns;  // nothing ends there: as far as there is room
  }
  bars.shares.resize(static_cast<std::size_t>(count));
  bars.open = histogram.size() > bars.shares.size() * bars.values;
  const auto total = static_cast<double>(std::max(std::uint64_t{1}, Total(histogram)));
  for (std::size_t value = 0; value < histogram.size(); ++value) {
    const std::size_t bar = std::min(value / bars.values, bars.shares.size() - 1);
    bars.shares[bar] += static_cast<double>(histogram[value]) / total;
  }
  return bars;
}

void DrawStalenessPanel(Canvas& canvas, const Area& area, const learner::StalenessStatus& staleness,
                        std::uint64_t bound, bool utf8) {
  const Area plot = PlotOf(area);
  if (plot.width < 1 || plot.height < 1) return;
  constexpr std::string_view kTitle = "staleness";
  const int room = area.width - static_cast<int>(kTitle.size()) - 1;
  DrawTitle(canvas, area, kTitle, Described(staleness, bound, room));
  const StalenessBars bars = ArrangeStaleness(staleness.histogram, bound, plot.width);
  const double top = TopShare(bars.shares);
  std::vector<Mark> rows{{plot.y, fmt::format("{:.0f} %", 100 * top)}};
  if (plot.height > 1) rows.push_back({plot.bottom() - 1, ""});
  DrawLeftAxis(canvas, plot, rows, utf8);
  DrawLowerAxis(canvas, plot, ValueMarks(plot, bars), utf8);
  const int gap = bars.columns >= 3 ? 1 : 0;
  for (std::size_t bar = 0; bar < bars.shares.size(); ++bar) {
    const int x = plot.x + static_cast<int>(bar) * bars.columns;
    DrawBar(canvas, {x, plot.y, bars.columns - gap, plot.height}, bars.shares[bar] / top, utf8);
  }
  if (bars.bound_column < 0) return;
  for (int y = plot.y; y <= plot.bottom(); ++y) {
    canvas.Put(plot.x + bars.bound_column, y, utf8 ? U'┃' : U'|', Ink::kWarn);
  }
}

}  // namespace starling::monitor
