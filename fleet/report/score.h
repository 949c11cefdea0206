// What the runs of a report are judged by, and the numbers of a group.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "fleet/report/groups.h"
#include "fleet/report/loaded_run.h"
#include "fleet/statistics.h"

namespace starling::fleet {

// One for all runs of a page, the best that every finished run has: its final weights evaluated by a
// sweep, the last evaluation while it was trained, or the return of its last training episodes.
enum class Measure : std::uint8_t { kFinalEval, kLastEval, kTraining };
Measure MeasureFor(const std::vector<LoadedRun>& runs);
std::optional<double> ScoreOf(const LoadedRun& run, Measure measure);
// "the mean return of 100 episodes that each run's final weights played"; `runs` tell how many.
std::string InWords(Measure measure, const std::vector<LoadedRun>& runs);

// Over the finished runs of a group.
struct GroupNumbers {
  std::size_t finished = 0;
  std::vector<double> scores{};
  std::optional<double> interquartile_mean{}, median{}, mean{};
  std::optional<Interval> interval{};  // 95 %, of the interquartile mean; of at least two runs
  std::optional<double> steps_per_second{};  // mean
  std::string bottleneck{};                  // of the mean shares of time
};
// `stratum` as in fleet/statistics.h.
GroupNumbers NumbersOf(const Group& group, Measure measure, std::uint32_t stratum);

}  // namespace starling::fleet
