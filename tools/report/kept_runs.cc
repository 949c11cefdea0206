#include "tools/report/kept_runs.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <sstream>
#include <stdexcept>
#include <string_view>
#include <system_error>

#include "core/config/config.h"
#include "core/error.h"
#include "core/file.h"
#include "core/text.h"

namespace starling::report {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

// Columns that are text even if they look like a number, and those that are lists of numbers.
constexpr std::string_view kTexts[] = {"part", "group", "run", "state", "varied", "env", "remarks"};
constexpr std::string_view kLists[] = {"staleness_histogram", "curve_steps", "curve_seconds",
                                       "curve_return"};

// ---- CSV (RFC 4180)

// Returns the fields of each line.
std::vector<std::vector<std::string>> ParseCsv(const std::string& text) {
  std::vector<std::vector<std::string>> lines;
  std::vector<std::string> line;
  std::string field;
  bool quoted = false;
  const auto end_field = [&] { line.push_back(std::exchange(field, "")); };
  const auto end_line = [&] {
    end_field();
    lines.push_back(std::exchange(line, {}));
  };
  for (std::size_t at = 0; at < text.size(); ++at) {
    const char letter = text[at];
    if (letter == '"') {
      const bool doubled = quoted && at + 1 < text.size() && text[at + 1] == '"';
      if (doubled) field += text[++at];
      if (!doubled) quoted = !quoted;
    } else if (!quoted && letter == ',') {
      end_field();
    } else if (!quoted && letter == '\n') {
      end_line();
    } else if (quoted || letter != '\r') {
      field += letter;
    }
  }
  if (quoted) throw std::runtime_error("a quotation mark is not closed: the file is cut");
  if (!field.empty() || !line.empty()) end_line();
  return lines;
}

Json NumbersIn(const std::string& list) {
  Json numbers = Json::array();
  std::istringstream words(list);
  for (std::string word; words >> word;) numbers.push_back(Json::parse(word));
  return numbers;
}

Json ValueIn(const std::string& column, const std::string& field) {
  if (std::ranges::count(kTexts, column) > 0) return field;
  if (field.empty()) return nullptr;
  if (std::ranges::count(kLists, column) > 0) return NumbersIn(field);
  const Json value = Json::parse(field, nullptr, /*allow_exceptions=*/false);
  return value.is_number() || value.is_boolean() ? value : Json(field);
}

std::vector<Json> RowsOfCsv(const std::string& text) {
  const std::vector<std::vector<std::string>> lines = ParseCsv(text);
  std::vector<Json> rows;
  for (std::size_t i = 1; i < lines.size(); ++i) {
    if (lines[i].size() != lines[0].size()) {
      throw std::runtime_error(fmt::format("row {} has {} fields, the head has {}", i,
                                           lines[i].size(), lines[0].size()));
    }
    Json row = Json::object();
    for (std::size_t c = 0; c < lines[0].size(); ++c) {
      row[lines[0][c]] = ValueIn(lines[0][c], lines[i][c]);
    }
    for (const char* name : {"steps", "seconds", "return"}) {
      if (const auto list = row.find(fmt::format("curve_{}", name)); list != row.end()) {
        row["curve"][name] = *list;
      }
    }
    rows.push_back(std::move(row));
  }
  return rows;
}

// ---- Rows

// Returns nullopt if there is no such value. Throws nlohmann::json::exception if it is of another
// type.
template <class T>
std::optional<T> Find(const Json& row, const char* key) {
  const auto found = row.find(key);
  return found == row.end() || found->is_null() ? std::nullopt : std::optional(found->get<T>());
}

results::RunState StateOf(const std::string& name) {
  using enum results::RunState;
  for (const auto state : {kNotBegun, kUnfinished, kRunning, kFinished, kFailed, kDamaged}) {
    if (name == results::NameOf(state)) return state;
  }
  throw std::runtime_error(fmt::format("there is no state \"{}\"", name));
}

// Returns a value as Flatten gives it. A list is kept as the text of its TOML.
std::string TomlOf(const Json& value) {
  const bool text = value.is_string() && !value.get<std::string>().starts_with('[');
  const std::string toml = value.is_string() && !text ? value.get<std::string>() : value.dump();
  return results::Flatten("[section]\nkey = " + toml).at("section.key");
}

// Returns the whole configuration: that of `defaults`, with the columns that are keys.
results::FlatConfig ConfigOf(const Json& row, const results::FlatConfig& defaults) {
  if (Find<std::string>(row, "env").value_or("").empty()) return {};  // it could not be read
  results::FlatConfig config = defaults;
  for (const auto& [column, value] : row.items()) {
    if (column.find('.') == std::string::npos) continue;
    config.erase(column);
    if (!value.is_null()) config[column] = TomlOf(value);
  }
  config["env.name"] = TomlOf(row.at("env"));
  config.erase("run.seed");
  if (const Json& seed = row.at("seed"); !seed.is_null()) config["run.seed"] = TomlOf(seed);
  return config;
}

std::vector<results::MetricPoint> MetricsIn(const Json& row) {
  std::vector<results::MetricPoint> points;
  const auto curve = row.find("curve");
  if (curve == row.end() || curve->is_null()) return points;
  const Json &steps = curve->at("steps"), &seconds = curve->at("seconds"),
             &returns = curve->at("return");
  if (steps.is_null()) return points;
  if (steps.size() != seconds.size() || steps.size() != returns.size()) {
    throw std::runtime_error("the lists of its curve are not of one length");
  }
  for (std::size_t i = 0; i < steps.size(); ++i) {
    points.push_back({.steps = steps[i].get<double>(), .seconds = seconds[i].get<double>()});
    if (!returns[i].is_null()) points.back().mean_return = returns[i].get<double>();
  }
  return points;
}

std::optional<learner::RunStatus> SummaryIn(const Json& row) {
  const auto updates = Find<std::uint64_t>(row, "updates");
  if (!updates) return std::nullopt;  // the run left none
  learner::RunStatus summary;
  summary.steps = row.at("steps").get<std::uint64_t>();
  summary.updates = *updates;
  summary.episodes = row.at("episodes").get<std::uint64_t>();
  summary.seconds = row.at("seconds").get<double>();
  summary.steps_per_second = row.at("steps_per_second").get<double>();
  summary.mean_return = Find<double>(row, "training_return");
  summary.gradients.applied = row.at("gradients_applied").get<std::uint64_t>();
  if (const auto dropped = row.at("gradients_dropped").get<std::uint64_t>(); dropped > 0) {
    summary.gradients.dropped["kept data"] = dropped;
  }
  summary.staleness.mean = row.at("staleness_mean").get<double>();
  summary.staleness.max = row.at("staleness_max").get<std::uint64_t>();
  summary.staleness.histogram = Find<std::vector<std::uint64_t>>(row, "staleness_histogram")
                                    .value_or(std::vector<std::uint64_t>{});
  return summary;
}

results::LoadedRun RunIn(const Json& row, const results::FlatConfig& defaults) {
  // 1. What it was.
  results::LoadedRun run{.dir = row.at("run").get<std::string>()};
  run.state = StateOf(row.at("state").get<std::string>());
  run.simulated = row.at("simulated").get<bool>();
  run.repeated = run.finished() && !row.at("counts").get<bool>();
  run.config = ConfigOf(row, defaults);
  std::istringstream varied(Find<std::string>(row, "varied").value_or(""));
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
    run.evals.push_back({.steps = row.at("steps").get<std::uint64_t>(), .mean_return = *last});
  }
  if (const auto final_return = Find<double>(row, "final_eval_return")) {
    run.final_eval = {.checkpoint = {},
                      .played = {.episodes = row.at("final_eval_episodes").get<std::int64_t>(),
                                 .greedy = row.at("final_eval_greedy").get<bool>()},
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
    const bool json = file.extension() == ".json";
    const auto rows = json ? Json::parse(text).get<std::vector<Json>>() : RowsOfCsv(text);
    for (const Json& row : rows) {
      ++number;
      const std::string name = row.at("part").get<std::string>();
      auto part = std::ranges::find(parts, name, &Part::name);
      if (part == parts.end()) part = parts.insert(part, {.name = name, .runs = {}});
      part->runs.push_back(RunIn(row, defaults));
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
