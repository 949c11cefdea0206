// Groups the runs that differ only in their seed, names each group by the keys that distinguish it,
// arranges groups that two keys distinguish in a grid, and computes the scores of groups.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "results/run_record.h"
#include "results/statistics.h"

namespace starling::report {

// A page, or a part of it: a set of runs whose groups are compared.
struct Part {
  std::string name;  // "" if it is the only one
  std::vector<results::LoadedRun> runs;
};

struct Group {
  std::string label;           // "bound = 4"
  results::FlatConfig config;  // without run.seed, run.name and run.dir, but with "simulated"
  std::vector<const results::LoadedRun*> runs;  // in the order in which they were given
  std::size_t style = 0;  // of its lines (GroupClass): its number, or its column's
  // The runs that count. The numbers of a group are over these, its staleness is over all.
  std::vector<const results::LoadedRun*> Finished() const;
  std::string Env() const;  // "minatar/breakout"
};

// Removes earlier states of runs: of those with one directory, configuration and seed the finished
// ones stay, or else the last. What has no configuration is taken for an earlier state of any.
void RemoveOvertaken(std::vector<results::LoadedRun>& runs);

// Marks all but the first of the finished runs with equal configuration and seed, and adds a
// remark to them. Otherwise a copied directory would count as evidence.
void MarkRepeated(std::vector<results::LoadedRun>& runs);

// Returns the environments of all runs, each once, sorted.
std::vector<std::string> EnvsOf(const std::vector<Part>& parts);

// Returns a TOML value for people: without quotes; "(not there)" for "".
std::string Plain(const std::string& toml);
// Returns the number that all of `value`, as Plain, is.
std::optional<double> NumberOf(const std::string& value);

// Whether each of `values`, as Plain, is a number or "unbounded".
bool AreQuantities(const std::vector<std::string>& values);

// Returns the groups in the order of their first runs. "simulated" counts as a key, so simulated
// and real runs are never in one group. Leaves out runs whose configuration cannot be read.
// REQUIRES: `runs` outlives the groups.
std::vector<Group> MakeGroups(const std::vector<results::LoadedRun>& runs);

// The group of `run`, or nullptr.
const Group* GroupOf(const results::LoadedRun& run, const std::vector<Group>& groups);

// A key in which groups differ, and its value in each of them as TOML ("": the key is absent).
struct KeyDifference {
  std::string key;
  std::vector<std::string> values;
  bool varied = false;  // by a sweep: others may follow from it
};
std::vector<KeyDifference> Differences(const std::vector<Group>& groups);

// Chooses a few keys that together distinguish all groups, one after the other: the environment,
// "simulated", what a sweep varies, then what else differs. Rates come after the other keys of
// their kind, because they are tuned for them. Last come sections that follow from other keys
// ("auto") or say how a run is kept. Among equals the key that splits most groups is taken.
std::vector<KeyDifference> TellingKeys(const std::vector<KeyDifference>& differences,
                                       std::size_t groups);

// The grid of groups that exactly two keys distinguish: the values of one key are the rows, those
// of the other the columns of heat maps and small figures. Where the rows are environments, the
// columns may be the values of several keys together, quantities first: "staleness.delay,
// staleness.correction" and "16, gap".
struct FacetGrid {
  std::string row_key;                     // "actors.count"
  std::vector<std::string> column_keys;    // "staleness.bound"
  std::vector<std::string> rows, columns;  // their values as Plain, in order
  std::vector<std::string> column_names;   // "bound = 4", short: columns are narrow
  std::vector<std::vector<std::optional<std::size_t>>> groups;  // [row][column]; nullopt: no group
  std::vector<std::vector<std::string>> column_values{};        // [column][key], as Plain

  std::string ColumnKey() const;               // "staleness.delay, staleness.correction"
  std::string RowKeyShort() const;             // "count"
  std::string RowName(std::size_t row) const;  // "actors.count = 4"
  // Returns of different environments share no scale: then each row has its own.
  bool rows_are_envs() const { return row_key == "env.name"; }
};

// Returns nullopt unless there are at least two rows and two columns. The rows are the
// environments, or else of two keys that with fewer values.
std::optional<FacetGrid> FacetGridOf(const std::vector<Group>& groups);

// Returns each value once: numbers ascending, then texts in their given order, "unbounded" last.
std::vector<std::string> InOrder(const std::vector<std::string>& values);

// Gives all groups of a column the same style, so a style means the same in every row.
void StyleByColumn(const FacetGrid& grid, std::vector<Group>& groups);

// ---- The scores of runs and groups, and the time that runs take to reach a score (score.cc)

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

// A mean return of training is over so many episodes. Of fewer, a few lucky ones are no score.
inline constexpr std::uint64_t kEpisodesOfReturn = 100;

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
