#include "monitor/screen/screen.h"

#include <algorithm>
#include <climits>
#include <cmath>

#include "core/text.h"

namespace starling::monitor {
namespace {

using Values = std::vector<std::optional<double>>;

// A grid of dots, several in a character. Draw turns them into characters once all are set.
class Dots {
 public:
  Dots(const Area& plot, bool utf8)
      : plot_(plot),
        across_(utf8 ? 2 : 1),
        down_(utf8 ? 4 : 1),
        dots_(static_cast<std::size_t>(width() * height())) {}

  int width() const { return plot_.width * across_; }
  int height() const { return plot_.height * down_; }
  int RowOf(int dot) const { return plot_.y + dot / down_; }

  void Set(int x, int y) { dots_.begin()[y * width() + x] = true; }

  void Draw(Canvas& canvas) const {
    for (int y = 0; y < plot_.height; ++y) {
      for (int x = 0; x < plot_.width; ++x) {
        if (const char32_t shown = CharacterAt(x, y)) {
          canvas.Put(plot_.x + x, plot_.y + y, shown, Ink::kCurve);
        }
      }
    }
  }

 private:
  // Braille: the first three rows of dots are bits 0 to 2 and 3 to 5, the last is bits 6 and 7.
  char32_t CharacterAt(int x, int y) const {
    constexpr int kBits[4][2] = {{0x01, 0x08}, {0x02, 0x10}, {0x04, 0x20}, {0x40, 0x80}};
    int bits = 0;
    for (int dy = 0; dy < down_; ++dy) {
      for (int dx = 0; dx < across_; ++dx) {
        const int at = (y * down_ + dy) * width() + x * across_ + dx;
        if (dots_.begin()[at]) bits |= kBits[dy][dx];
      }
    }
    if (bits == 0) return 0;
    return down_ == 1 ? U'*' : static_cast<char32_t>(0x2800 + bits);
  }

  const Area plot_;
  const int across_, down_;
  std::vector<bool> dots_;
};

// Returns the row of `value`, counted from the top of `height` rows of dots.
int DotRow(double value, const Axis& axis, int height) {
  const double part = std::clamp((value - axis.low) / (axis.high - axis.low), 0.0, 1.0);
  return static_cast<int>(std::lround((1 - part) * (height - 1)));
}

Axis AxisOf(const Values& values, bool from_zero, int rows) {
  double low = from_zero ? 0 : HUGE_VAL, high = from_zero ? 0 : -HUGE_VAL;
  for (const auto& value : values) {
    if (!value) continue;
    low = std::min(low, *value);
    high = std::max(high, *value);
  }
  return MakeAxis(low, high, std::clamp(rows / 2, 2, 5), /*round=*/true);
}

void DrawLine(const Values& values, const Axis& axis, Dots& dots) {
  int before = -1;  // the row of the dot at the left; -1: there is none
  for (int x = 0; x < dots.width(); ++x) {
    const auto& value = values.begin()[x];
    if (!value) {
      before = -1;
      continue;
    }
    const int y = DotRow(*value, axis, dots.height());
    // A steep part becomes a vertical line, so that the curve has no gaps.
    const int from = before < 0 || before == y ? y : before < y ? before + 1 : before - 1;
    for (int dot = std::min(from, y); dot <= std::max(from, y); ++dot) dots.Set(x, dot);
    before = y;
  }
}

// Returns the marks of every tick, or of every second, ... so that the rounding to rows does not
// put some labels side by side and others apart. The ends of the axis are ticks, and stay.
std::vector<Mark> TickMarks(const Axis& axis, const Dots& dots) {
  if (axis.ticks.empty()) return {};  // values that are not finite
  const std::size_t last = axis.ticks.size() - 1;
  for (std::size_t every = 1;; ++every) {
    if (last % every != 0) continue;
    std::vector<Mark> marks;
    for (std::size_t i = 0; i <= last; i += every) {
      marks.push_back({dots.RowOf(DotRow(axis.ticks[i], axis, dots.height())), axis.tick_text[i]});
    }
    int least = INT_MAX, most = 0;  // rows from one mark to the next
    for (std::size_t i = 1; i < marks.size(); ++i) {
      least = std::min(least, marks[i - 1].at - marks[i].at);
      most = std::max(most, marks[i - 1].at - marks[i].at);
    }
    if (least > 1 || (least == 1 && most == 1) || every == last) return marks;
  }
}

std::vector<Mark> TimeMarks(const Area& plot, double until_s) {
  const std::string end = ' ' + HumanTime(until_s), middle = ' ' + HumanTime(until_s / 2) + ' ';
  const int last = plot.right() - ColumnsOf(end);
  std::vector<Mark> marks{{plot.x, "0:00 "}, {last, end}};
  constexpr int kRoomForThree = 30;
  if (plot.width >= kRoomForThree) {
    marks.push_back({plot.x + (plot.width - ColumnsOf(middle)) / 2, middle});
  }
  return marks;
}

}  // namespace

void DrawCurvePanel(Canvas& canvas, const Area& area, const CurvePanel& panel, bool utf8) {
  const Area plot = PlotOf(area);
  if (plot.width < 1 || plot.height < 1) return;
  // 1. Title and time axis, also for an empty series.
  DrawTitle(canvas, area, panel.title, panel.newest);
  DrawLowerAxis(canvas, plot, TimeMarks(plot, panel.until_s), utf8);
  Dots dots(plot, utf8);
  const Values values = panel.series->Columns(panel.until_s, dots.width());
  if (std::none_of(values.begin(), values.end(), [](const auto& one) { return one.has_value(); })) {
    DrawLeftAxis(canvas, plot, {}, utf8);
    canvas.Text(plot.x + 1, plot.y + (plot.height - 1) / 2, panel.if_empty, Ink::kDim);
    return;
  }
  // 2. The value axis.
  const Axis axis = AxisOf(values, panel.from_zero, plot.height);
  DrawLeftAxis(canvas, plot, TickMarks(axis, dots), utf8);
  // 3. The line.
  DrawLine(values, axis, dots);
  dots.Draw(canvas);
}

}  // namespace starling::monitor
