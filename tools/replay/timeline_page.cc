#include "tools/replay/timeline_page.h"

#include <fmt/format.h>

#include <cmath>
#include <cstdio>
#include <numeric>
#include <optional>
#include <utility>

#include "core/error.h"
#include "core/file.h"
#include "core/text.h"
#include "monitor/svg/html.h"
#include "monitor/svg/style.h"
#include "tools/replay/timeline_drawings.h"
#include "tools/replay/timeline_script.h"

namespace starling::replay {
namespace {

using monitor::HtmlEscaped;
using Gradient = UpdateDetails::Gradient;

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

// Returns the nearest beginning of a replay of the range. If there is none before it, that is the
// oldest cut within it, and `problem` says which updates it leaves out. Throws as NearestBeginning.
Beginning BeginningWithin(const ReplayedRun& run, VersionRange range, std::string& problem) {
  try {
    return NearestBeginning(run, range.after);
  } catch (const UserError&) {
    auto cut = AtOldestCut(run.dir);
    if (!cut || cut->state.version >= range.last) throw;
    problem = fmt::format("up to version {}, as the journal before the first of them is gone",
                          cut->state.version);
    return *std::move(cut);
  }
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
    body += fmt::format("<p class=\"notice\">Losses and returns are left out: {}</p>\n",
                        HtmlEscaped(problem));
  }
  body +=
      "<noscript><p class=\"notice\">The gradients of an update are shown by a "
      "script.</p></noscript>\n" +
      Chosen() + "<div class=\"figures\">\n" + DrawWho(updates) + DrawCurves(updates) + "</div>\n" +
      LargestOf(updates) + Neighbours();
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
  ConfigOfRun(options.run_dir);  // throws if this is no run
  const std::filesystem::path path = options.run_dir / "updates.html";
  CheckWritable("--page", path);
  const JournalSummary journal = ScanJournal(options.run_dir);
  const VersionRange range = RangeOf(options.run_dir, journal, options.after, options.until);
  Timeline timeline(options.run_dir, range);
  // 2. What a replay adds, as far as the run can be replayed.
  std::string problem;
  bool differs = false;
  try {
    const ReplayedRun run = OpenRun(options.run_dir);
    ReplayedPart part(run, BeginningWithin(run, range, problem));
    Replayer& replayer = part.replayer();
    differs =
        !part.Until(range.last, [&] { timeline.Replayed(replayer.version(), replayer.applied()); });
    if (differs) problem = part.Error();
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
  if (!problem.empty()) std::printf("losses and returns are left out: %s\n", problem.c_str());
  return Answered(journal, options);
}

}  // namespace starling::replay
