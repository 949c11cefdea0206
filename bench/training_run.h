// Runs programs to their end, under a time limit: `starling train` (or `simulate`) and `starling
// eval` as an operator does, and others.
#pragma once

#include <fmt/format.h>

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "bench/figure.h"
#include "core/config/config.h"
#include "learner/run_status.h"
#include "results/run_record.h"

namespace starling::bench {

// The operator ends the bench.
struct Interrupted : std::runtime_error {
  Interrupted() : std::runtime_error("interrupted") {}
};

// Throws Interrupted if `stop_fd` is readable.
void ThrowIfInterrupted(int stop_fd);

struct ChildCall {
  std::filesystem::path program;
  std::vector<std::string> arguments;  // without the program's name
  double timeout_s = 60;
  int stop_fd = -1;                 // readable: ends the child and throws Interrupted
  std::function<void()> watch{};    // if set, called about a hundred times a second
  std::vector<int> statuses = {0};  // exit statuses that are no failure
};

// Runs the program to its end. Returns the last lines of its standard output and error together.
// Throws std::runtime_error, with the program's name and the end of its output, if it cannot be
// started, fails or exceeds its time; it is then terminated, and killed if it does not end by
// itself.
std::vector<std::string> RunChild(const ChildCall& call);

// "key=value", an override of a configuration.
template <class Value>
std::string Set(const char* key, const Value& value) {
  return fmt::format("{}={}", key, value);
}

// A directory that is removed with the object.
struct Scratch {
  explicit Scratch(std::filesystem::path where) : path(std::move(where)) {}
  ~Scratch();
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;
  const std::filesystem::path path;
};

// A value of staleness.bound: "unbounded" or the number.
std::string BoundText(std::uint64_t bound);

struct TrainingPlan {
  std::string name;                      // of the run and of its directory
  std::vector<std::string> overrides{};  // "section.key=value"
  double timeout_s = 300;
  std::function<void()> watch{};     // as ChildCall::watch
  std::filesystem::path config{};    // "": site.config
  std::string command = "train";     // or "simulate"
  std::vector<std::string> words{};  // further arguments
};

// A run that succeeded. Its directory is removed with the object.
class TrainingRun {
 public:
  // Throws as RunChild, and if the summary cannot be read or counts a restarted process.
  TrainingRun(const Site& site, const TrainingPlan& plan);

  const std::filesystem::path& dir() const { return dir_.path; }
  std::filesystem::path FinalCheckpoint() const { return dir() / status.checkpoint; }
  // The lines of metrics.jsonl.
  std::vector<results::MetricPoint> Metrics() const;
  // Steps per second without the first quarter of the steps, in which processes build their nets
  // and start slow envs; of the whole run if the rest is too short.
  double SteadyRate() const;
  double UpdatesPerSecond() const;
  // The numbers that figures of runs keep.
  Json Numbers() const;

  double seconds = 0;           // wall time of the whole command
  double cpu_seconds = 0;       // of all of its processes
  std::int64_t started_ns = 0;  // system clock
  Json summary;                 // summary.json
  learner::RunStatus status;    // of it

 private:
  void ReadSummary();

  const Scratch dir_;
};

// The runs of a figure that is a sweep.
struct GridPlan {
  std::string file;               // in bench/grids
  std::uint64_t quick_steps = 0;  // run.steps of quick runs
  bool steps_per_actor = false;   // run.steps is multiplied by actors.count
  double timeout_s = 900;         // of one run
};

// Calls use(config, run) after each run, seed by seed. If actors.count varies, a quick bench runs
// the points with one and with four actors only.
void ForEachRun(const Site& site, const GridPlan& plan,
                const std::function<void(const Config&, const TrainingRun&)>& use);

// Returns the reason for which a run with `config` is refused, in one line ("gymnasium is not
// installed: ..."), or "".
std::string WhyRefused(const std::filesystem::path& config,
                       const std::vector<std::string>& overrides);

// The formula of a learner's memory, as vectors of the net's size: the newest weights, their
// snapshots and the optimizer's state; a buffer for each gradient in flight, a checkpoint that is
// written and one that waits. Beside them it may have kLearnerRoomMb.
struct LearnerVectors {
  double state = 0, gradients = 0;
};
LearnerVectors LearnerVectorsOf(const Config& config);
inline constexpr double kLearnerRoomMb = 64;

// Return the resident memory of a process, shared memory included: at its peak and now; nullopt if
// it has ended.
std::optional<double> PeakMb(int pid);
std::optional<double> ResidentMb(int pid);

// Returns the mean return over fresh episodes.
double Evaluate(const Site& site, const TrainingRun& run, int episodes);

// Whether runs without a learner can be started: there is an mpirun, and the program of ranks.
bool HasRanks(const Site& site);

// Writes a line to standard error, to show the progress.
void Tell(const std::string& line);

}  // namespace starling::bench
