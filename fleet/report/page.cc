#include "fleet/report/page.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <string_view>

#include "fleet/report/figures.h"
#include "fleet/report/groups.h"
#include "fleet/report/plot.h"
#include "fleet/report/score.h"
#include "fleet/report/staleness.h"
#include "fleet/report/style.h"
#include "fleet/report/tables.h"
#include "fleet/summary.h"

namespace starling::fleet {
namespace {

std::string Paragraph(const std::string& text) {
  return text.empty() ? "" : fmt::format("<p class=\"notice\">{}</p>\n", Escaped(text));
}

// "1 damaged, 2 unfinished": nothing is left out silently.
std::string NotFinished(const std::vector<LoadedRun>& runs) {
  std::map<std::string_view, std::size_t> counts;
  for (const LoadedRun& run : runs) {
    if (!run.finished()) ++counts[NameOf(run.state)];
  }
  if (counts.empty()) return "";
  std::string text;
  for (const auto& [state, count] : counts) {
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", count, state);
  }
  return fmt::format(
      "Not all of these runs are finished: {}. They are in the table of runs and, as far as they "
      "came, dotted in the figures; the numbers and the thick curves are those of finished runs.",
      text);
}

std::string LookAlike(const std::vector<Group>& groups) {
  if (groups.size() <= kStyles) return "";
  return fmt::format("There are {} groups and only {} styles of lines: some look alike.",
                     groups.size(), kStyles);
}

std::string Repeated(const std::vector<LoadedRun>& runs) {
  const auto count = static_cast<std::size_t>(std::ranges::count_if(runs, &LoadedRun::repeated));
  if (count == 0) return "";
  return fmt::format("{} repeated: the configuration of another, seed and all, which alone counts.",
                     Plural(count, "run") + (count == 1 ? " is" : " are"));
}

std::string Explanations(const std::vector<LoadedRun>& runs, Measure measure) {
  return fmt::format(
      "<h2>How to read this</h2>\n"
      "<p>A group is all runs whose configurations differ in nothing but run.seed, run.name and "
      "run.dir; each seed counts once. A run counts by {}.</p>\n"
      "<p>The interquartile mean leaves out the lowest and the highest quarter of a group's runs, "
      "rounded down: of fewer than four runs, none. Its 95 % interval is a percentile bootstrap, "
      "stratified by group: the seeds of each group are drawn anew, with replacement, 10,000 times "
      "(Agarwal et al., Deep reinforcement learning at the edge of the statistical precipice, "
      "NeurIPS 2021). Draws come from a fixed seed, so that this page can be made again bit for "
      "bit. With few seeds an interval says little: of three runs it goes from about the worst to "
      "about the best.</p>\n"
      "<p>Smoothing: the return of training is the mean of the last 100 episodes (all, until there "
      "are so many) at every second, nothing else is smoothed there. Throughput is the mean over "
      "1/{:.0f} of the longest run's time, or over a second or so if that is longer. Thick curves "
      "are the "
      "interquartile mean over runs, linear between their points, from where all of them have "
      "begun "
      "to where the first of them ends; bands are its 95 % intervals (1,000 draws); thin curves "
      "are "
      "the runs, where there are no more than {} of them. No curve has more than {} points. Time "
      "is that of training, without what passed "
      "between an interruption and going on.</p>\n",
      InWords(measure, runs), kWindows, kMostThin, kPointsOfGroup);
}

std::string Title(const std::vector<LoadedRun>& runs) {
  std::set<std::string> envs;
  for (const LoadedRun& run : runs) {
    std::string name = run.Key("env.name");
    std::erase_if(name, [](char c) { return c == '"' || c == '\''; });
    if (!name.empty()) envs.insert(name);
  }
  std::string text;
  for (const std::string& env : envs) text += (text.empty() ? "" : ", ") + env;
  return text.empty() ? "runs" : text;
}

}  // namespace

std::string MakePage(const std::vector<LoadedRun>& runs) {
  const std::vector<Group> groups = MakeGroups(runs);
  const Measure measure = MeasureFor(runs);
  const std::string title = Escaped(Title(runs));
  std::string body = fmt::format("<h1>{}</h1>\n<p class=\"faint\">Starling: {} in {}</p>\n", title,
                                 Plural(runs.size(), "run"), Plural(groups.size(), "group"));
  body += Paragraph(NotFinished(runs)) + Paragraph(Repeated(runs)) +
          Paragraph(WhyNoBetter(measure, runs)) + Paragraph(LookAlike(groups));
  if (!groups.empty()) {
    body +=
        "<h2>Result</h2>\n" + ResultTable(groups, measure) +
        fmt::format("<p class=\"faint\">Returns: of each run {}.</p>\n", InWords(measure, runs)) +
        LearningSection(groups, runs) + EvaluationSection(groups, runs) +
        ThroughputSection(groups, runs) + StalenessSection(groups);
  }
  if (const std::string differences = DifferenceTable(groups); !differences.empty()) {
    body += "<h2>What differs in the configurations</h2>\n" + differences;
  }
  body += "<h2>Runs</h2>\n" + RunTable(runs, groups, measure) + Explanations(runs, measure);
  return fmt::format(
      "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n<meta "
      "name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n<title>Starling: "
      "{}</title>\n<style>{}</style>\n</head>\n<body>\n{}</body>\n</html>\n",
      title, kReportStyle, body);
}

}  // namespace starling::fleet
