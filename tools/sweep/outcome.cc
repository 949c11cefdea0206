#include "tools/sweep/outcome.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "core/text.h"

namespace starling::sweep {
namespace {

using Json = nlohmann::ordered_json;

Json OrNull(const std::optional<double>& value) { return value ? Json(*value) : Json(nullptr); }

Json JsonOf(const RunOutcome& run) {
  Json json{{"seed", run.seed},
            {"dir", run.dir},
            {"state", results::NameOf(run.state)},
            {"error", run.error.empty() ? Json(nullptr) : Json(run.error)}};
  const std::optional<learner::RunStatus>& summary = run.summary;
  json["steps"] = summary ? Json(summary->steps) : Json(nullptr);
  json["seconds"] = summary ? Json(summary->seconds) : Json(nullptr);
  json["steps_per_second"] = summary ? Json(summary->steps_per_second) : Json(nullptr);
  json["training_return"] = summary ? OrNull(summary->mean_return) : Json(nullptr);
  json["staleness"] = summary
                          ? Json{{"mean", summary->staleness.mean}, {"max", summary->staleness.max}}
                          : Json(nullptr);
  json["evaluation"] = run.eval ? Json{{"mean_return", run.eval->mean_return},
                                       {"std", run.eval->std},
                                       {"episodes", run.eval->episodes}}
                                : Json(nullptr);
  return json;
}

Json JsonOf(const PointOutcome& point, const PointNumbers& numbers) {
  const auto& returns = numbers.returns;
  Json settings = Json::object(), runs = Json::array();
  for (const auto& [key, value] : point.varied) settings[key] = value;
  for (const RunOutcome& run : point.runs) runs.push_back(JsonOf(run));
  return {{"name", point.name},
          {"settings", settings},
          {"finished", numbers.finished},
          {"mean", returns ? Json(returns->mean) : Json(nullptr)},
          {"median", returns ? Json(returns->median) : Json(nullptr)},
          {"interquartile_mean", returns ? Json(returns->interquartile_mean) : Json(nullptr)},
          {"steps_per_second", OrNull(numbers.steps_per_second)},
          {"runs", runs}};
}

}  // namespace

std::optional<double> RunOutcome::Score(bool evaluated) const {
  if (state != results::RunState::kFinished) return std::nullopt;
  if (evaluated) return eval ? std::optional(eval->mean_return) : std::nullopt;
  return summary ? summary->mean_return : std::nullopt;
}

PointNumbers NumbersOf(const PointOutcome& point, bool evaluated) {
  std::vector<double> scores, rates;
  PointNumbers numbers;
  for (const RunOutcome& run : point.runs) {
    if (run.state != results::RunState::kFinished) continue;
    ++numbers.finished;
    if (run.summary) rates.push_back(run.summary->steps_per_second);
    if (const std::optional<double> score = run.Score(evaluated)) scores.push_back(*score);
  }
  numbers.scored = scores.size();
  if (!scores.empty()) numbers.returns = results::SpreadOf(scores);
  if (!rates.empty()) numbers.steps_per_second = results::Mean(rates);
  return numbers;
}

std::string SweepJson(const Grid& grid, const std::vector<PointOutcome>& points) {
  Json list = Json::array();
  for (const PointOutcome& point : points) {
    list.push_back(JsonOf(point, NumbersOf(point, grid.eval_episodes > 0)));
  }
  const Json json{{"grid", grid.file.string()},          {"config", grid.config.string()},
                  {"simulated", grid.simulate},          {"seeds", grid.seeds},
                  {"eval_episodes", grid.eval_episodes}, {"points", list}};
  // Paths and error lines of runs may contain invalid UTF-8.
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

std::string SweepTable(const Grid& grid, const std::vector<PointOutcome>& points) {
  // 1. The first column is as wide as the longest name.
  const bool evaluated = grid.eval_episodes > 0;
  std::size_t width = 5;
  for (const PointOutcome& point : points) width = std::max(width, point.name.size());
  constexpr std::string_view kRow = "{:<{}}  {:>8}  {:>9}  {:>9}  {:>9}  {:>9}\n";
  std::string table =
      fmt::format(kRow, "point", width, "seeds", "mean", "median", "iq mean", "steps/s");
  // 2. One row per point.
  for (const PointOutcome& point : points) {
    const auto [finished, scored, returns, rate] = NumbersOf(point, evaluated);
    const std::string seeds = scored == point.runs.size()
                                  ? fmt::format("{}", scored)
                                  : fmt::format("{} of {}", scored, point.runs.size());
    table += fmt::format(kRow, point.name, width, seeds,
                         returns ? results::Decimals(returns->mean) : "-",
                         returns ? results::Decimals(returns->median) : "-",
                         returns ? results::Decimals(returns->interquartile_mean) : "-",
                         rate ? Rounded(*rate) : "-");
  }
  // 3. The kind of return, below the table.
  table += evaluated ? fmt::format("Returns of the final weights, {} episodes a run.\n",
                                   Grouped(static_cast<std::uint64_t>(grid.eval_episodes)))
                     : "Returns of the last 100 training episodes of each run.\n";
  return table + (grid.simulate ? "Simulated: steps per second of virtual time.\n" : "");
}

}  // namespace starling::sweep
