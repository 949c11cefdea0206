// `starling train` (or `simulate`) and `starling eval`, run as an operator would run them.
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
  std::string name;                    // of the run, for people and for its directory
  std::vector<std::string> overrides;  // "section.key=value"
  double timeout_s = 120;
  std::function<void(int)> watch{};  // as ChildCall::watch, with the supervisor's pid; may be empty
  std::filesystem::path config{};    // empty: site.config
  std::string command = "train";     // or "simulate"
  std::vector<std::string> words{};  // besides
};

// A run that ended well; its directory is removed with the object.
class TrainingRun {
 public:
  // Throws as RunChild, and if the summary cannot be read or tells of a restarted process.
  TrainingRun(const Site& site, const TrainingPlan& plan);
  ~TrainingRun();
  TrainingRun(const TrainingRun&) = delete;
  TrainingRun& operator=(const TrainingRun&) = delete;

  const std::filesystem::path& dir() const { return dir_; }
  std::filesystem::path FinalCheckpoint() const { return dir_ / final_checkpoint_; }
  // Steps per second without the first quarter of them, in which processes still build their nets and
  // slow envs are started; of the whole run if it was too short for that.
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

// Why a run with `config` would be refused, in one line ("gymnasium is not installed: ..."); empty
// if it would not.
std::string WhyRefused(const std::filesystem::path& config,
                       const std::vector<std::string>& overrides);

// Mean return over fresh episodes.
double Evaluate(const Site& site, const TrainingRun& run, int episodes);

// The named line on standard error, so that people see what is going on.
void Tell(const std::string& line);

}  // namespace starling::bench
