// What is left to do for one run of a sweep: decided by what lies in its directory.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

#include "core/config/config.h"

namespace starling::sweep {

struct RunFacts {
  bool there = false;      // a directory with something in it
  bool finished = false;   // its summary tells of all its steps, and what is still needed is there
  bool resumable = false;  // a configuration, and a checkpoint that is good
  bool evaluated = false;  // as the sweep wants it, or it wants no evaluation
  friend bool operator==(const RunFacts&, const RunFacts&) = default;
};

// `steps` are run.steps; `episodes` those of the evaluation, 0 for none. A finished run needs its
// final checkpoint only to be evaluated.
RunFacts ReadRunFacts(const std::filesystem::path& run_dir, std::uint64_t steps,
                      std::int64_t episodes);

enum class Todo : std::uint8_t {
  kBegin,
  kBeginAnew,  // what is there leads nowhere: it makes room
  kResume,
  kEvaluate,
  kNothing,
};
Todo WhatIsLeft(const RunFacts& facts);

// "optimizer.lr is 0.003 there and 0.001 here; ..." for the keys in which two configurations
// differ, run.name and run.dir aside; "" if there are none.
std::string Difference(const Config& there, const Config& here);

// Throws UserError, saying what to do, if the directory is there and is none of this sweep's: it
// was trained with another configuration than `config`, was simulated and is not to be (`simulate`)
// or the other way round, or is no run at all.
void CheckItIsOurs(const std::filesystem::path& run_dir, const Config& config, bool simulate);

}  // namespace starling::sweep
