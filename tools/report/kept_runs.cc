#include "tools/report/kept_runs.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <optional>
#include <sstream>
#include <stdexcept>
#include <system_error>

#include "core/config/config.h"
#include "core/config/config_toml.h"
#include "core/error.h"
#include "core/file.h"

namespace starling::report {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

// Columns without which a row is not a whole run.
constexpr const char* kNeeded[] = {"part",      "run",    "state", "counts",
                                   "simulated", "varied", "env",   "seed"};

// Returns nullopt if there is no such value. Throws std::runtime_error if it is of another type.
template <class T>
std::optional<T> Find(const Json& row, const char* column) {
  const auto found = row.find(column);
  if (found == row.end() || found->is_null()) return std::nullopt;
  try {
    return found->get<T>();
  } catch (const Json::exception&) {
    throw std::runtime_error(fmt::format("{} cannot be {}", column, found->dump()));
  }
}

template <class T>
T Get(const Json& row, const char* column) {
  if (const auto value = Find<T>(row, column)) return *value;
  throw std::runtime_error(fmt::format("there is no value of {}", column));
}

// Returns a number that is not negative.
double GetPositive(const Json& row, const char* column) {
  const double value = Get<double>(row, column);
  if (value >= 0) return value;
  throw std::runtime_error(fmt::format("{} cannot be {}", column, value));
}

results::RunState StateIn(const Json& row) {
  using enum results::RunState;
  const std::string name = Get<std::string>(row, "state");
  for (const auto state : {kNotBegun, kUnfinished, kRunning, kFinished, kFailed, kDamaged}) {
    if (name == results::NameOf(state)) return state;
  }
  throw std::runtime_error(fmt::format("there is no state \"{}\"", name));
}

// Whether the default of a key is an integer.
bool IsInteger(const std::string& toml) {
  return !toml.empty() && toml.find_first_not_of("-0123456789") == std::string::npos;
}
// Whether it is a number with a fraction, if only 0.
bool IsReal(const std::string& toml) { return !IsInteger(toml) && NumberOf(toml).has_value(); }

// Returns a value as Flatten gives it. A number becomes an integer or a real number as `usual` is,
// the default of its key: spreadsheets write 1 for 1.0.
std::string TomlOf(const Json& value, const std::string& usual) {
  if (value.is_string()) return TomlText(toml::value<std::string>(value.get<std::string>()));
  std::string text = value.dump();
  if (value.is_number() && IsReal(usual)) text = Json(value.get<double>()).dump();
  const bool whole = value.is_number_float() && std::trunc(value.get<double>()) == value;
  if (whole && IsInteger(usual)) text = fmt::format("{:.0f}", value.get<double>());
  return results::Flatten("[section]\nkey = " + text).at("section.key");
}

// Returns the whole configuration: that of `defaults`, with the columns that are keys.
results::FlatConfig ConfigIn(const Json& row, const results::FlatConfig& defaults) {
  const std::string env = Find<std::string>(row, "env").value_or("");
  if (env.empty()) return {};  // it could not be read
  results::FlatConfig config = defaults;
  const auto set = [&](const std::string& key, const Json& value) {
    const auto usual = defaults.find(key);
    config.erase(key);
    if (!value.is_null()) {
      config[key] = TomlOf(value, usual == defaults.end() ? "" : usual->second);
    }
  };
  for (const auto& [column, value] : row.items()) {
    if (IsKey(column)) set(column, value);
  }
  set("env.name", env);
  set("run.seed", row.at("seed"));
  return config;
}

std::vector<results::MetricPoint> MetricsIn(const Json& row) {
  std::vector<results::MetricPoint> points;
  const auto curve = row.find("curve");
  if (curve == row.end() || curve->is_null()) return points;
  using Numbers = std::vector<Json>;
  const auto steps = Get<Numbers>(*curve, "steps"), seconds = Get<Numbers>(*curve, "seconds"),
             returns = Get<Numbers>(*curve, "return");
  const auto episodes = Find<Numbers>(*curve, "episodes").value_or(Numbers(steps.size()));
  for (const Numbers& list : {seconds, returns, episodes}) {
    if (list.size() != steps.size()) {
      throw std::runtime_error("the lists of its curve are not of one length");
    }
  }
  for (std::size_t i = 0; i < steps.size(); ++i) {
    const Json point = {{"steps", steps[i]},
                        {"seconds", seconds[i]},
                        {"return", returns[i]},
                        {"episodes", episodes[i]}};
    points.push_back({.steps = GetPositive(point, "steps"),
                      .seconds = GetPositive(point, "seconds"),
                      .mean_return = Find<double>(point, "return"),
                      .episodes = Find<std::uint64_t>(point, "episodes")});
  }
  if (!std::ranges::is_sorted(points, {}, &results::MetricPoint::steps)) {
    throw std::runtime_error("the steps of its curve do not ascend");
  }
  return points;
}

std::optional<learner::RunStatus> SummaryIn(const Json& row) {
  const auto updates = Find<std::uint64_t>(row, "updates");
  if (!updates) return std::nullopt;  // the run left none
  learner::RunStatus summary;
  summary.steps = Get<std::uint64_t>(row, "steps");
  summary.updates = *updates;
  summary.episodes = Get<std::uint64_t>(row, "episodes");
  summary.seconds = GetPositive(row, "seconds");
  summary.steps_per_second = GetPositive(row, "steps_per_second");
  summary.mean_return = Find<double>(row, "training_return");
  summary.gradients.applied = Get<std::uint64_t>(row, "gradients_applied");
  summary.gradients.dropped["for a reason not kept"] = Get<std::uint64_t>(row, "gradients_dropped");
  summary.staleness.mean = GetPositive(row, "staleness_mean");
  summary.staleness.max = Get<std::uint64_t>(row, "staleness_max");
  using Counts = std::vector<std::uint64_t>;
  summary.staleness.histogram = Find<Counts>(row, "staleness_histogram").value_or(Counts{});
  return summary;
}

results::LoadedRun RunIn(const Json& row, const results::FlatConfig& defaults) {
  for (const char* column : kNeeded) {
    if (!row.contains(column)) {
      throw std::runtime_error(fmt::format(
          "there is no column {}; an older Starling did not write all of them", column));
    }
  }
  // 1. What it was.
  results::LoadedRun run{.dir = Get<std::string>(row, "run")};
  run.state = StateIn(row);
  run.simulated = Get<bool>(row, "simulated");
  run.repeated = run.finished() && !Get<bool>(row, "counts");
  run.config = ConfigIn(row, defaults);
  std::istringstream varied(Get<std::string>(row, "varied"));
  for (std::string key; varied >> key;) run.varied.push_back(key);
  if (const auto remarks = Find<std::string>(row, "remarks").value_or(""); !remarks.empty()) {
    run.problems.push_back(remarks);
  }
  // 2. What came of it.
  run.metrics = MetricsIn(row);
  run.summary = SummaryIn(row);
  if (run.finished() && !run.summary) {
    throw std::runtime_error("a run that has finished has numbers, this one has none");
  }
  if (const auto last = Find<double>(row, "last_eval_return")) {
    run.evals.push_back(
        {.steps = Get<std::uint64_t>(row, "last_eval_steps"), .mean_return = *last});
  }
  if (const auto final_return = Find<double>(row, "final_eval_return")) {
    run.final_eval = {.checkpoint = {},
                      .played = {.episodes = Get<std::int64_t>(row, "final_eval_episodes"),
                                 .greedy = Get<bool>(row, "final_eval_greedy")},
                      .mean_return = *final_return};
  }
  return run;
}

}  // namespace

bool IsKeptRuns(const fs::path& path) {
  std::error_code ignored;
  return (path.extension() == ".csv" || path.extension() == ".json") &&
         !fs::is_directory(path, ignored);
}

std::vector<Part> ParseKeptRuns(const fs::path& file, const std::string& text) {
  const results::FlatConfig defaults = results::Flatten(ToToml(Config{}));
  std::vector<Part> parts;
  std::size_t number = 0;
  try {
    const Json rows = file.extension() == ".json" ? Json::parse(text) : RowsOfCsv(text);
    if (!rows.is_array()) throw std::runtime_error("it is no list");
    for (const Json& row : rows) {
      ++number;
      results::LoadedRun run = RunIn(row, defaults);
      const std::string name = Get<std::string>(row, "part");
      auto part = std::ranges::find(parts, name, &Part::name);
      if (part == parts.end()) part = parts.insert(part, {.name = name, .runs = {}});
      part->runs.push_back(std::move(run));
    }
  } catch (const std::exception& error) {
    throw UserError(fmt::format("{}{}: {}; give a file that starling report --data wrote",
                                file.string(), number > 0 ? fmt::format(", row {}", number) : "",
                                error.what()));
  }
  if (number == 0) throw UserError(fmt::format("{} has no run in it", file.string()));
  return parts;
}

std::vector<Part> ReadKeptRuns(const fs::path& file) {
  constexpr std::uint64_t kMaxBytes = 1 << 28;
  std::string text;
  try {
    text = ReadRegularFile(file, kMaxBytes);
  } catch (const std::system_error& error) {
    throw UserError(fmt::format("{} cannot be read: {}", file.string(), error.code().message()));
  }
  return ParseKeptRuns(file, text);
}

}  // namespace starling::report
