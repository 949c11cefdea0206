#include "fleet/sweep/outcome.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "fleet/statistics.h"
#include "fleet/summary.h"

namespace starling::fleet {
namespace {

using Json = nlohmann::ordered_json;

Json OrNull(const std::optional<double>& value) { return value ? Json(*value) : Json(nullptr); }

Json JsonOf(const RunOutcome& run) {
  Json json{{"seed", run.seed},
            {"dir", run.dir},
            {"state", NameOf(run.standing)},
            {"error", run.error.empty() ? Json(nullptr) : Json(run.error)}};
  const std::optional<RunSummary>& summary = run.summary;
  json["steps"] = summary ? Json(summary->steps) : Json(nullptr);
  json["seconds"] = summary ? Json(summary->seconds) : Json(nullptr);
  json["steps_per_second"] = summary ? Json(summary->steps_per_second) : Json(nullptr);
  json["training_return"] = summary ? OrNull(summary->mean_return) : Json(nullptr);
  json["staleness"] = summary
                          ? Json{{"mean", summary->staleness_mean}, {"max", summary->staleness_max}}
                          : Json(nullptr);
  json["evaluation"] = run.eval ? Json{{"mean_return", run.eval->mean_return},
                                       {"std", run.eval->std},
                                       {"episodes", run.eval->episodes}}
                                : Json(nullptr);
  return json;
}

std::string Cell(const std::optional<double>& value) {
  return value ? fmt::format("{:.2f}", *value) : "-";
}

std::string Rate(const std::optional<double>& value) {
  return value ? Grouped(static_cast<std::uint64_t>(*value + 0.5)) : "-";
}

}  // namespace

std::string_view NameOf(RunStanding standing) {
  switch (standing) {
    case RunStanding::kOpen:
      return "open";
    case RunStanding::kRunning:
      return "running";
    case RunStanding::kDone:
      return "done";
    case RunStanding::kFailed:
      break;
  }
  return "failed";
}

std::optional<double> RunOutcome::Score(bool evaluated) const {
  if (standing != RunStanding::kDone) return std::nullopt;
  if (evaluated) return eval ? std::optional(eval->mean_return) : std::nullopt;
  return summary ? summary->mean_return : std::nullopt;
}

PointNumbers NumbersOf(const PointOutcome& point, bool evaluated) {
  std::vector<double> scores, rates;
  PointNumbers numbers;
  for (const RunOutcome& run : point.runs) {
    if (run.standing != RunStanding::kDone) continue;
    ++numbers.runs;
    if (run.summary) rates.push_back(run.summary->steps_per_second);
    if (const std::optional<double> score = run.Score(evaluated)) scores.push_back(*score);
  }
  if (!scores.empty()) {
    numbers.mean = Mean(scores);
    numbers.median = Median(scores);
    numbers.interquartile_mean = InterquartileMean(scores);
  }
  if (!rates.empty()) numbers.steps_per_second = Mean(rates);
  return numbers;
}

Json SweepJson(const Grid& grid, const std::vector<PointOutcome>& points) {
  Json list = Json::array();
  for (const PointOutcome& point : points) {
    const PointNumbers numbers = NumbersOf(point, grid.eval_episodes > 0);
    Json settings = Json::object(), runs = Json::array();
    for (const auto& [key, value] : point.varied) settings[key] = value;
    for (const RunOutcome& run : point.runs) runs.push_back(JsonOf(run));
    list.push_back({{"name", point.name},
                    {"settings", settings},
                    {"finished", numbers.runs},
                    {"mean", OrNull(numbers.mean)},
                    {"median", OrNull(numbers.median)},
                    {"interquartile_mean", OrNull(numbers.interquartile_mean)},
                    {"steps_per_second", OrNull(numbers.steps_per_second)},
                    {"runs", runs}});
  }
  return {{"grid", grid.file.string()},
          {"config", grid.config.string()},
          {"seeds", grid.seeds},
          {"eval_episodes", grid.eval_episodes},
          {"points", list}};
}

std::string SweepTable(const Grid& grid, const std::vector<PointOutcome>& points) {
  const bool evaluated = grid.eval_episodes > 0;
  std::size_t width = 5;
  for (const PointOutcome& point : points) width = std::max(width, point.name.size());
  constexpr std::string_view kRow = "{:<{}}  {:>8}  {:>9}  {:>9}  {:>9}  {:>9}\n";
  std::string table =
      fmt::format(kRow, "point", width, "seeds", "mean", "median", "iq mean", "steps/s");
  for (const PointOutcome& point : points) {
    const PointNumbers numbers = NumbersOf(point, evaluated);
    const std::string seeds = numbers.runs == point.runs.size()
                                  ? fmt::format("{}", numbers.runs)
                                  : fmt::format("{} of {}", numbers.runs, point.runs.size());
    table += fmt::format(kRow, point.name, width, seeds, Cell(numbers.mean), Cell(numbers.median),
                         Cell(numbers.interquartile_mean), Rate(numbers.steps_per_second));
  }
  return table + (evaluated ? fmt::format("Returns of the final weights, {} episodes a run.\n",
                                          Grouped(static_cast<std::uint64_t>(grid.eval_episodes)))
                            : "Returns of the last 100 training episodes of each run.\n");
}

}  // namespace starling::fleet
