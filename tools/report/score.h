// What the runs of a report are judged by, and the numbers of a group.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "results/run_record.h"
#include "results/statistics.h"
#include "tools/report/groups.h"

namespace starling::report {

// One for all runs of a page, the best that every run that counts has: its final weights evaluated
// by a sweep, the last evaluation while it was trained, or the return of its last training
// episodes.
enum class Measure : std::uint8_t { kFinalEval, kLastEval, kTraining };
Measure MeasureFor(const std::vector<results::LoadedRun>& runs);
std::optional<double> ScoreOf(const results::LoadedRun& run, Measure measure);
// "the mean return of 100 episodes that its final weights played"; `runs` tell how many.
std::string InWords(Measure measure, const std::vector<results::LoadedRun>& runs);
// "1 of 3 finished runs has no final_eval.json (runs/a), so that ..." if a few runs keep all others
// from a better measure; otherwise "".
std::string WhyNoBetter(Measure measure, const std::vector<results::LoadedRun>& runs);

// Over the runs of a group that count.
struct GroupNumbers {
  std::size_t finished = 0;
  std::vector<double> scores{};  // of those that have a return
  std::optional<results::Spread> returns{};
  std::optional<results::Interval>
      interval{};  // 95 %, of the interquartile mean; of at least two runs
  std::optional<double> steps_per_second{};  // mean
  std::string bottleneck{};                  // of the mean shares of time
};
// `stratum` as in results/statistics.h.
GroupNumbers NumbersOf(const Group& group, Measure measure, std::uint32_t stratum);

}  // namespace starling::report
