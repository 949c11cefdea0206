// How long runs took to be good: until the mean return of their last 100 training episodes reached
// a score. A run that never reached it is not left out, and no number is made up for it.
#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "results/run_record.h"
#include "tools/report/groups.h"

namespace starling::report {

// The scores asked for: of --score 10, for all environments, or --score minatar/freeway=40, for
// one.
class Targets {
 public:
  // Throws UserError.
  void Add(const std::string& word);
  // Throws UserError for an environment that none of `runs` is in.
  void Check(const std::vector<const results::LoadedRun*>& runs) const;
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
  bool known = false;               // whether the run left a curve to tell from
  std::optional<Moment> reached{};  // nothing: never
};
// Between two lines of metrics.jsonl as the curves are drawn, straight. Lines from before 100
// episodes have ended are passed over: a few lucky ones are no score.
ToScore TimeTo(double score, const results::LoadedRun& run);

// Of runs that know. Medians: a run that never reached the score took longer than any that did, so
// the median itself may be never.
struct GroupToScore {
  std::size_t known = 0, reached = 0;
  std::optional<Moment> median{};  // of steps and of seconds, each for itself
};
GroupToScore TimeTo(double score, const std::vector<const results::LoadedRun*>& runs);

// A row for each group that a score is asked of, seed by seed; "" without any.
std::string ToScoreTable(const std::vector<Group>& groups, const Targets& targets);

std::string SecondsText(double seconds);  // three digits or so: "8.31", "12.4", "345"

}  // namespace starling::report
