#include "tools/replay/timeline_page.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <functional>
#include <map>
#include <numeric>
#include <optional>
#include <set>
#include <utility>

#include "core/error.h"
#include "core/file.h"
#include "core/text.h"
#include "monitor/svg/html.h"
#include "monitor/svg/plot.h"
#include "monitor/svg/style.h"
#include "tools/replay/timeline_script.h"

namespace starling::replay {
namespace {

using monitor::Cell;
using monitor::HtmlEscaped;
using Gradient = UpdateDetails::Gradient;

constexpr std::size_t kBins = 250;      // of a curve, and columns of the strips
constexpr std::size_t kMaxRows = 32;    // strips of actors
constexpr std::size_t kRemarkable = 5;  // updates of each kind

// ---- data for the script

std::string Number(double value) {
  return std::isfinite(value) ? fmt::format("{:.4g}", value) : "null";
}

std::string Life(std::uint32_t incarnation) {
  return fmt::format("\"{}.{}\"", wire::TermOf(incarnation), wire::LifeOf(incarnation));
}

std::optional<double> MeanReturn(const TimelineUpdate& update) {
  if (update.returns.empty()) return std::nullopt;
  return std::accumulate(update.returns.begin(), update.returns.end(), 0.0) /
         static_cast<double>(update.returns.size());
}

std::string DataOf(const TimelineUpdate& update) {
  std::string gradients;
  for (std::size_t i = 0; i < update.details.gradients.size(); ++i) {
    const Gradient& gradient = update.details.gradients[i];
    std::string losses;
    if (update.replayed()) {
      const auto& [policy, value, entropy] = update.losses[i];
      losses = fmt::format(",{},{},{}", Number(policy), Number(value), Number(entropy));
    }
    gradients +=
        fmt::format("{}[{},{},{},{},{},{},{}{}]", i == 0 ? "" : ",", gradient.from.slot,
                    Life(gradient.from.incarnation), gradient.from.sequence, gradient.base,
                    gradient.samples, Number(gradient.weight), Number(gradient.norm), losses);
  }
  const auto mean = MeanReturn(update);
  const learner::UpdateRecord& record = update.details.update;
  return fmt::format("[{},{},{},{},[{}],{}]", record.version, record.steps, Number(record.lr),
                     Number(record.scale), gradients, mean ? Number(*mean) : "null");
}

// ---- curves

// Calls back with each value of an update.
using ValuesOf =
    std::function<void(const TimelineUpdate&, const std::function<void(double value)>&)>;

// Mean, least and largest value of each of at most kBins parts of the updates.
monitor::GroupCurve Binned(const std::vector<TimelineUpdate>& updates, const ValuesOf& values_of) {
  monitor::GroupCurve curve;
  const std::size_t bins = std::min(kBins, updates.size());
  for (std::size_t bin = 0; bin < bins; ++bin) {
    const std::size_t begin = updates.size() * bin / bins, end = updates.size() * (bin + 1) / bins;
    double sum = 0;
    std::size_t count = 0;
    monitor::Extent range;
    for (std::size_t i = begin; i < end; ++i) {
      values_of(updates[i], [&](double value) {
        if (!std::isfinite(value)) return;
        sum += value;
        ++count;
        range.Add(value);
      });
    }
    if (count == 0) continue;
    const double middle =
        static_cast<double>(updates[begin].version() + updates[end - 1].version()) / 2;
    curve.middle.push_back({middle, sum / static_cast<double>(count)});
    curve.low.push_back(range.low);
    curve.high.push_back(range.high);
  }
  return curve;
}

struct Measured {
  const char *name, *of;
  ValuesOf values;
};

std::vector<Measured> AllMeasured() {
  const auto each = [](auto value_of) -> ValuesOf {
    return [value_of](const TimelineUpdate& update, const auto& add) {
      for (const Gradient& gradient : update.details.gradients) add(value_of(gradient));
    };
  };
  const auto loss = [](double TimelineUpdate::Losses::*which) -> ValuesOf {
    return [which](const TimelineUpdate& update, const auto& add) {
      for (const TimelineUpdate::Losses& losses : update.losses) add(losses.*which);
    };
  };
  return {
      {"return", "of the episodes of training",
       [](const TimelineUpdate& update, const auto& add) {
         for (const double value : update.returns) add(value);
       }},
      {"staleness", "versions between computing and applying",
       each([](const Gradient& one) { return static_cast<double>(one.staleness); })},
      {"norm", "of a gradient before clipping", each([](const Gradient& one) { return one.norm; })},
      {"value loss", "of a gradient", loss(&TimelineUpdate::Losses::value)},
      {"policy loss", "of a gradient", loss(&TimelineUpdate::Losses::policy)},
      {"entropy", "of the policy, in a gradient", loss(&TimelineUpdate::Losses::entropy)}};
}

monitor::Extent VersionsOf(const std::vector<TimelineUpdate>& updates) {
  monitor::Extent versions;
  versions.Add(static_cast<double>(updates.front().version()));
  versions.Add(static_cast<double>(updates.back().version()));
  return versions;
}

std::string Curves(const std::vector<TimelineUpdate>& updates) {
  std::string html;
  std::size_t style = 0;
  for (const Measured& measured : AllMeasured()) {
    monitor::GroupCurve curve = Binned(updates, measured.values);
    if (curve.middle.empty()) continue;
    monitor::Plot plot{.x_label = "version", .y_label = measured.name, .part = true};
    plot.shown.x = VersionsOf(updates);
    plot.curves.push_back({.style = style, .samples = curve.middle, .title = measured.name});
    plot.bands.push_back({.style = style, .curve = std::move(curve)});
    ++style;
    html +=
        monitor::Figure(fmt::format("<b>{}</b> {}", measured.name, measured.of), DrawPlot(plot));
  }
  return html;
}

// ---- who

std::string Who(const std::vector<TimelineUpdate>& updates) {
  // 1. The actors, in at most kMaxRows rows.
  std::set<std::uint32_t> slots;
  for (const TimelineUpdate& update : updates) {
    for (const Gradient& gradient : update.details.gradients) slots.insert(gradient.from.slot);
  }
  const std::vector<std::uint32_t> sorted(slots.begin(), slots.end());
  const std::size_t together = (sorted.size() + kMaxRows - 1) / kMaxRows;
  monitor::Strips strips{.x_label = "version", .y_label = "actor"};
  std::map<std::uint32_t, std::size_t> row_of;
  for (std::size_t i = 0; i < sorted.size(); ++i) {
    if (i % together == 0) {
      const std::uint32_t last = sorted[std::min(i + together, sorted.size()) - 1];
      strips.rows.push_back(sorted[i] == last ? fmt::format("{}", last)
                                              : fmt::format("{}–{}", sorted[i], last));
    }
    row_of[sorted[i]] = i / together;
  }
  // 2. Their gradients in each column, against the most of any.
  const std::uint64_t first = updates.front().version();
  const std::uint64_t versions = updates.back().version() - first + 1;
  const std::uint64_t columns = std::min<std::uint64_t>(kBins, versions);
  strips.x.Add(static_cast<double>(first) - 0.5);
  strips.x.Add(static_cast<double>(updates.back().version()) + 0.5);
  strips.shares.assign(strips.rows.size(), std::vector<double>(columns));
  double most = 1;
  for (const TimelineUpdate& update : updates) {
    const std::uint64_t column = (update.version() - first) * columns / versions;
    for (const Gradient& gradient : update.details.gradients) {
      most = std::max(most, ++strips.shares[row_of.at(gradient.from.slot)][column]);
    }
  }
  for (std::vector<double>& row : strips.shares) {
    for (double& share : row) share /= most;
  }
  return monitor::Figure(
      "<b>who</b> the stronger, the more gradients of the actor are in the updates",
      DrawStrips(strips));
}

// ---- remarkable updates

// Buttons for the updates with the largest values; "" if there are none.
std::string Largest(const std::vector<TimelineUpdate>& updates, const Measured& measured) {
  std::vector<std::pair<double, std::uint64_t>> found;
  for (const TimelineUpdate& update : updates) {
    double largest = -INFINITY;
    measured.values(update, [&](double value) { largest = std::max(largest, value); });
    if (std::isfinite(largest)) found.emplace_back(-largest, update.version());
  }
  if (found.empty()) return "";
  const auto end = found.begin() + static_cast<std::ptrdiff_t>(std::min(kRemarkable, found.size()));
  std::partial_sort(found.begin(), end, found.end());
  std::string buttons;
  for (auto one = found.begin(); one != end; ++one) {
    buttons += fmt::format(" <button type=\"button\" data-version=\"{}\">{}: {:.4g}</button>",
                           one->second, one->second, -one->first);
  }
  return fmt::format("<p>Largest {}:{}</p>\n", measured.name, buttons);
}

std::string Remarkable(const std::vector<TimelineUpdate>& updates) {
  std::string html;
  for (const Measured& measured : AllMeasured()) {
    const std::string name = measured.name;
    if (name == "staleness" || name == "norm" || name == "value loss") {
      html += Largest(updates, measured);
    }
  }
  return html;
}

// ---- the page

// The update that is chosen; the script fills it. It stays in view.
std::string Chosen() {
  const std::string gradients =
      monitor::Head({"actor", "life", "sequence", "computed on", "staleness", "samples", "weight",
                     "norm", "policy loss", "value loss", "entropy"},
                    0);
  return "<div class=\"chooser\">\n<p><label>version <input id=\"version\" type=\"number\" "
         "min=\"0\"></label> <button type=\"button\" id=\"before\">before</button> "
         "<button type=\"button\" id=\"next\">next</button> "
         "<span id=\"facts\" role=\"status\"></span></p>\n<div id=\"gradients\">" +
         monitor::Table(gradients, "") + "</div>\n</div>\n";
}

// Its neighbours; the script fills it.
std::string Neighbours() {
  const std::string head =
      monitor::Head({"version", "actors", "staleness", "norm", "value loss", "return"}, 0);
  return "<h2>The updates around it</h2>\n"
         "<p class=\"faint\">Of several gradients in one update the largest number.</p>\n"
         "<div id=\"near\">" +
         monitor::Table(head, "") + "</div>\n";
}

}  // namespace

std::string TimelinePage(const Timeline& timeline, const std::string& title,
                         const std::string& problem) {
  // 1. The drawings.
  const std::vector<TimelineUpdate>& updates = timeline.updates();
  std::string body = fmt::format(
      "<h1>{}: {} from version {} to {}</h1>\n<p class=\"faint\">Click into a drawing, or give a "
      "version, to see the gradients of an update. Lines are means of neighbouring updates, what "
      "is shaded behind them goes from the least to the largest.</p>\n",
      HtmlEscaped(title), Plural(updates.size(), "update"), Grouped(updates.front().version()),
      Grouped(updates.back().version()));
  if (!problem.empty()) {
    body += fmt::format("<p class=\"notice\">Not all losses and returns are here: {}</p>\n",
                        HtmlEscaped(problem));
  }
  body +=
      "<noscript><p class=\"notice\">The gradients of an update are shown by a "
      "script.</p></noscript>\n" +
      Chosen() + "<div class=\"figures\">\n" + Who(updates) + Curves(updates) + "</div>\n" +
      Remarkable(updates) + Neighbours();
  // 2. The numbers, for the script.
  std::string data;
  for (const TimelineUpdate& update : updates) {
    data += (data.empty() ? "" : ",\n") + DataOf(update);
  }
  return fmt::format(
      "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
      "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src "
      "'unsafe-inline'; script-src 'unsafe-inline'; img-src data:\">\n"
      "<link rel=\"icon\" href=\"data:,\">\n<title>{0}: updates</title>\n<style>{1}{2}</style>\n"
      "</head>\n<body>\n<main>\n{3}</main>\n<script type=\"application/json\" id=\"data\">[{4}]"
      "</script>\n<script>{5}</script>\n</body>\n</html>\n",
      HtmlEscaped(title), monitor::kPageStyle, kTimelineStyle, body, data, kTimelineScript);
}

int RunPage(const ReplayOptions& options) {
  // 1. What the journal holds.
  ConfigOfRun(options.run_dir);
  const std::filesystem::path path = options.run_dir / "updates.html";
  CheckWritable("--page", path);
  const VersionRange range =
      RangeOf(options.run_dir, ScanJournal(options.run_dir), options.after, options.until);
  Timeline timeline(options.run_dir, range);
  // 2. What a replay adds, as far as the run can be replayed.
  std::string problem;
  bool differs = false;
  try {
    const ReplayedRun run = OpenRun(options.run_dir);
    ReplayedPart part(run, NearestBeginning(run, range.after));
    Replayer& replayer = part.replayer();
    differs =
        !part.Until(range.last, [&] { timeline.Replayed(replayer.version(), replayer.applied()); });
    problem = part.Error();
  } catch (const UserError& error) {
    problem = error.what();
  }
  // 3. The page.
  const std::filesystem::path named = std::filesystem::weakly_canonical(options.run_dir);
  const std::string page = TimelinePage(timeline, named.filename().string(), problem);
  WriteFileAtomically(path, page);
  std::printf("%s: %s, %zu bytes\n", path.c_str(),
              Plural(timeline.updates().size(), "update").c_str(), page.size());
  if (differs) return Fail(problem);
  if (!problem.empty()) std::printf("without losses and returns: %s\n", problem.c_str());
  return kExitDone;
}

}  // namespace starling::replay
