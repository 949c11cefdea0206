#include "tools/report/data.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>

#include "tools/report/groups.h"

namespace starling::report {
namespace {

using Json = nlohmann::ordered_json;

constexpr char kCurve[] = "curve";
constexpr std::size_t kPoints = 200;  // of a curve

template <class T>
Json OrNull(const std::optional<T>& value) {
  return value ? Json(*value) : Json(nullptr);
}

// A value of a configuration; null where there is no such key.
Json ValueOf(const std::string& toml) {
  if (toml.empty()) return nullptr;
  const Json value = Json::parse(toml, nullptr, /*allow_exceptions=*/false);
  return value.is_number() || value.is_boolean() ? value : Json(Plain(toml));
}

// All keys in which any two runs of the page differ; the environment and "simulated" have columns
// of their own.
std::vector<std::string> KeysThatDiffer(const std::vector<Part>& parts) {
  std::map<std::string, std::set<std::string>> values;
  std::size_t runs = 0;
  std::map<std::string, std::size_t> present;
  for (const Part& part : parts) {
    for (const results::LoadedRun& run : part.runs) {
      runs += run.config.empty() ? 0 : 1;
      for (const auto& [key, value] : run.config) {
        values[key].insert(value);
        ++present[key];
      }
    }
  }
  std::vector<std::string> keys;
  for (const auto& [key, of_key] : values) {
    const bool own =
        key == "env.name" || key == "run.seed" || key == "run.name" || key == "run.dir";
    if (!own && (of_key.size() > 1 || present[key] < runs)) keys.push_back(key);
  }
  return keys;
}

Json CurveOf(const results::LoadedRun& run) {
  Json curve = {{"steps", Json::array()}, {"seconds", Json::array()}, {"return", Json::array()}};
  const std::size_t count = run.metrics.size(), kept = std::min(count, kPoints);
  for (std::size_t i = 0; i < kept; ++i) {
    const results::MetricPoint& point = run.metrics[kept > 1 ? i * (count - 1) / (kept - 1) : 0];
    curve["steps"].push_back(point.steps);
    curve["seconds"].push_back(point.seconds);
    curve["return"].push_back(OrNull(point.mean_return));
  }
  return curve;
}

void AddTraining(const results::LoadedRun& run, Json& row) {
  const auto& summary = run.summary;
  const auto of_summary = [&](const char* name, const auto& member) {
    row[name] = summary ? Json(member(*summary)) : Json(nullptr);
  };
  row["steps"] = static_cast<std::uint64_t>(run.steps());
  of_summary("updates", [](const learner::RunStatus& s) { return s.updates; });
  of_summary("episodes", [](const learner::RunStatus& s) { return s.episodes; });
  of_summary("seconds", [](const learner::RunStatus& s) { return s.seconds; });
  of_summary("steps_per_second", [](const learner::RunStatus& s) { return s.steps_per_second; });
  row["training_return"] = summary ? OrNull(summary->mean_return) : Json(nullptr);
  row["last_eval_return"] = run.evals.empty() ? Json(nullptr) : Json(run.evals.back().mean_return);
  row["final_eval_return"] = run.final_eval ? Json(run.final_eval->mean_return) : Json(nullptr);
  row["final_eval_episodes"] = run.final_eval ? Json(run.final_eval->episodes) : Json(nullptr);
}

void AddToScore(const results::LoadedRun& run, const Targets& targets, Json& row) {
  const auto score = run.config.empty() ? std::nullopt : targets.For(Plain(run.Key("env.name")));
  const ToScore time = score ? TimeTo(*score, run) : ToScore{};
  row["score"] = OrNull(score);
  row["reached"] = time.known ? Json(time.reached.has_value()) : Json(nullptr);
  row["steps_to_score"] = time.reached ? Json(time.reached->steps) : Json(nullptr);
  row["seconds_to_score"] = time.reached ? Json(time.reached->seconds) : Json(nullptr);
}

void AddStaleness(const results::LoadedRun& run, Json& row) {
  const auto& summary = run.summary;
  row["gradients_applied"] = summary ? Json(summary->gradients.applied) : Json(nullptr);
  row["gradients_dropped"] = summary ? Json(summary->gradients.dropped_total()) : Json(nullptr);
  row["staleness_mean"] = summary ? Json(summary->staleness.mean) : Json(nullptr);
  row["staleness_max"] = summary ? Json(summary->staleness.max) : Json(nullptr);
  row["staleness_histogram"] = summary ? Json(summary->staleness.histogram) : Json(nullptr);
}

std::string LabelOf(const results::LoadedRun& run, const std::vector<Group>& groups) {
  for (const Group& group : groups) {
    if (std::ranges::count(group.runs, &run) > 0) return group.label;
  }
  return "";
}

std::string CsvField(const Json& value) {
  if (value.is_null()) return "";
  if (value.is_array()) {
    std::string list;
    for (const Json& element : value) list += (list.empty() ? "" : " ") + element.dump();
    return list;
  }
  if (!value.is_string()) return value.dump();
  std::string text = value.get<std::string>();
  if (text.find_first_of(",\"\r\n") == std::string::npos) return text;
  for (std::size_t at = 0; (at = text.find('"', at)) != std::string::npos; at += 2) {
    text.insert(at, 1, '"');
  }
  return "\"" + text + "\"";
}

}  // namespace

std::vector<Json> DataRows(const std::vector<Part>& parts, const Targets& targets) {
  const std::vector<std::string> keys = KeysThatDiffer(parts);
  std::vector<Json> rows;
  for (const Part& part : parts) {
    const std::vector<Group> groups = MakeGroups(part.runs);
    for (const results::LoadedRun& run : part.runs) {
      Json row = {{"part", part.name},
                  {"group", LabelOf(run, groups)},
                  {"run", run.dir.string()},
                  {"state", results::NameOf(run.state)},
                  {"counts", run.counts()},
                  {"simulated", run.simulated},
                  {"env", run.config.empty() ? Json(nullptr) : ValueOf(run.Key("env.name"))},
                  {"seed", ValueOf(run.Key("run.seed"))}};
      for (const std::string& key : keys) row[key] = ValueOf(run.Key(key));
      AddTraining(run, row);
      AddToScore(run, targets, row);
      AddStaleness(run, row);
      row["remarks"] = fmt::format("{}", fmt::join(run.troubles, "; "));
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
      if (key == kCurve) continue;
      if (first) head += (head.empty() ? "" : ",") + key;
      line += (&value == &row.begin().value() ? "" : ",") + CsvField(value);
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
