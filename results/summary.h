// summary.json: the result of a run. The supervisor writes it, so it survives every child.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "core/config/config.h"
#include "learner/run_goal.h"
#include "learner/run_status.h"
#include "results/eval_results.h"

namespace starling::results {

// The supervisor's counts of its processes.
struct FleetCounts {
  std::uint64_t actors_started = 0, actors_restarted = 0, learner_restarted = 0;
  std::uint64_t actors_given_up = 0;  // slots
};

// The keys of the file, in this order: env, seed, steps, frames, updates, seconds,
// steps_per_second, mean_return (null without an episode), episodes, staleness {bound (a number or
// "unbounded"), max, mean, histogram}, gradients {received, applied, merged, in_flight (at the
// end), dropped {reason: n}}, actors {started, restarted}, learner {restarted}, envs {replaced,
// episodes_cut}, exact (learner::Counters::breaks is 0), time {actors, learner} (TimeShares),
// bottleneck (a sentence, or ""), error (why the run failed, a sentence, or null), final_checkpoint
// (relative to the run directory, or null). Where they apply also: reuse {kl, clipped, age_max,
// age_mean, age_histogram} (learner::ReuseStatus), actors {given_up}, init_from, instructions (of
// actors.instructions), eval {best, last} (lines of eval.jsonl, or null), simulated: true (times
// are virtual), until_return (of the configuration, if the run has reached it).
struct RunSummary {
  std::string env;
  std::uint64_t seed = 0;
  std::uint64_t bound = 0;      // kUnbounded: none
  learner::RunStatus training;  // the learner's last; all 0 if no learner ever reported
  FleetCounts fleet;
  std::string error;           // "" unless the run failed
  std::string init_from;       // run.init_from
  std::string instructions{};  // actors.instructions; "" with actors.backend = "cuda"
  learner::RunGoal goal;
  std::optional<EvalStanding> evaluated;  // nullopt: evaluation is off
  bool simulated = false;
  bool external = false;  // net.kind: only its own programs can play with the weights
};

RunSummary BuildSummary(const Config& config, const std::optional<learner::RunStatus>& status,
                        const FleetCounts& fleet, const EvalStanding& evaluated = {},
                        std::string error = "");

// The text of summary.json: one key a line.
std::string ToJson(const RunSummary& summary);

// Replaces RUN/summary.json atomically. Returns "", or why it could not.
std::string WriteSummary(const std::filesystem::path& run_dir, const RunSummary& summary);

// Replaces the error in RUN/summary.json; does nothing without a readable one. Returns as
// WriteSummary.
std::string WriteError(const std::filesystem::path& run_dir, const std::string& error);

// The part of a summary that readers of a run need.
struct RunResult {
  learner::RunStatus training;  // `time` are shares, `checkpoint` is the final one
  std::string error;
  std::string instructions{};  // "" in older runs, and with actors.backend = "cuda"
};

// Returns nullopt if there is no RUN/summary.json, or it cannot be understood.
std::optional<RunResult> ReadSummary(const std::filesystem::path& run_dir);

// The lines to print at the end of a run: result, speed, staleness, losses, bottleneck, checkpoint,
// and the next command. `program` is how starling was called.
std::vector<std::string> DescribeRun(const RunSummary& summary, int exit_status,
                                     const std::filesystem::path& run_dir,
                                     const std::string& program);

// The lines for a resumed run that ended before its learner reported: its files are as they were.
std::vector<std::string> DescribeUntouched(const std::string& error, int exit_status,
                                           const std::filesystem::path& run_dir,
                                           const std::string& program);

// ---- The bottleneck of a run, in one sentence (bottleneck.cc)

// Returns a + factor * b, member by member: +1 for the time of several runs, -1 for the time
// between two moments.
learner::TimeStatus Sum(const learner::TimeStatus& a, const learner::TimeStatus& b, double factor);

// Fractions of the time that passed, three decimals. An actor's add up to 1, as do receive,
// dispatch and idle of the learner's network thread. The learner's lanes are threads of their own.
learner::TimeStatus TimeShares(const learner::TimeStatus& time);

// "the actors: they compute 92 % of the time (act 38 %, gradient 54 %); ...". Returns "" if no
// gradient has arrived yet.
std::string NameBottleneck(const learner::TimeStatus& time);

}  // namespace starling::results
