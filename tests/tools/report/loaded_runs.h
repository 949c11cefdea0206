// Runs as they are loaded, made by hand.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "core/config/config.h"
#include "results/run_record.h"

namespace starling::report {

// A run of catch, unless `config` names another env.
inline results::LoadedRun RunOf(results::FlatConfig config,
                                results::RunState state = results::RunState::kFinished) {
  config.emplace("env.name", "\"catch\"");
  results::LoadedRun run;
  run.state = state;
  run.config = std::move(config);
  return run;
}

// One with every key of a configuration: its defaults, but for those in `toml`.
inline results::LoadedRun WholeRunOf(const std::string& toml) {
  results::FlatConfig config = results::Flatten(ToToml(Config{}));
  for (const auto& [key, value] : results::Flatten(toml)) config[key] = value;
  return RunOf(config);
}

// One that has finished, with this curve.
inline results::LoadedRun RunWith(const std::vector<results::MetricPoint>& metrics) {
  results::LoadedRun run = RunOf({});
  run.metrics = metrics;
  return run;
}

}  // namespace starling::report
