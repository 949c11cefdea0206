#include "tools/sweep/what_is_left.h"

#include <fmt/format.h>

#include <optional>
#include <system_error>
#include <vector>

#include "core/error.h"
#include "learner/storage/checkpoint.h"
#include "results/final_eval.h"
#include "results/run_dir.h"
#include "results/summary.h"

namespace starling::sweep {
namespace {

namespace fs = std::filesystem;

bool IsFile(const fs::path& path) {
  std::error_code ignored;
  return fs::is_regular_file(path, ignored);
}

}  // namespace

RunFacts ReadRunFacts(const fs::path& run_dir, std::uint64_t steps, std::int64_t episodes) {
  RunFacts facts{.there = !results::IsUnused(run_dir)};
  if (!facts.there) return facts;
  const std::optional<results::RunResult> result = results::ReadSummary(run_dir);
  const learner::RunStatus summary = result.value_or(results::RunResult{}).training;
  const bool complete = result && summary.steps >= steps && !summary.checkpoint.empty();
  const std::optional<results::FinalEval> eval = results::ReadFinalEval(run_dir);
  facts.evaluated = episodes == 0 || (complete && eval && eval->episodes == episodes &&
                                      eval->checkpoint == summary.checkpoint);
  facts.finished =
      complete && (facts.evaluated || results::IsCheckpointOf(run_dir / summary.checkpoint, steps));
  facts.resumable = !facts.finished && IsFile(run_dir / "config.toml") &&
                    learner::LastGood(run_dir / "checkpoints").checkpoint.has_value();
  return facts;
}

Todo WhatIsLeft(const RunFacts& facts) {
  if (!facts.there) return Todo::kBegin;
  if (facts.finished) return facts.evaluated ? Todo::kNothing : Todo::kEvaluate;
  return facts.resumable ? Todo::kResume : Todo::kBeginAnew;
}

std::string Difference(const Config& there, const Config& here) {
  const std::vector<ConfigValue> old_values = ConfigValues(there), new_values = ConfigValues(here);
  std::string text;
  for (std::size_t i = 0; i < new_values.size(); ++i) {
    const std::string key = fmt::format("{}.{}", new_values[i].section, new_values[i].key);
    const std::string &was = old_values[i].toml, &is = new_values[i].toml;
    if (key == "run.name" || key == "run.dir" || was == is) continue;
    text += fmt::format("{}{} is {} there and {} here", text.empty() ? "" : "; ", key, was, is);
  }
  return text;
}

void CheckItIsOurs(const fs::path& run_dir, const Config& config, bool simulate) {
  if (results::IsUnused(run_dir)) return;
  const auto refuse = [&](const std::string& why, const char* first) {
    throw UserError(fmt::format("{} {}; {}, or give the sweep another dir = \"...\"",
                                run_dir.string(), why, first));
  };
  // 1. Is it a run?
  if (!IsFile(run_dir / "config.toml")) {
    if (!IsFile(run_dir / "log")) refuse("is in the way: it is no run", "move it away");
    if (IsFile(run_dir / "summary.json")) refuse("has lost its config.toml", "move it away");
    return;  // a run that died early
  }
  // 2. Is it a run of the same kind?
  std::optional<Config> there;
  try {
    there = LoadConfig(run_dir / "config.toml");
  } catch (const UserError& error) {
    refuse(fmt::format("has a configuration that cannot be read ({})", error.what()),
           "move it away");
  }
  if (results::IsSimulated(run_dir) != simulate) {
    refuse(simulate ? "was trained, and here runs are simulated"
                    : "was simulated, and here runs are trained",
           "move it away");
  }
  // 3. Is it a run with the same configuration?
  const std::string difference = Difference(*there, config);
  if (difference.empty()) return;
  refuse("was trained with another configuration: " + difference,
         "write what is there under [set] to go on with it");
}

}  // namespace starling::sweep
