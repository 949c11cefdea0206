#include "monitor/svg/plot.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/text.h"
#include "monitor/svg/html.h"

namespace starling::monitor {
namespace {

constexpr double kTop = 10, kRight = 16, kDigit = 6.8, kStrip = 18;  // pixels of the drawing

// Room for the ticks of an axis, and for its name if it has one.
struct Margins {
  double left, below;
};
constexpr Margins kNamed{32, 44}, kBare{12, 24};

// Maps values to pixels.
struct Frame {
  Axis x, y;
  double width, height, left, below;

  double bottom() const { return height - below; }
  double right() const { return width - kRight; }
  double X(double value) const {
    return left + (value - x.low) / (x.high - x.low) * (right() - left);
  }
  double Y(double value) const {
    return bottom() - (value - y.low) / (y.high - y.low) * (bottom() - kTop);
  }
};

Frame MakeFrame(Axis x, Axis y, double width, double height, Margins margins = kNamed) {
  std::size_t longest = 1;
  for (const std::string& text : y.tick_text) longest = std::max(longest, text.size());
  const double left = margins.left + kDigit * static_cast<double>(longest);
  return {std::move(x), std::move(y), width, height, left, margins.below};
}

// For a script: where the x axis lies.
std::string AxisData(const Frame& frame) {
  return fmt::format(
      " data-low=\"{}\" data-high=\"{}\" data-left=\"{:.1f}\" data-right=\"{:.1f}\" "
      "data-top=\"{}\" data-bottom=\"{:.1f}\"",
      frame.x.low, frame.x.high, frame.left, frame.right(), kTop, frame.bottom());
}

// `label` says to screen readers what is drawn; `where` is AxisData, or "".
std::string Open(const Frame& frame, const std::string& label, const std::string& where = "") {
  return fmt::format("<svg viewBox=\"0 0 {:.0f} {:.0f}\" role=\"img\" aria-label=\"{}\"{}>\n",
                     frame.width, frame.height, HtmlEscaped(label), where);
}

std::string Text(double x, double y, const char* how, const std::string& text) {
  return fmt::format("<text x=\"{:.1f}\" y=\"{:.1f}\" class=\"{}\">{}</text>\n", x, y, how,
                     HtmlEscaped(text));
}

std::string Line(double x1, double y1, double x2, double y2, const char* how) {
  return fmt::format(
      "<line x1=\"{:.1f}\" y1=\"{:.1f}\" x2=\"{:.1f}\" y2=\"{:.1f}\" class=\"{}\"/>\n", x1, y1, x2,
      y2, how);
}

std::string Titles(const Frame& frame, const std::string& x_label, const std::string& y_label) {
  const double middle = (kTop + frame.bottom()) / 2;
  return Text((frame.left + frame.right()) / 2, frame.height - 6, "mid", x_label) +
         fmt::format(
             "<text transform=\"translate(13 {:.1f}) rotate(-90)\" class=\"mid\">{}</text>\n",
             middle, HtmlEscaped(y_label));
}

std::string GridY(const Frame& frame) {
  std::string svg;
  for (std::size_t i = 0; i < frame.y.ticks.size(); ++i) {
    const double y = frame.Y(frame.y.ticks[i]);
    svg += Line(frame.left, y, frame.right(), y, "grid");
    svg += Text(frame.left - 6, y + 4, "end", frame.y.tick_text[i]);
  }
  return svg + Line(frame.left, frame.bottom(), frame.right(), frame.bottom(), "axis");
}

std::string TicksX(const Frame& frame) {
  std::string svg;
  for (std::size_t i = 0; i < frame.x.ticks.size(); ++i) {
    const double x = frame.X(frame.x.ticks[i]);
    svg += Line(x, frame.bottom(), x, frame.bottom() + 4, "axis");
    svg += Text(x, frame.bottom() + 18, "mid", frame.x.tick_text[i]);
  }
  return svg;
}

std::string Points(const Frame& frame, const Samples& samples) {
  std::string points;
  for (const Sample& sample : samples) {
    points += fmt::format("{}{:.1f},{:.1f}", points.empty() ? "" : " ", frame.X(sample.x),
                          frame.Y(sample.y));
  }
  return points;
}

std::string DrawBand(const Frame& frame, const Band& band) {
  const GroupCurve& curve = band.curve;
  if (curve.low.empty()) return "";
  Samples edge;
  for (std::size_t i = 0; i < curve.low.size(); ++i) {
    edge.push_back({curve.middle[i].x, curve.low[i]});
  }
  for (std::size_t i = curve.high.size(); i-- > 0;) {
    edge.push_back({curve.middle[i].x, curve.high[i]});
  }
  return fmt::format("<polygon class=\"band {}\" points=\"{}\"/>\n", GroupClass(band.style),
                     Points(frame, edge));
}

std::string DrawWhisker(const Frame& frame, const Whisker& whisker) {
  const double x = frame.X(whisker.x);
  return Line(x, frame.Y(whisker.low), x, frame.Y(whisker.high),
              ("whisker " + GroupClass(whisker.style)).c_str());
}

std::string Cross(const Frame& frame, const Curve& curve) {
  const double x = frame.X(curve.samples.back().x), y = frame.Y(curve.samples.back().y);
  return fmt::format("<path class=\"cross {}\" d=\"M{:.1f},{:.1f}l8,8m0,-8l-8,8\"/>\n",
                     GroupClass(curve.style), x - 4, y - 4);
}

std::string DrawCurve(const Frame& frame, const Curve& curve) {
  if (curve.samples.empty()) return "";
  static constexpr const char* kClass[] = {"line", "run", "open"};
  const std::string classes =
      fmt::format("{} {}", kClass[static_cast<int>(curve.kind)], GroupClass(curve.style));
  std::string svg =
      fmt::format("<polyline class=\"{}\" points=\"{}\"><title>{}</title></polyline>\n", classes,
                  Points(frame, curve.samples), HtmlEscaped(curve.title));
  // A single sample is no line.
  if (curve.dots || curve.samples.size() == 1) {
    for (const Sample& sample : curve.samples) {
      svg += fmt::format("<circle class=\"dot {}\" cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"2.5\"/>\n",
                         GroupClass(curve.style), frame.X(sample.x), frame.Y(sample.y));
    }
  }
  return curve.kind == Curve::Kind::kUnfinished ? svg + Cross(frame, curve) : svg;
}

std::string Empty(const std::string& sentence) {
  return fmt::format("<p class=\"empty\">{}</p>\n", HtmlEscaped(sentence));
}

// "4", "10–14", "24+".
std::string BarName(const StalenessBins& bins, std::size_t bar) {
  const auto& [bars, width, open] = bins;
  const std::size_t begin = bar * width;
  if (open && bar + 1 == bars.size()) return fmt::format("{}+", begin);
  return width == 1 ? fmt::format("{}", begin) : fmt::format("{}–{}", begin, begin + width - 1);
}

// The ranges of all curves and bands of a plot.
Extents ExtentsOf(const Plot& plot) {
  Extents all;
  for (const Curve& curve : plot.curves) {
    for (const Sample& sample : curve.samples) all.x.Add(sample.x), all.y.Add(sample.y);
  }
  for (const Band& band : plot.bands) {
    for (const double value : band.curve.low) all.y.Add(value);
    for (const double value : band.curve.high) all.y.Add(value);
  }
  for (const Whisker& whisker : plot.whiskers) all.y.Add(whisker.low), all.y.Add(whisker.high);
  return all;
}

// An axis of names, evenly spaced; of more than have room in `width`, every second, third, ...
Axis AxisOfPlaces(const std::vector<std::string>& names, double width) {
  constexpr double kMargin = 0.25;  // of the distance between two
  std::size_t longest = 0;
  for (const std::string& name : names) longest = std::max(longest, name.size());
  const auto room = static_cast<std::size_t>(width / (kDigit * static_cast<double>(longest + 1)));
  const std::size_t every = names.size() / std::max<std::size_t>(room, 1) + 1;
  const double last = static_cast<double>(names.size()) - 1;
  Axis axis{.low = -kMargin, .high = last + kMargin, .ticks = {}, .tick_text = {}};
  for (std::size_t i = 0; i < names.size(); i += every) {
    axis.ticks.push_back(static_cast<double>(i));
    axis.tick_text.push_back(names[i]);
  }
  return axis;
}

Frame FrameOf(const Plot& plot, Extents shown) {
  auto& [x, y] = shown;
  const double range = y.high - y.low;
  if (plot.from_zero || (y.low >= 0 && y.low < range / 2)) y.Add(0);  // 0 is a natural origin
  const double margin = 0.03 * (y.high - y.low);
  const double begin = plot.part ? x.low : std::min(x.low, 0.0);
  const double width = plot.small ? 380 : 560, height = plot.small ? 250 : 320;
  const Axis across = plot.places.empty() ? MakeAxis(begin, x.high, plot.small ? 4 : 6, false)
                                          : AxisOfPlaces(plot.places, 0.8 * width);
  const Axis up = MakeAxis(y.low == 0 ? 0 : y.low - margin, y.high + margin, 5, false);
  return MakeFrame(across, up, width, height);
}

}  // namespace

std::string GroupClass(std::size_t style) {
  return fmt::format("g{} d{}", style % kColors, style / kColors % kDashes);
}

std::string DrawPlot(const Plot& plot) {
  Extents shown = ExtentsOf(plot);
  if (shown.x.empty()) return Empty(plot.if_empty);
  shown.x.Add(plot.shown.x);
  shown.y.Add(plot.shown.y);
  const Frame frame = FrameOf(plot, shown);
  std::string svg = Open(frame, plot.y_label + " against " + plot.x_label, AxisData(frame)) +
                    GridY(frame) + TicksX(frame) + Titles(frame, plot.x_label, plot.y_label);
  for (const Band& band : plot.bands) svg += DrawBand(frame, band);
  for (const Whisker& whisker : plot.whiskers) svg += DrawWhisker(frame, whisker);
  for (const Curve& curve : plot.curves) svg += DrawCurve(frame, curve);
  return svg + "</svg>\n";
}

std::string DrawStrips(const Strips& strips) {
  // 1. Axes; the middle of row i is at y = -i.
  const std::size_t rows = strips.rows.size();
  Axis names{.low = 0.5 - static_cast<double>(rows), .high = 0.5, .ticks = {}, .tick_text = {}};
  for (std::size_t row = 0; row < rows; ++row) {
    names.ticks.push_back(-static_cast<double>(row));
    names.tick_text.push_back(strips.rows[row]);
  }
  const Axis across = MakeAxis(strips.x.low, strips.x.high, 6, false);
  const double height = kTop + kNamed.below + kStrip * static_cast<double>(rows);
  const Frame frame = MakeFrame(across, std::move(names), 560, height);
  std::string svg = Open(frame, strips.y_label + " against " + strips.x_label, AxisData(frame)) +
                    GridY(frame) + TicksX(frame) + Titles(frame, strips.x_label, strips.y_label);
  // 2. Cells.
  for (std::size_t row = 0; row < rows; ++row) {
    const std::vector<double>& shares = strips.shares[row];
    const double step = (strips.x.high - strips.x.low) / static_cast<double>(shares.size());
    const double y = frame.Y(0.4 - static_cast<double>(row));
    for (std::size_t i = 0; i < shares.size(); ++i) {
      if (shares[i] <= 0) continue;
      const double x = frame.X(strips.x.low + step * static_cast<double>(i));
      svg += fmt::format(
          "<rect class=\"bar {}\" x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.1f}\" height=\"{:.1f}\" "
          "opacity=\"{:.2f}\"/>\n",
          GroupClass(row % kColors), x, y, frame.X(strips.x.low + step) - frame.X(strips.x.low),
          0.8 * kStrip, std::max(shares[i], 0.1));
    }
  }
  return svg + "</svg>\n";
}

void Extent::Add(double value) {
  low = std::min(low, value);
  high = std::max(high, value);
}

void Extent::Add(const Extent& other) {
  low = std::min(low, other.low);
  high = std::max(high, other.high);
}

void ShareScale(std::vector<Plot>& plots) {
  Extents all;
  for (const Plot& plot : plots) {
    const auto [x, y] = ExtentsOf(plot);
    all.x.Add(x);
    all.y.Add(y);
  }
  for (Plot& plot : plots) plot.shown = all;
}

std::string DrawHistogram(const StalenessBins& bins, double top, std::size_t style, bool small,
                          std::optional<std::uint64_t> bound) {
  // 1. Axes; the middle of bar i is at x = i.
  const auto& [bars, width, open] = bins;
  if (bins.total() == 0) return Empty("no gradient was applied");
  const std::size_t last = bars.size() - 1, every = last / (small ? 4 : 8) + 1;
  const Axis none{
      .low = -0.5, .high = static_cast<double>(last) + 0.5, .ticks = {}, .tick_text = {}};
  const Axis shares = MakeAxis(0, 100 * top, small ? 2 : 4, true);
  const Frame frame =
      small ? MakeFrame(none, shares, 170, 120, kBare) : MakeFrame(none, shares, 270, 190);
  const double wide = frame.X(1) - frame.X(0);
  std::string svg = Open(frame, "share of the gradients by their staleness") + GridY(frame);
  if (!small) svg += Titles(frame, "staleness of a gradient", "share, %");
  // 2. Bars, and numbers below some of them.
  for (std::size_t i = 0; i <= last; ++i) {
    const double x = frame.X(static_cast<double>(i));
    if (bars[i] > 0) {
      const double share = bins.Share(i);
      const double high =
          std::max(frame.bottom() - frame.Y(100 * share), 1.0);  // rare values stay visible
      svg += fmt::format(
          "<rect class=\"bar {}\" x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.1f}\" height=\"{:.1f}\">"
          "<title>{}: {} gradients, {:.2f} %</title></rect>\n",
          GroupClass(style), x - 0.4 * wide, frame.bottom() - high, 0.8 * wide, high,
          BarName(bins, i), Grouped(bars[i]), 100 * share);
    }
    // The number of a wide bar stands at its left edge.
    const bool room = i % every == 0 && (i == last || i + every <= last);
    const std::string number = fmt::format("{}{}", i * width, open && i == last ? "+" : "");
    if (room || i == last) {
      svg += Text(width == 1 ? x : x - wide / 2, frame.bottom() + 16, "mid", number);
    }
  }
  // 3. The bound: no bar stands right of it.
  if (bound && *bound / width <= last) {
    const double x = frame.X(static_cast<double>(*bound / width) + 0.5);
    svg += fmt::format(
        "<line x1=\"{0:.1f}\" y1=\"{1:.1f}\" x2=\"{0:.1f}\" y2=\"{2:.1f}\" class=\"bound\"><title>"
        "bound {3}</title></line>\n",
        x, kTop, frame.bottom(), *bound);
  }
  return svg + "</svg>\n";
}

}  // namespace starling::monitor
