#include "monitor/page/run_page.h"

#include <fmt/format.h>

#include <algorithm>
#include <span>

#include "core/text.h"
#include "monitor/page/script.h"
#include "monitor/page/style.h"
#include "monitor/screen/screen.h"
#include "monitor/svg/html.h"
#include "monitor/svg/plot.h"
#include "monitor/svg/style.h"

namespace starling::monitor {
namespace {

constexpr int kPoints = 240;           // of a curve
constexpr int kHistogramColumns = 26;  // one of them is the line of the bound
constexpr std::size_t kMostRows = 64;

std::string Section(const char* id, const std::string& title, const std::string& html) {
  return fmt::format("<section id=\"{}\">\n<h2>{}</h2>\n{}</section>\n", id, title, html);
}

std::string Paragraph(const char* how, const std::string& text) {
  return fmt::format("<p class=\"{}\">{}</p>\n", how, HtmlEscaped(text));
}

// ---- The head

std::string BoundText(const RunFacts& facts) {
  if (facts.bound == kUnbounded) return "staleness unbounded";
  return fmt::format("staleness bound {}, {}", facts.bound, facts.drop ? "drop" : "wait");
}

// A word for the eye; the sentence after it says more.
std::string StateOf(Standing standing) {
  const bool good = standing == Standing::kLive || standing == Standing::kFinished ||
                    standing == Standing::kElsewhere;
  return fmt::format("<span class=\"state {}\">{}</span>", good ? "good" : "poor",
                     NameOf(standing));
}

std::string NameOf(const RunFollower& run) {
  return HtmlEscaped(run.run_dir().filename().string());
}

std::string HeadOfUnreadable(const RunFollower& run) {
  return fmt::format("<section id=\"head\">\n<h1>{}</h1>\n<p>{} {}</p>\n</section>\n", NameOf(run),
                     StateOf(run.standing()), HtmlEscaped(run.sentence()));
}

std::string HeadOf(const RunFollower& run, const RunView& view) {
  const RunFacts& facts = view.facts;
  const double total = static_cast<double>(std::max<std::uint64_t>(view.progress.total, 1));
  return fmt::format(
      "<section id=\"head\">\n<h1>{}</h1>\n<p class=\"faint\">{}, seed {}, {}, {}; {}</p>\n"
      "<p class=\"sentence\">{} {}</p>\n<progress max=\"1\" value=\"{:.4f}\" "
      "aria-label=\"steps done\"></progress>\n</section>\n",
      NameOf(run), HtmlEscaped(facts.env), facts.seed, BoundText(facts),
      Plural(static_cast<std::size_t>(facts.actors), "actor"), HtmlEscaped(run.run_dir().string()),
      StateOf(run.standing()), HtmlEscaped(run.sentence()),
      std::min(1.0, static_cast<double>(view.progress.steps) / total));
}

// ---- Curves

std::string CurveOf(const Series& series, double elapsed_s, const std::string& name, bool from_zero,
                    const std::string& if_empty) {
  const TimeUnit unit = TimeUnitFor(elapsed_s);
  Plot plot{.x_label = fmt::format("time, {}", unit.name),
            .y_label = name,
            .from_zero = from_zero,
            .if_empty = if_empty};
  const auto values = series.Columns(elapsed_s, kPoints);
  Samples samples;
  for (std::size_t i = 0; i < values.size(); ++i) {
    const double at_s = (static_cast<double>(i) + 0.5) / kPoints * elapsed_s;
    if (values[i]) samples.push_back({at_s / unit.seconds, *values[i]});
  }
  plot.curves.push_back({.samples = std::move(samples), .title = name});
  return DrawPlot(plot);
}

// "steps per second: 38.1k"; without a number before the first.
std::string Newest(const Series& series, const char* name, bool count) {
  if (series.empty()) return name;
  return fmt::format("{}: {}", name,
                     count ? HumanCount(series.last()) : fmt::format("{:.4g}", series.last()));
}

std::string Curves(const RunView& view) {
  const double elapsed = std::max(view.elapsed_s, 1.0);
  return Section(
      "curves", "Learning and speed",
      "<div class=\"pair\">\n" +
          Figure(Newest(*view.returns, "mean return of the last 100 training episodes", false),
                 CurveOf(*view.returns, elapsed, "return", false, "no episode has ended yet")) +
          Figure(Newest(*view.rate, "steps per second", true),
                 CurveOf(*view.rate, elapsed, "steps per second", true,
                         "no gradient was applied yet")) +
          "</div>\n");
}

// ---- Staleness

std::string Staleness(const RunView& view) {
  const learner::StalenessStatus& staleness = view.staleness;
  const std::uint64_t bound = view.facts.bound;
  const StalenessBars bars = ArrangeStaleness(staleness.histogram, bound, kHistogramColumns);
  double top = 0.1;
  for (std::size_t bin = 0; bin < bars.bins.counts.size(); ++bin) {
    top = std::max(top, bars.bins.Share(bin));
  }
  const std::optional<std::uint64_t> line =
      bound == kUnbounded ? std::nullopt : std::optional(bound);
  const std::string caption =
      fmt::format("mean {:.2f}, max {}, {}", staleness.mean, staleness.max, BoundText(view.facts));
  return Section("staleness", "Staleness of every applied gradient",
                 Figure(caption, DrawHistogram(bars.bins, top, 0, /*small=*/false, line)));
}

// ---- Actors

std::string RowOf(const ActorRow& row, const std::string& left) {
  const bool good = row.state == ActorRow::State::kAlive;
  const bool starts = row.state == ActorRow::State::kStarting;
  const std::string why = good || left.empty() ? "" : HtmlEscaped(": " + left);
  const auto known = [&](std::string text) { return row.version ? std::move(text) : "–"; };
  return "<tr>" + Cell(std::to_string(row.slot)) +
         Cell(std::string(NameOf(row.state)) + why, good     ? "word good"
                                                    : starts ? "word"
                                                             : "word poor") +
         Cell(known(std::to_string(row.version.value_or(0)))) +
         Cell(known(std::to_string(row.lag))) +
         Cell(row.steps_per_second ? HumanCount(*row.steps_per_second) : "–") +
         Cell(row.waiting ? fmt::format("{:.0f} %", 100 * *row.waiting) : "–") +
         Cell(std::to_string(row.restarts)) + "</tr>\n";
}

std::string Actors(RunFollower& run, const RunView& view) {
  if (!run.has_actors()) {
    return Section("actors", "Actors", Paragraph("faint", "none is at work"));
  }
  const std::vector<ActorRow> rows = InOrder(view.actors, kMostRows);
  const std::size_t shown = std::min(rows.size(), kMostRows);
  const auto& told = run.published()->actors;
  std::string html;
  for (std::size_t i = 0; i < shown; ++i) {
    const auto of = std::ranges::find(told, rows[i].slot, &learner::ActorStatus::slot);
    html += RowOf(rows[i], of == told.end() ? "" : of->left);
  }
  const std::string head =
      "<th scope=\"col\">actor</th>" +
      Head({"state", "version", "lag", "steps/s", "waits", "restarts"}, /*words=*/1);
  return Section(
      "actors", "Actors",
      Table(head, html) +
          (shown < rows.size() ? Paragraph("faint", Others(std::span(rows).subspan(shown))) : ""));
}

// ---- The rest

std::string Limits(const RunView& view) {
  return Section(
      "limits", "What limits the speed",
      Paragraph("sentence", view.bottleneck.empty() ? "not known yet" : view.bottleneck));
}

std::string Evaluation(const RunFollower& run) {
  if (run.evals().empty()) {
    return Section("evaluation", "Evaluation",
                   run.config()->eval.every_steps > 0
                       ? Paragraph("faint", "none has ended yet")
                       : Paragraph("faint", "off; eval.every_steps turns it on"));
  }
  const auto tell = [](const results::EvalLine& line) {
    return fmt::format("mean return {:.2f} ± {:.2f} over {} episodes, with the weights of {} steps",
                       line.mean_return, line.std, line.episodes, Grouped(line.steps));
  };
  const auto best = std::ranges::max_element(run.evals(), {}, &results::EvalLine::mean_return);
  const results::EvalLine& last = run.evals().back();
  return Section("evaluation", "Evaluation",
                 Paragraph("sentence", "last: " + tell(last)) +
                     (*best == last ? "" : Paragraph("faint", "best: " + tell(*best))));
}

// The script fills it while it is open.
std::string Play() {
  return "<section id=\"play\" data-live>\n<details open>\n<summary>The policy at play, with the "
         "newest weights</summary>\n<div class=\"game\"><img alt=\"the game\" hidden><div>"
         "<p class=\"faint\">the game is being started</p></div></div>\n</details>\n</section>\n";
}

std::string Log(const RunFollower& run) {
  std::string lines;
  for (const std::string& line : run.LogLines()) lines += HtmlEscaped(ToUtf8(line)) + "\n";
  return Section("log", "The last lines of its log",
                 lines.empty() ? Paragraph("faint", "it is empty")
                               : "<pre tabindex=\"0\">" + lines + "</pre>\n");
}

}  // namespace

std::string RunParts(RunFollower& run) {
  if (!run.config()) return HeadOfUnreadable(run) + Log(run);
  const RunView view = run.View();
  return HeadOf(run, view) + Curves(view) + "<div class=\"pair\">\n" + Staleness(view) +
         Actors(run, view) + "</div>\n" + Play() + Limits(view) + Evaluation(run) + Log(run);
}

std::string ListPart(const std::vector<ListedRun>& runs, std::size_t more,
                     const std::string& where) {
  std::string rows;
  for (const ListedRun& run : runs) {
    rows += "<tr>" +
            Cell(fmt::format("<a href=\"{}\">{}</a>", HtmlEscaped(run.link), HtmlEscaped(run.name)),
                 "word") +
            Cell(HtmlEscaped(run.state), "word") + Cell(HtmlEscaped(run.env), "word") +
            Cell(HumanCount(run.steps)) +
            Cell(run.mean_return ? fmt::format("{:.4g}", *run.mean_return) : "–") +
            Cell(HtmlEscaped(run.problem), "word faint") + "</tr>\n";
  }
  const std::string head =
      Head({"run", "state", "environment", "steps", "return", ""}, /*words=*/3);
  return fmt::format(
      "<section id=\"runs\">\n<h1>Runs</h1>\n<p class=\"faint\">{}</p>\n{}</section>\n",
      HtmlEscaped(where),
      runs.empty() ? Paragraph("empty", "there is no run here yet")
                   : Table(head, rows) +
                         (more == 0 ? "" : Paragraph("faint", fmt::format("and {} more", more))));
}

std::string Document(const std::string& title, const std::string& parts, const std::string& nonce) {
  return fmt::format(
      "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n<meta "
      "name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n<title>{}</title>\n"
      "<link rel=\"icon\" href=\"data:,\">\n<style nonce=\"{}\">{}{}</style>\n</head>\n<body>\n"
      "<main>\n<p id=\"gone\" class=\"notice\" role=\"alert\" hidden>The server of this page does "
      "not answer: what you see is old. <code>starling watch</code> shows a run that is over.</p>\n"
      "<p id=\"said\" class=\"unseen\" role=\"status\"></p>\n{}</main>\n<script "
      "nonce=\"{}\">{}</script>\n</body>\n</html>\n",
      HtmlEscaped(title), nonce, kPageStyle, kRunStyle, parts, nonce, kPageScript);
}

}  // namespace starling::monitor
