#include "monitor/screen/screen.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>

#include "core/config/config.h"
#include "core/text.h"
#include "monitor/screen/panels.h"

namespace starling::monitor {
namespace {

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
