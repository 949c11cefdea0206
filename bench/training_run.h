// Runs `starling train` (or `simulate`) and `starling eval`, as an operator does.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "bench/figure.h"

namespace starling::bench {

struct TrainingPlan {
  std::string name;                    // of the run and of its directory
  std::vector<std::string> overrides;  // "section.key=value"
  double timeout_s = 120;
  std::function<void(int)> watch{};  // as ChildCall::watch, with the supervisor's pid
  std::filesystem::path config{};    // "": site.config
  std::string command = "train";     // or "simulate"
  std::vector<std::string> words{};  // further arguments
};

// A run that succeeded. Its directory is removed with the object.
class TrainingRun {
 public:
  // Throws as RunChild, and if the summary cannot be read or counts a restarted process.
  TrainingRun(const Site& site, const TrainingPlan& plan);
  ~TrainingRun();
  TrainingRun(const TrainingRun&) = delete;
  TrainingRun& operator=(const TrainingRun&) = delete;

  const std::filesystem::path& dir() const { return dir_; }
  std::filesystem::path FinalCheckpoint() const { return dir_ / final_checkpoint_; }
  // Steps per second without the first quarter of the steps, in which processes build their nets
  // and start slow envs; of the whole run if the rest is too short.
  double SteadyRate() const;

  double seconds = 0;           // wall time of the whole command
  double cpu_seconds = 0;       // of all of its processes
  std::int64_t started_ns = 0;  // system clock
  std::uint64_t steps = 0, updates = 0, applied = 0, dropped = 0;
  double steps_per_second = 0;  // from the first grant to the last update
  double updates_per_second = 0;
  std::uint64_t max_staleness = 0;
  double mean_staleness = 0;

 private:
  void ReadSummary();

  std::filesystem::path dir_;
  std::string final_checkpoint_;
};

// Returns the reason for which a run with `config` is refused, in one line ("gymnasium is not
// installed: ..."), or "".
std::string WhyRefused(const std::filesystem::path& config,
                       const std::vector<std::string>& overrides);

// Returns the mean return over fresh episodes.
double Evaluate(const Site& site, const TrainingRun& run, int episodes);

// Writes a line to standard error, to show the progress.
void Tell(const std::string& line);

}  // namespace starling::bench
