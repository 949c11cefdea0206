#include "tools/report/how_to_read.h"

#include <fmt/format.h>

#include "tools/report/figures.h"

namespace starling::report {
namespace {

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

constexpr char kOfScores[] =
    "<p>A run reached a score when the mean return of its last 100 training episodes did, once so "
    "many had ended; a run writes that down every second (run.metrics_s), and what lies between is "
    "taken to be "
    "straight, as in the curves. Medians are over the runs of a group, and a run that never "
    "reached the score took longer than any that did: the median of three of which one reached it "
    "is never.</p>\n";

std::string OfCurves() {
  return fmt::format(
      "<p>Smoothing: the return of training is the mean of the last 100 episodes (all, until there "
      "are so many) at every line of metrics.jsonl, nothing else is smoothed there. Throughput is "
      "the mean over "
      "1/{:.0f} of the longest run's time, or over a second or so if that is longer. Thick curves "
      "are the interquartile mean over runs, linear between their points, from where all of them "
      "have begun to where the first of them ends; bands are its 95 % intervals (1,000 draws); "
      "thin curves are the runs, where there are no more than {} of them and a figure shows no "
      "row of groups. No curve has more than {} points. Time is that of training, without what "
      "passed between an interruption and going on.</p>\n",
      kWindows, kMostThin, kPointsOfGroup);
}

}  // namespace

std::string HowToRead(bool with_scores) {
  return kOfGroups + std::string(with_scores ? kOfScores : "") + OfCurves();
}

}  // namespace starling::report
