#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>
#include <string_view>

#include "core/config/config.h"
#include "core/config/config_toml.h"
#include "tools/report/csv.h"
#include "tools/report/kept_runs.h"
#include "tools/report/report.h"

namespace starling::report {
namespace {

using Json = nlohmann::ordered_json;

constexpr char kCurve[] = "curve";
constexpr std::size_t kPoints = 200;      // of a curve
constexpr std::size_t kPointsOfCsv = 10;  // thousands of rows stay small

template <class T>
Json OrNull(const std::optional<T>& value) {
  return value ? Json(*value) : Json(nullptr);
}

Json JsonOf(const toml::node& node);

Json JsonOf(const toml::array& list) {
  Json elements = Json::array();
  for (const toml::node& element : list) elements.push_back(JsonOf(element));
  return elements;
}

// Numbers without JSON form (inf) and tables of a foreign version become text.
Json JsonOf(const toml::node& node) {
  if (const auto flag = node.value_exact<bool>()) return *flag;
  if (const auto number = node.value_exact<std::int64_t>()) return *number;
  if (const auto text = node.value_exact<std::string>()) return *text;
  const auto real = node.value_exact<double>();
  if (real && std::isfinite(*real)) return *real;
  if (const toml::array* const list = node.as_array()) return JsonOf(*list);
  return TomlText(node);
}

// Returns the value of a configuration key; null if the run has no such key.
Json ValueOf(const results::LoadedRun& run, const std::string& key) {
  const std::string toml = run.Key(key);
  if (toml.empty()) return nullptr;
  try {
    return JsonOf(*ParseToml("value = " + toml).get("value"));
  } catch (const toml::parse_error&) {  // a table is not one value
    return toml;
  }
}

// Returns all keys in which runs differ from each other or from the defaults, except the place of a
// run and those with columns of their own. With the defaults they are the whole configuration. A
// key that a run of another version lacks differs.
std::vector<std::string> KeysToTell(const std::vector<Part>& parts) {
  // 1. Count the runs with each value of each key.
  std::map<std::string, std::map<std::string, std::size_t>> values;
  std::size_t runs = 0;
  for (const Part& part : parts) {
    for (const results::LoadedRun& run : part.runs) {
      runs += run.config.empty() ? 0 : 1;
      for (const auto& [key, value] : run.config) ++values[key][value];
    }
  }
  // 2. Keep the keys that do not have their default in every run.
  const results::FlatConfig defaults = results::Flatten(ToToml(Config{}));
  for (const auto& [key, value] : defaults) values[key];  // also those that no run has
  const auto all_have = [&](const auto& counts, const std::string& value) {
    const auto found = counts.find(value);
    return found != counts.end() && found->second == runs;
  };
  std::vector<std::string> keys;
  for (const auto& [key, counts] : values) {
    const bool own =
        key == "env.name" || key == "run.seed" || key == "run.name" || key == "run.dir";
    const auto usual = defaults.find(key);
    const bool is_default = usual != defaults.end() && all_have(counts, usual->second);
    if (!own && !is_default) keys.push_back(key);
  }
  return keys;
}

Json CurveOf(const results::LoadedRun& run) {
  Json curve = Json::object();
  for (const char* list : {"steps", "seconds", "return", "episodes"}) curve[list] = Json::array();
  const std::size_t count = run.metrics.size(), kept = std::min(count, kPoints);
  for (std::size_t i = 0; i < kept; ++i) {
    const results::MetricPoint& point = run.metrics[kept > 1 ? i * (count - 1) / (kept - 1) : 0];
    curve["steps"].push_back(point.steps);
    curve["seconds"].push_back(point.seconds);
    curve["return"].push_back(OrNull(point.mean_return));
    curve["episodes"].push_back(OrNull(point.episodes));
  }
  return curve;
}

// Returns the fields of the curve in a line of CSV: some of the points whose return is over enough
// episodes, or, if there is none, the last point without its return.
std::string CurveFields(const Json& curve) {
  // 1. Choose the points.
  const Json &returns = curve["return"], &episodes = curve["episodes"];
  const auto counts = [&](std::size_t i) {
    return !returns[i].is_null() &&
           (episodes[i].is_null() || episodes[i].get<std::uint64_t>() >= kEpisodesOfReturn);
  };
  std::vector<std::size_t> points;
  for (std::size_t i = 0; i < returns.size(); ++i) {
    if (counts(i)) points.push_back(i);
  }
  if (points.empty() && !returns.empty()) points.push_back(returns.size() - 1);
  const std::size_t count = points.size(), kept = std::min(count, kPointsOfCsv);
  // 2. Write each list.
  std::string fields;
  for (const std::string name : {"steps", "seconds", "return"}) {
    fields += ",";
    for (std::size_t i = 0; i < kept; ++i) {
      const std::size_t point = points[kept > 1 ? i * (count - 1) / (kept - 1) : 0];
      const bool known = name != "return" || counts(point);
      const int digits = name == "steps" ? 15 : 4;
      fields += (i > 0 ? " " : "") +
                (known ? fmt::format("{:.{}g}", curve[name][point].get<double>(), digits) : "null");
    }
  }
  return fields;
}

// Adds the numbers of a run to its row. Unknown ones are null.
void AddNumbers(const results::LoadedRun& run, const Targets& targets, Json& row) {
  const auto add = [&](const char* name, bool known, const auto& value) {
    row[name] = known ? Json(value) : Json(nullptr);
  };
  // 1. Training and evaluations.
  const bool ended = run.summary.has_value(), evaluated = run.final_eval.has_value();
  const learner::RunStatus summary = run.summary.value_or(learner::RunStatus{});
  const results::FinalEval final_eval = run.final_eval.value_or(results::FinalEval{});
  row["steps"] = static_cast<std::uint64_t>(run.steps());
  add("updates", ended, summary.updates);
  add("episodes", ended, summary.episodes);
  add("seconds", ended, summary.seconds);
  add("steps_per_second", ended, summary.steps_per_second);
  row["training_return"] = OrNull(summary.mean_return);
  row["last_eval_return"] = run.evals.empty() ? Json(nullptr) : Json(run.evals.back().mean_return);
  row["last_eval_steps"] = run.evals.empty() ? Json(nullptr) : Json(run.evals.back().steps);
  add("final_eval_return", evaluated, final_eval.mean_return);
  add("final_eval_episodes", evaluated, final_eval.played.episodes);
  add("final_eval_greedy", evaluated, final_eval.played.greedy);
  // 2. The time to the target of its environment.
  const auto score = run.config.empty() ? std::nullopt : targets.For(Plain(run.Key("env.name")));
  const ToScore time = score ? TimeTo(*score, run) : ToScore{};
  const bool reached = time.reached.has_value();
  const Moment moment = time.reached.value_or(Moment{});
  row["score"] = OrNull(score);
  add("reached", time.known, reached);
  add("steps_to_score", reached, moment.steps);
  add("seconds_to_score", reached, moment.seconds);
  // 3. Gradients and their staleness.
  add("gradients_applied", ended, summary.gradients.applied);
  add("gradients_dropped", ended, summary.gradients.dropped_total());
  add("staleness_mean", ended, summary.staleness.mean);
  add("staleness_max", ended, summary.staleness.max);
  add("staleness_histogram", ended, summary.staleness.histogram);
}

// Returns the value of a configuration key as TOML, strings without their quotation marks unless
// that would be another value. Returns "" for null.
std::string KeyField(const Json& value) {
  if (!value.is_string()) return value.is_null() ? "" : value.dump();
  const std::string text = value.get<std::string>();
  bool bare = !text.empty();
  try {
    ParseToml("value = " + text);
    bare = false;
  } catch (const toml::parse_error&) {
  }
  return bare ? text : TomlText(toml::value<std::string>(text));
}

std::string Field(const std::string& column, const Json& value) {
  if (IsKey(column)) return CsvField(KeyField(value));
  if (value.is_null()) return "";
  if (value.is_string()) return CsvField(value.get<std::string>());
  if (!value.is_array()) return value.dump();
  std::string list;
  for (const Json& element : value) list += (list.empty() ? "" : " ") + element.dump();
  return list;
}

}  // namespace

std::vector<Json> DataRows(const std::vector<Part>& parts, const Targets& targets) {
  const std::vector<std::string> keys = KeysToTell(parts);
  std::vector<Json> rows;
  for (const Part& part : parts) {
    const std::vector<Group> groups = MakeGroups(part.runs);
    for (const results::LoadedRun& run : part.runs) {
      const Group* const group = GroupOf(run, groups);
      Json row = {{"part", part.name},
                  {"group", group != nullptr ? group->label : ""},
                  {"run", run.dir.string()},
                  {"state", results::NameOf(run.state)},
                  {"counts", run.counts()},
                  {"simulated", run.simulated},
                  {"varied", fmt::to_string(fmt::join(run.varied, " "))},
                  {"env", ValueOf(run, "env.name")},
                  {"seed", ValueOf(run, "run.seed")}};
      for (const std::string& key : keys) row[key] = ValueOf(run, key);
      AddNumbers(run, targets, row);
      row["remarks"] = fmt::format("{}", fmt::join(run.problems, "; "));
      row[kCurve] = CurveOf(run);
      rows.push_back(std::move(row));
    }
  }
  return rows;
}

std::string ToCsv(const std::vector<Json>& rows) {
  std::string head, lines;
  for (const Json& row : rows) {
    const bool first = head.empty();
    std::string line;
    for (const auto& [key, value] : row.items()) {
      if (key == kCurve) {
        if (first) head += ",curve_steps,curve_seconds,curve_return";
        line += CurveFields(value);
        continue;
      }
      if (first) head += (head.empty() ? "" : ",") + key;
      line += (&value == &row.begin().value() ? "" : ",") + Field(key, value);
    }
    lines += line + "\n";
  }
  return head + "\n" + lines;
}

std::string ToJsonText(const std::vector<Json>& rows) {
  std::string text;
  for (const Json& row : rows) {
    text +=
        (text.empty() ? "[\n" : ",\n") + row.dump(-1, ' ', false, Json::error_handler_t::replace);
  }
  return text + "\n]\n";
}

}  // namespace starling::report
