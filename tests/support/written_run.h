// Directories as runs leave them behind, written by hand.
#pragma once

#include <fmt/format.h>

#include <string>

#include "tests/support/temp_dir.h"

namespace starling {

struct WrittenRun {
  int seed = 1;
  std::string bound = "4";
  int wanted = 1000, steps = 1000;  // run.steps, and those it came to
  double rate = 100;                // steps per second
  double mean_return = 5;           // at the end; it grows from 0
  bool summary = true;
  std::string env = "catch";
  std::string error = "";  // why it failed
};

inline std::string ConfigOf(const WrittenRun& run) {
  return fmt::format(
      "[run]\nname = \"n{}\"\nseed = {}\nsteps = {}\ndir = \"d{}\"\n[env]\nname = \"{}\"\n"
      "[staleness]\nbound = {}\n",
      run.seed, run.seed, run.wanted, run.seed, run.env, run.bound);
}

// Eleven lines, evenly spread; the first is from before any episode has ended.
inline std::string MetricsOf(const WrittenRun& run) {
  std::string lines;
  for (int i = 0; i <= 10; ++i) {
    const double steps = run.steps * i / 10.0;
    lines += fmt::format(
        "{{\"phase\":\"running\",\"steps\":{},\"seconds\":{},\"mean_return\":{}}}\n", steps,
        steps / run.rate, i == 0 ? "null" : fmt::format("{}", run.mean_return * i / 10));
  }
  return lines;
}

inline std::string SummaryOf(const WrittenRun& run) {
  return fmt::format(
      "{{\"env\":\"catch\",\"steps\":{},\"seconds\":{},\"steps_per_second\":{},\"mean_return\":{},"
      "\"staleness\":{{\"max\":3,\"mean\":1.0,\"histogram\":[60,30,9,1]}},"
      "\"time\":{{\"actors\":{{\"wait\":0.1,\"refresh\":0.0,\"act\":0.4,\"gradient\":0.5,\"push\":"
      "0.0}},\"learner\":{{\"receive\":0.1,\"dispatch\":0.1,\"idle\":0.8,\"lanes\":0.2}}}},"
      "\"error\":{},\"final_checkpoint\":\"checkpoints/a\"}}\n",
      run.steps, run.steps / run.rate, run.rate, run.mean_return,
      run.error.empty() ? "null" : "\"" + run.error + "\"");
}

inline std::filesystem::path WriteRun(const TempDir& dir, const std::string& name,
                                      const WrittenRun& run) {
  dir.Write(name + "/config.toml", ConfigOf(run));
  dir.Write(name + "/metrics.jsonl", MetricsOf(run));
  dir.Write(name + "/log", "12:00:00.000 info  fleet: learner started, pid 3\n");
  if (run.summary) dir.Write(name + "/summary.json", SummaryOf(run));
  return dir / name;
}

}  // namespace starling
