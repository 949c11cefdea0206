#include "fleet/sweep/run_state.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <system_error>

#include "core/error.h"
#include "core/file.h"
#include "fleet/flat_config.h"
#include "learner/checkpoint.h"

namespace starling::fleet {
namespace {

namespace fs = std::filesystem;

bool IsThere(const fs::path& dir) {
  std::error_code ignored;
  return fs::exists(dir, ignored) && !fs::is_empty(dir, ignored);
}

bool IsFile(const fs::path& path) {
  std::error_code ignored;
  return fs::is_regular_file(path, ignored);
}

}  // namespace

Todo WhatIsLeft(const RunFacts& facts) {
  if (!facts.there) return Todo::kBegin;
  if (facts.finished) return facts.evaluated ? Todo::kNothing : Todo::kEvaluate;
  return facts.resumable ? Todo::kResume : Todo::kBeginAnew;
}

std::optional<RunSummary> ReadRunSummary(const fs::path& run_dir) {
  try {
    const auto json = nlohmann::json::parse(ReadFile(run_dir / "summary.json"));
    const auto& mean_return = json.at("mean_return");
    const auto& checkpoint = json.at("final_checkpoint");
    RunSummary summary{.steps = json.at("steps").get<std::uint64_t>(),
                       .seconds = json.at("seconds").get<double>(),
                       .steps_per_second = json.at("steps_per_second").get<double>(),
                       .mean_return = {},
                       .staleness_max = json.at("staleness").at("max").get<std::uint64_t>(),
                       .staleness_mean = json.at("staleness").at("mean").get<double>(),
                       .final_checkpoint = {}};
    if (!mean_return.is_null()) summary.mean_return = mean_return.get<double>();
    if (!checkpoint.is_null()) summary.final_checkpoint = checkpoint.get<std::string>();
    return summary;
  } catch (const std::system_error&) {
    return std::nullopt;
  } catch (const nlohmann::json::exception&) {
    return std::nullopt;
  }
}

RunFacts LookAt(const fs::path& run_dir, std::uint64_t steps, std::int64_t episodes) {
  RunFacts facts{.there = IsThere(run_dir)};
  if (!facts.there) return facts;
  const std::optional<RunSummary> summary = ReadRunSummary(run_dir);
  facts.finished = summary && summary->steps >= steps && summary->final_checkpoint &&
                   IsFile(run_dir / *summary->final_checkpoint);
  facts.resumable = !facts.finished && IsFile(run_dir / "config.toml") &&
                    learner::LastGood(run_dir / "checkpoints").checkpoint.has_value();
  const std::optional<FinalEval> eval = ReadFinalEval(run_dir);
  facts.evaluated = episodes == 0 || (facts.finished && eval && eval->episodes == episodes &&
                                      eval->checkpoint == *summary->final_checkpoint);
  return facts;
}

std::string Difference(const Config& there, const Config& here) {
  const FlatConfig old_keys = Flatten(ToToml(there)), new_keys = Flatten(ToToml(here));
  std::string text;
  for (const auto& [key, value] : new_keys) {
    if (key == "run.name" || key == "run.dir" || old_keys.at(key) == value) continue;
    text += fmt::format("{}{} is {} there and {} here", text.empty() ? "" : "; ", key,
                        old_keys.at(key), value);
  }
  return text;
}

void CheckItIsOurs(const fs::path& run_dir, const Config& config) {
  if (!IsThere(run_dir)) return;
  const auto refuse = [&](const std::string& why) {
    throw UserError(fmt::format("{} {}; remove it, or give the sweep another dir = \"...\"",
                                run_dir.string(), why));
  };
  const bool configured = IsFile(run_dir / "config.toml");
  if (!configured && !IsFile(run_dir / "log")) refuse("is in the way: it is no run");
  if (!configured) return;
  std::optional<Config> there;
  try {
    there = LoadConfig(run_dir / "config.toml");
  } catch (const UserError& error) {
    refuse(fmt::format("has a configuration that cannot be read ({})", error.what()));
  }
  const std::string difference = Difference(*there, config);
  if (!difference.empty()) refuse("was trained with another configuration: " + difference);
}

}  // namespace starling::fleet
