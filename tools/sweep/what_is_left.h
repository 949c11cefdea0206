// Decides the next task for one run of a sweep from the contents of its directory.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

#include "core/config/config.h"

namespace starling::sweep {

struct RunFacts {
  bool there = false;      // the directory exists and is not empty
  bool finished = false;   // all steps done, and every file still needed is there
  bool resumable = false;  // has a configuration and a valid checkpoint
  bool evaluated = false;  // by this sweep's number of episodes, or none is wanted
  friend bool operator==(const RunFacts&, const RunFacts&) = default;
};

// Reads the facts of a run of `steps` = run.steps that is evaluated over `episodes` (0: not
// evaluated). A finished run needs its final checkpoint only until it is evaluated.
RunFacts ReadRunFacts(const std::filesystem::path& run_dir, std::uint64_t steps,
                      std::int64_t episodes);

enum class Todo : std::uint8_t {
  kBegin,
  kBeginAnew,  // cannot be resumed: move it aside and begin
  kResume,
  kEvaluate,
  kNothing,
};
Todo WhatIsLeft(const RunFacts& facts);

// Returns "optimizer.lr is 0.003 there and 0.001 here; ..." for the keys in which two
// configurations differ, except run.name and run.dir, or "" if there are none.
std::string Difference(const Config& there, const Config& here);

// Throws UserError, with advice for the operator, if the directory exists and does not belong to
// this sweep: it is not a run, its configuration differs from `config`, or it was simulated and
// `simulate` is false (or the reverse).
void CheckItIsOurs(const std::filesystem::path& run_dir, const Config& config, bool simulate);

}  // namespace starling::sweep
