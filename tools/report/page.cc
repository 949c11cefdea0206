#include "tools/report/report.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <string_view>

#include "core/text.h"
#include "monitor/svg/html.h"
#include "monitor/svg/plot.h"
#include "monitor/svg/style.h"
#include "tools/report/sections.h"
#include "tools/report/style.h"

namespace starling::report {
namespace {

using monitor::HtmlEscaped;
using monitor::kStyles;

std::string Paragraph(const std::string& text) {
  return text.empty() ? "" : fmt::format("<p class=\"notice\">{}</p>\n", HtmlEscaped(text));
}

// "1 damaged, 2 unfinished": the page says which runs its numbers leave out.
std::string NotFinished(const std::vector<results::LoadedRun>& runs) {
  std::map<std::string_view, std::size_t> counts;
  for (const results::LoadedRun& run : runs) {
    if (!run.finished()) ++counts[results::NameOf(run.state)];
  }
  if (counts.empty()) return "";
  std::vector<std::string> states;
  for (const auto& [state, count] : counts) states.push_back(fmt::format("{} {}", count, state));
  return fmt::format(
      "Not all of these runs are finished: {}. They are in the table of runs and, as far as they "
      "came, dotted in the figures; the numbers and the thick curves are those of finished runs.",
      fmt::join(states, ", "));
}

std::string LookAlike(const std::vector<Group>& groups) {
  const auto has_a_style = [](const Group& group) { return group.style < kStyles; };
  if (std::ranges::all_of(groups, has_a_style)) return "";
  return fmt::format("There are {} groups and only {} styles of lines: some look alike.",
                     groups.size(), kStyles);
}

std::string Repeated(const std::vector<results::LoadedRun>& runs) {
  const auto count =
      static_cast<std::size_t>(std::ranges::count_if(runs, &results::LoadedRun::repeated));
  if (count == 0) return "";
  return fmt::format("{} repeated: the configuration of another, seed and all, which alone counts.",
                     Plural(count, "run") + (count == 1 ? " is" : " are"));
}

std::string Simulated(const std::vector<results::LoadedRun>& runs) {
  const auto count =
      static_cast<std::size_t>(std::ranges::count_if(runs, &results::LoadedRun::simulated));
  if (count == 0) return "";
  return fmt::format(
      "{} of {} {} simulated: seconds and steps per second are virtual there, and were not "
      "measured on any machine.",
      count, Plural(runs.size(), "run"), count == 1 ? "is" : "are");
}

std::string Results(const std::vector<Group>& groups, const std::vector<results::LoadedRun>& runs,
                    const std::optional<FacetGrid>& grid, const Targets& targets) {
  const Measure measure = MeasureFor(runs);
  const FacetGrid* const heat = grid ? &*grid : nullptr;
  const FacetGrid* const rows = groups.size() > kMaxTogether ? heat : nullptr;
  const std::string maps = HeatSection(groups, heat, measure, targets);
  // 1. Many groups: figures first.
  std::string html = OverEnvsSection(groups, heat, measure);
  if (rows != nullptr) html += ByValueSection(groups, heat, measure) + maps;
  // 2. The numbers.
  html += "<h2>Result</h2>\n" + ResultTable(groups, measure) +
          fmt::format("<p class=\"faint\">Returns: of each run {}.</p>\n", InWords(measure, runs));
  if (const std::string to_score = ToScoreTable(groups, targets); !to_score.empty()) {
    html += "<h2>Time to score</h2>\n" + to_score;
  }
  // 3. What they come from.
  html += (rows == nullptr ? maps : "") + CurveSections(groups, runs, rows) +
          StalenessSection(groups, rows);
  const std::string differences = DifferenceTable(groups);
  if (differences.empty()) return html;
  return html + "<h2>What differs in the configurations</h2>\n" + differences;
}

std::string Body(const Part& part, const Notes& notes, const Targets& targets) {
  // 1. Groups, in a grid if two keys distinguish them.
  const std::vector<results::LoadedRun>& runs = part.runs;
  std::vector<Group> groups = MakeGroups(runs);
  const std::optional<FacetGrid> grid = FacetGridOf(groups);
  if (grid && groups.size() > kMaxTogether) StyleByColumn(*grid, groups);
  const Measure measure = MeasureFor(runs);
  // 2. The head, with the operator's notes and everything that limits the results.
  std::string body =
      part.name.empty() ? "" : fmt::format("<h1 class=\"part\">{}</h1>\n", HtmlEscaped(part.name));
  if (const auto own = notes.parts.find(part.name); own != notes.parts.end()) body += own->second;
  body += fmt::format("<p class=\"faint\">Starling: {} in {}</p>\n", Plural(runs.size(), "run"),
                      Plural(groups.size(), "group"));
  body += Paragraph(NotFinished(runs)) + Paragraph(Simulated(runs)) + Paragraph(Repeated(runs)) +
          Paragraph(WhyNoBetter(measure, runs)) + Paragraph(LookAlike(groups));
  // 3. The results, and every run.
  if (!groups.empty()) body += Results(groups, runs, grid, targets);
  return body + "<h2>Runs</h2>\n" + RunTable(runs, groups, measure);
}

constexpr char kOfGroups[] =
    "<h2>How to read this</h2>\n"
    "<p>A group is all runs whose configurations differ in nothing but run.seed, run.name and "
    "run.dir; each seed counts once. Simulated runs and others are never in one group.</p>\n"
    "<p>The interquartile mean leaves out the lowest and the highest quarter of a group's runs, "
    "rounded down: of fewer than four runs, none. Its 95 % interval is a percentile bootstrap, "
    "stratified by group: the seeds of each group are drawn anew, with replacement, 10,000 times "
    "(Agarwal et al., Deep reinforcement learning at the edge of the statistical precipice, "
    "NeurIPS 2021). Draws come from a fixed seed, so that this page can be made again bit for "
    "bit. With few seeds an interval says little: of three runs it goes from about the worst to "
    "about the best.</p>\n";

constexpr char kOfAllEnvs[] =
    "<p>Over all environments, the interquartile mean is of all their runs together, so an "
    "environment whose runs are mostly lost may not be seen in it; the mean is that of the "
    "environments' means, and leaves out nothing. How often a "
    "group is better than the reference is the probability that one of its runs has a higher "
    "return than one of the reference's in the same environment, where equal ones count half; the "
    "mean over environments (Agarwal et al., 2021). 0.5 is no difference. A performance profile "
    "shows which share of the runs has more than a return; again the mean over "
    "environments.</p>\n";

constexpr char kOfScores[] =
    "<p>A run reached a score when the mean return of its last 100 training episodes did, once so "
    "many had ended; a run writes that down every second (run.metrics_s), and what lies between is "
    "taken to be straight, as in the curves. Medians are over the runs of a group, and a run that "
    "never reached the score took longer than any that did: the median of three of which one "
    "reached it is never.</p>\n";

std::string OfCurves() {
  return fmt::format(
      "<p>Smoothing: the return of training is the mean of the last 100 episodes (all, until there "
      "are so many) at every line of metrics.jsonl, nothing else is smoothed there. Throughput is "
      "the mean over 1/{:.0f} of the longest run's time, or over a second or so if that is longer. "
      "Thick curves are the interquartile mean over runs, linear between their points, from where "
      "all of them have begun to where the first of them ends; their bands are 95 % intervals of "
      "1,000 draws; thin curves are the runs, where there are no more than {} of them and a figure "
      "shows no row of groups. No curve has more than {} points, {} in small figures. Time is that "
      "of training, without what passed between an interruption and going on.</p>\n",
      kWindows, kMaxThin, kPointsOfGroup, kPointsOfSmall);
}

}  // namespace

std::string MakePage(const std::vector<Part>& parts, const std::string& title, const Notes& notes,
                     const Targets& targets) {
  // 1. Title, the operator's notes, and each part.
  const std::string envs = fmt::format("{}", fmt::join(EnvsOf(parts), ", "));
  const std::string heading = HtmlEscaped(!title.empty() ? title : envs.empty() ? "runs" : envs);
  std::string body = fmt::format("<h1>{}</h1>\n", heading) + notes.top;
  for (const Part& part : parts) body += Body(part, notes, targets);
  // 2. The meaning of the numbers and figures.
  body += notes.end + kOfGroups +
          std::string(
              body.find(fmt::format("<h2>{}", kOverEnvs)) == std::string::npos ? "" : kOfAllEnvs) +
          std::string(targets.empty() ? "" : kOfScores) + OfCurves();
  return fmt::format(
      "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n<meta "
      "name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n<title>{}"
      "</title>\n<style>{}{}</style>\n</head>\n<body>\n{}</body>\n</html>\n",
      title.empty() ? "Starling: " + heading : heading, monitor::kPageStyle, kReportStyle, body);
}

}  // namespace starling::report
