#include "fleet/report/page.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <map>
#include <set>
#include <string_view>

#include "fleet/report/groups.h"
#include "fleet/report/plot.h"
#include "fleet/report/score.h"
#include "fleet/report/staleness.h"
#include "fleet/report/style.h"
#include "fleet/report/tables.h"
#include "fleet/summary.h"

namespace starling::fleet {
namespace {

constexpr std::size_t kPointsOfGroup = 200, kPointsOfRun = 150, kMostThin = 12;
constexpr double kWindows = 60;  // of throughput, in the longest run

using SamplesOf = std::function<Samples(const LoadedRun&)>;

double LongestTime(const std::vector<LoadedRun>& runs) {
  double longest = 0;
  for (const LoadedRun& run : runs) {
    if (!run.metrics.empty()) longest = std::max(longest, run.metrics.back().seconds);
  }
  return longest;
}

// Seconds in the unit that suits the longest run.
struct TimeUnit {
  double longest_s, seconds;
  const char* label;
};

TimeUnit UnitFor(const std::vector<LoadedRun>& runs) {
  const double longest = LongestTime(runs);
  if (longest > 2 * 3600) return {longest, 3600, "wall-clock time of training, h"};
  if (longest > 5 * 60) return {longest, 60, "wall-clock time of training, min"};
  return {longest, 1, "wall-clock time of training, s"};
}

SamplesOf InUnit(const SamplesOf& of_seconds, TimeUnit unit) {
  return [=](const LoadedRun& run) {
    Samples samples = of_seconds(run);
    for (Sample& sample : samples) sample.x /= unit.seconds;
    return samples;
  };
}

// The curve and band of each group (in `env`, if it is not "") over its finished runs, these runs
// thinly, and those that did not finish as far as they came.
void AddGroups(const std::vector<Group>& groups, const std::string& env,
               const SamplesOf& samples_of, bool dots, Plot& plot) {
  std::vector<Curve> thick;
  for (std::size_t g = 0; g < groups.size(); ++g) {
    if (!env.empty() && groups[g].Env() != env) continue;
    std::vector<Samples> finished;
    const std::size_t count = groups[g].Finished().size();
    for (const LoadedRun* run : groups[g].runs) {
      if (run->repeated) continue;
      Samples samples = samples_of(*run);
      const std::string title = fmt::format("{}, {}", run->dir.string(), NameOf(run->state));
      if (run->finished()) finished.push_back(samples);
      // A single one is the group's curve; many would hide it.
      if (run->finished() && (count == 1 || count > kMostThin)) continue;
      plot.curves.push_back({.kind = run->finished() ? Curve::Kind::kRun : Curve::Kind::kUnfinished,
                             .group = g,
                             .samples = Thinned(samples, kPointsOfRun),
                             .title = title});
    }
    const GroupCurve across = Across(finished, kPointsOfGroup, static_cast<std::uint32_t>(g));
    thick.push_back({.kind = Curve::Kind::kGroup,
                     .group = g,
                     .samples = across.middle,
                     .title = groups[g].label,
                     .dots = dots});
    plot.bands.push_back({g, across});
  }
  plot.curves.insert(plot.curves.end(), thick.begin(), thick.end());
}

std::string Legend(const std::vector<Group>& groups) {
  std::string items;
  for (std::size_t g = 0; g < groups.size(); ++g) {
    items += fmt::format("<li>{}{}</li>\n", Chip(g), Escaped(groups[g].label));
  }
  return "<ul class=\"legend\">\n" + items + "</ul>\n";
}

std::vector<std::string> EnvsOf(const std::vector<Group>& groups) {
  std::vector<std::string> envs;
  for (const Group& group : groups) {
    if (std::ranges::count(envs, group.Env()) == 0) envs.push_back(group.Env());
  }
  return envs;
}

// A row of figures for each environment, as returns of different ones have no scale in common.
// `figures` draws one row; its captions begin with the environment if there are several.
using FiguresOf =
    std::function<std::string(const std::string& env, const std::string& caption_begin)>;
std::string RowsOfFigures(const std::vector<Group>& groups, const FiguresOf& figures) {
  const std::vector<std::string> envs = EnvsOf(groups);
  std::string rows;
  for (const std::string& env : envs) {
    const std::string begin = envs.size() > 1 ? Escaped(env) + ": " : "";
    rows += "<div class=\"figures\">\n" + figures(env, begin) + "</div>\n";
  }
  return rows;
}

std::string LearningSection(const std::vector<Group>& groups, TimeUnit unit) {
  const auto figures = [&](const std::string& env, const std::string& begin) {
    const std::string if_empty = "no episode has ended in any of these runs";
    Plot steps{.x_label = "environment steps", .y_label = "return", .if_empty = if_empty};
    Plot time{.x_label = unit.label, .y_label = "return", .if_empty = if_empty};
    AddGroups(groups, env, ReturnBySteps, false, steps);
    AddGroups(groups, env, InUnit(ReturnBySeconds, unit), false, time);
    return Figure(begin + "return against steps", DrawPlot(steps)) +
           Figure(begin + "return against time", DrawPlot(time));
  };
  return "<h2>Learning</h2>\n" + Legend(groups) + RowsOfFigures(groups, figures);
}

std::string EvaluationSection(const std::vector<Group>& groups,
                              const std::vector<LoadedRun>& runs) {
  const auto none = [](const LoadedRun& run) { return run.evals.empty(); };
  if (std::ranges::all_of(runs, none)) return "";
  const auto figures = [&](const std::string& env, const std::string& begin) {
    Plot plot{.x_label = "environment steps",
              .y_label = "return of evaluation",
              .if_empty = "none of these runs was evaluated while training"};
    AddGroups(groups, env, EvaluationBySteps, true, plot);
    return Figure(begin + "mean return of the episodes of each evaluation (eval.jsonl)",
                  DrawPlot(plot));
  };
  return "<h2>Evaluation while training</h2>\n" + Legend(groups) + RowsOfFigures(groups, figures);
}

std::string ThroughputSection(const std::vector<Group>& groups, TimeUnit unit) {
  Plot plot{.x_label = unit.label,
            .y_label = "steps per second",
            .from_zero = true,
            .if_empty = "these runs left no two points to take a rate from"};
  const double window_s = std::max(unit.longest_s / kWindows, 1e-3);
  const auto throughput = [=](const LoadedRun& run) { return Throughput(run, window_s); };
  AddGroups(groups, "", InUnit(throughput, unit), false, plot);
  return "<h2>Throughput</h2>\n" + Legend(groups) + "<div class=\"figures\">\n" +
         Figure("Steps per second over time", DrawPlot(plot)) + "</div>\n";
}

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
  const TimeUnit unit = UnitFor(runs);
  const std::string title = Escaped(Title(runs));
  std::string body = fmt::format("<h1>{}</h1>\n<p class=\"faint\">Starling: {} in {}</p>\n", title,
                                 Plural(runs.size(), "run"), Plural(groups.size(), "group"));
  body += Paragraph(NotFinished(runs)) + Paragraph(Repeated(runs)) +
          Paragraph(WhyNoBetter(measure, runs)) + Paragraph(LookAlike(groups));
  if (!groups.empty()) {
    body +=
        "<h2>Result</h2>\n" + ResultTable(groups, measure) +
        fmt::format("<p class=\"faint\">Returns: of each run {}.</p>\n", InWords(measure, runs)) +
        LearningSection(groups, unit) + EvaluationSection(groups, runs) +
        ThroughputSection(groups, unit) + StalenessSection(groups);
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
