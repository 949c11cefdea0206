// DrawEfficiency: two panels of tools/report/plot.h in one SVG with its own styles.
#include <fmt/format.h>

#include <algorithm>
#include <string_view>
#include <utility>

#include "bench/efficiency_points.h"
#include "core/check.h"
#include "core/config/config.h"
#include "tools/report/plot.h"

namespace starling::bench {
namespace {

constexpr int kPanel = 560, kPanelHeight = 320, kHead = 56;  // pixels; the size of DrawPlot's SVG

// Colours and lines of the classes, for a light and a dark page.
constexpr std::string_view kStyle = R"(<style>
svg { --page: #ffffff; --text: #1c2024; --faint: #5b636c; --grid: #e3e6ea; --edge: #a9b0b8;
  --c0: #5b636c; --c1: #0067ab; --c2: #cf5200; --c3: #00835f; }
@media (prefers-color-scheme: dark) {
  svg { --page: #14171a; --text: #e4e7ea; --faint: #a0a8b0; --grid: #2c3238; --edge: #5d666f;
    --c0: #a0a8b0; --c1: #57b0f0; --c2: #ff9a57; --c3: #2fcf9f; }
}
.page { fill: var(--page); }
text { fill: var(--faint); font: 12px system-ui, "DejaVu Sans", sans-serif; }
.head { fill: var(--text); font-size: 14px; }
.mid { text-anchor: middle; }
.end { text-anchor: end; }
.grid { stroke: var(--grid); }
.axis { stroke: var(--edge); }
.g0 { --c: var(--c0); } .g1 { --c: var(--c1); } .g2 { --c: var(--c2); } .g3 { --c: var(--c3); }
.line { fill: none; stroke: var(--c); stroke-width: 2.2; }
.line.g0 { stroke-width: 1.4; stroke-dasharray: 6 4; }
.dot { fill: var(--c); }
</style>
)";

struct Group {
  std::uint64_t bound;
  const char* name;
};
constexpr Group kGroups[] = {{kUnbounded, "unbounded"}, {4, "bound 4"}, {0, "bound 0"}};

// The largest jitter that was measured.
double JitterOf(const PacedRuns& runs) {
  double most = 0;
  for (const PacedPoint& point : runs.points) most = std::max(most, point.way.jitter);
  return most;
}

std::string Panel(const PacedRuns& runs, const std::string& wire, int left) {
  // 1. A curve for each bound.
  report::Plot plot{.x_label = "actors", .y_label = "steps per second", .from_zero = true};
  double most = 0;
  std::size_t style = 1;
  for (const auto& [bound, name] : kGroups) {
    report::Curve curve{.style = style++, .samples = {}, .title = name, .dots = true};
    for (const PacedPoint& point : PointsOf(runs, {wire, JitterOf(runs), bound})) {
      curve.samples.push_back({static_cast<double>(point.actors), point.rate});
      most = std::max(most, static_cast<double>(point.actors));
    }
    plot.curves.push_back(std::move(curve));
  }
  // 2. The ideal line below them.
  plot.curves.insert(
      plot.curves.begin(),
      {.style = 0, .samples = {{0, 0}, {most, most * IdealRate(runs)}}, .title = "ideal"});
  // 3. The panel's place goes into the opening tag of its SVG.
  const std::string svg = report::DrawPlot(plot);
  constexpr std::string_view kOpening = "<svg ";
  CHECK(svg.starts_with(kOpening));
  return fmt::format("<svg x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\" {}", left, kHead, kPanel,
                     kPanelHeight, svg.substr(kOpening.size()));
}

std::string Legend(double left) {
  std::string svg;
  std::size_t style = 0;
  const auto add = [&](double x, const char* name) {
    svg += fmt::format(
        "<line x1=\"{0:.0f}\" y1=\"38\" x2=\"{1:.0f}\" y2=\"38\" class=\"line g{2}\"/>"
        "<text x=\"{3:.0f}\" y=\"42\">{4}</text>\n",
        x, x + 26, style, x + 32, name);
    ++style;
  };
  add(left, "ideal: no time but the envs'");
  double x = left + 220;
  for (const auto& [bound, name] : kGroups) add(std::exchange(x, x + 130), name);
  return svg;
}

}  // namespace

std::string DrawEfficiency(const PacedRuns& runs) {
  const int width = 2 * kPanel, height = kHead + kPanelHeight;
  const double jitter = JitterOf(runs);
  std::string svg = fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {0} {1}\" width=\"{0}\" "
      "height=\"{1}\" role=\"img\">\n{2}<rect class=\"page\" width=\"{0}\" height=\"{1}\"/>\n",
      width, height, kStyle);
  const std::pair<const char*, const char*> wires[] = {{"ipc", "ipc"},
                                                       {"tcp", "tcp over loopback"}};
  int left = 0;
  for (const auto& [wire, name] : wires) {
    svg += fmt::format("<text x=\"{}\" y=\"18\" class=\"head mid\">{}: {} ms a step{}</text>\n",
                       left + kPanel / 2, name, runs.step_ms,
                       jitter > 0 ? fmt::format(" ± {:.0f} % an unroll", 100 * jitter) : "");
    svg += Panel(runs, wire, left);
    left += kPanel;
  }
  return svg + Legend(270) + "</svg>\n";
}

}  // namespace starling::bench
