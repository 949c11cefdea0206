// What is left to do for one run of a sweep: decided by what lies in its directory.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

#include "core/config.h"
#include "fleet/sweep/final_eval.h"

namespace starling::fleet {

struct RunFacts {
  bool there = false;      // a directory with something in it
  bool finished = false;   // its summary tells of all its steps, and its final checkpoint is there
  bool resumable = false;  // a configuration, and a checkpoint that is good
  bool evaluated = false;  // as the sweep wants it, or it wants no evaluation
  friend bool operator==(const RunFacts&, const RunFacts&) = default;
};

enum class Todo : std::uint8_t {
  kBegin,
  kBeginAnew,  // what is there leads nowhere: it makes room
  kResume,
  kEvaluate,
  kNothing,
};
Todo WhatIsLeft(const RunFacts& facts);

// What summary.json of a run tells a sweep.
struct RunSummary {
  std::uint64_t steps = 0;
  double seconds = 0, steps_per_second = 0;  // of training
  std::optional<double> mean_return;         // of the last 100 training episodes
  std::uint64_t staleness_max = 0;
  double staleness_mean = 0;
  std::optional<std::string> final_checkpoint;
};
// Nothing if there is none that can be read.
std::optional<RunSummary> ReadRunSummary(const std::filesystem::path& run_dir);

// `steps` are run.steps; `episodes` those of the evaluation, 0 for none.
RunFacts LookAt(const std::filesystem::path& run_dir, std::uint64_t steps, std::int64_t episodes);

// "optimizer.lr is 0.003 there and 0.001 here; ..." for the keys in which two configurations differ,
// run.name and run.dir aside; "" if there are none.
std::string Difference(const Config& there, const Config& here);

// Throws UserError, saying what to do, if the directory is there and is none of this sweep's: it was
// trained with another configuration than `config`, or is no run at all.
void CheckItIsOurs(const std::filesystem::path& run_dir, const Config& config);

}  // namespace starling::fleet
