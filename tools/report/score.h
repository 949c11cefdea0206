// The scores of runs and groups, and the time that runs take to reach a score.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "results/run_record.h"
#include "results/statistics.h"
#include "tools/report/groups.h"

namespace starling::report {

// The score of a run, the best kind that every run that counts has: the evaluation of its final
// weights by a sweep, its last evaluation during training, or the return of its last training
// episodes. One kind for all runs of a page.
enum class Measure : std::uint8_t { kFinalEval, kLastEval, kTraining };
Measure MeasureFor(const std::vector<results::LoadedRun>& runs);
std::optional<double> ScoreOf(const results::LoadedRun& run, Measure measure);
// "the mean return of 100 episodes that its final weights played", with the number in `runs`.
std::string InWords(Measure measure, const std::vector<results::LoadedRun>& runs);
// Returns "1 of 3 finished runs has no final_eval.json (runs/a), so that ..." if a few runs keep
// all others from a better measure; otherwise "".
std::string WhyNoBetter(Measure measure, const std::vector<results::LoadedRun>& runs);

// Statistics over the runs of a group that count.
struct GroupNumbers {
  std::size_t finished = 0;
  std::vector<double> scores{};  // of those that have a return
  std::optional<results::Spread> returns{};
  std::optional<results::Interval> interval{};  // 95 %, of the interquartile mean; from two runs on
  std::optional<double> steps_per_second{};     // mean
  std::string bottleneck{};                     // of the mean shares of time
};
// `stratum` as in results/statistics.h.
GroupNumbers NumbersOf(const Group& group, Measure measure, std::uint32_t stratum);

// The scores to reach: --score 10 for all environments, --score minatar/freeway=40 for one.
class Targets {
 public:
  // Throws UserError if `word` is not a score.
  void Add(const std::string& word);
  // Throws UserError for a target in an environment other than `envs`.
  void Check(const std::vector<std::string>& envs) const;
  std::optional<double> For(const std::string& env) const;
  bool empty() const { return !all_ && by_env_.empty(); }

 private:
  std::optional<double> all_;
  std::map<std::string, double> by_env_;
};

struct Moment {
  double steps = 0, seconds = 0;
};

struct ToScore {
  bool known = false;               // the run has a curve
  std::optional<Moment> reached{};  // nullopt: never
};
// Returns when the mean return of the last 100 training episodes first reached `score`, linear
// between two lines of metrics.jsonl, as the curves are drawn. Ignores lines before the 100th
// episode: a few lucky episodes are no score.
ToScore TimeTo(double score, const results::LoadedRun& run);

// Over the runs with a curve. A run that never reached the score counts as slower than any that
// did, so a median may be never.
struct GroupToScore {
  std::size_t known = 0, reached = 0;
  std::optional<Moment> median{};  // separate medians of steps and of seconds; nullopt: never
};
GroupToScore TimeTo(double score, const std::vector<const results::LoadedRun*>& runs);

std::string SecondsText(double seconds);  // about three digits: "8.31", "12.4", "345"

}  // namespace starling::report
