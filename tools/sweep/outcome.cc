#include "tools/sweep/sweep.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "core/text.h"

namespace starling::sweep {
namespace {

using Json = nlohmann::ordered_json;

// The 95 % interval of the interquartile mean, as in a report; "-" for a single run.
std::string IntervalText(const std::vector<double>& scores) {
  if (scores.size() < 2) return "-";
  const auto [low, high] =
      results::Bootstrap(scores.size(), results::kDraws, 0).OfInterquartileMean(scores);
  return fmt::format("{} to {}", results::Decimals(low), results::Decimals(high));
}

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
                                       {"episodes", run.eval->played.episodes},
                                       {"greedy", run.eval->played.greedy}}
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
  std::vector<double> rates;
  PointNumbers numbers;
  for (const RunOutcome& run : point.runs) {
    if (run.state != results::RunState::kFinished) continue;
    ++numbers.finished;
    if (run.summary) rates.push_back(run.summary->steps_per_second);
    if (const std::optional<double> score = run.Score(evaluated)) {
      numbers.scores.push_back(*score);
    }
  }
  if (!numbers.scores.empty()) numbers.returns = results::SpreadOf(numbers.scores);
  if (!rates.empty()) numbers.steps_per_second = results::Mean(rates);
  return numbers;
}

std::string SweepJson(const Grid& grid, const std::vector<PointOutcome>& points) {
  Json list = Json::array();
  for (const PointOutcome& point : points) {
    list.push_back(JsonOf(point, NumbersOf(point, grid.eval.episodes > 0)));
  }
  const Json json{{"grid", grid.file.string()},
                  {"config", grid.config.string()},
                  {"simulated", grid.simulate},
                  {"seeds", grid.seeds},
                  {"eval_episodes", grid.eval.episodes},
                  {"eval_greedy", grid.eval.greedy},
                  {"points", list}};
  // Paths and error lines of runs may contain invalid UTF-8.
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

std::string SweepTable(const Grid& grid, const std::vector<PointOutcome>& points) {
  // 1. The first column is as wide as the longest name.
  const bool evaluated = grid.eval.episodes > 0;
  std::size_t width = 5;
  for (const PointOutcome& point : points) width = std::max(width, point.name.size());
  constexpr std::string_view kRow = "{:<{}}  {:>8}  {:>9}  {:>9}  {:>9}  {:>16}  {:>9}\n";
  std::string table = fmt::format(kRow, "point", width, "seeds", "mean", "median", "iq mean",
                                  "95 % interval", "steps/s");
  // 2. One row per point.
  for (const PointOutcome& point : points) {
    const auto [finished, scores, returns, rate] = NumbersOf(point, evaluated);
    const std::string seeds = scores.size() == point.runs.size()
                                  ? fmt::format("{}", scores.size())
                                  : fmt::format("{} of {}", scores.size(), point.runs.size());
    table += fmt::format(kRow, point.name, width, seeds,
                         returns ? results::Decimals(returns->mean) : "-",
                         returns ? results::Decimals(returns->median) : "-",
                         returns ? results::Decimals(returns->interquartile_mean) : "-",
                         IntervalText(scores), rate ? Rounded(*rate) : "-");
  }
  // 3. The kind of return, below the table.
  table += evaluated ? fmt::format("Returns of the final weights, {} episodes a run{}.\n",
                                   Grouped(static_cast<std::uint64_t>(grid.eval.episodes)),
                                   grid.eval.greedy ? ", played greedily" : "")
                     : "Returns of the last 100 training episodes of each run.\n";
  return table + (grid.simulate ? "Simulated: steps per second of virtual time.\n" : "");
}

// ---- Lines on the console

std::size_t Count(const std::vector<Run>& runs, results::RunState state) {
  return static_cast<std::size_t>(
      std::ranges::count(runs, state, [](const Run& run) { return run.outcome.state; }));
}

std::string SweepHeadline(const Grid& grid, const std::vector<Run>& runs) {
  const std::size_t done = Count(runs, results::RunState::kFinished);
  const auto resumed = std::ranges::count(runs, Todo::kResume, &Run::todo);
  return fmt::format("sweep in {}: {} ({}, {}), {} at a time{}{}", grid.dir.string(),
                     Plural(runs.size(), grid.simulate ? "simulation" : "run"),
                     Plural(grid.points.size(), "point"), Plural(grid.seeds.size(), "seed"),
                     grid.at_once, done > 0 ? fmt::format("; {} done already", done) : "",
                     resumed > 0 ? fmt::format("; {} to go on with", resumed) : "");
}

std::string RunLine(const Grid& grid, const std::vector<Run>& runs, const Run& run,
                    double seconds) {
  const std::size_t over =
      Count(runs, results::RunState::kFinished) + Count(runs, results::RunState::kFailed);
  const std::string who = fmt::format("{}/{}  {}", over, runs.size(), run.name());
  const RunOutcome& outcome = run.outcome;
  if (outcome.state == results::RunState::kFailed)
    return fmt::format("{} failed: {}", who, outcome.error);
  const std::optional<double> score = outcome.Score(grid.eval.episodes > 0);
  return fmt::format("{}: {}, {} steps/s{}, {}", who,
                     score ? "return " + results::Decimals(*score) : "no return",
                     Rounded(outcome.summary->steps_per_second),
                     grid.simulate ? " of virtual time" : "", HumanTime(seconds));
}

std::vector<std::string> WhatNext(const Grid& grid, const std::vector<Run>& runs,
                                  const SweepOptions& options) {
  std::vector<std::string> lines;
  const std::string called = ShellQuoted(options.program);
  std::string only;
  for (const std::string& pair : options.only) only += " --only " + ShellQuoted(pair);
  const std::size_t done = Count(runs, results::RunState::kFinished);
  if (done < runs.size()) {
    lines.push_back(fmt::format("{} of {} runs are done; go on with: {} sweep {}{}", done,
                                runs.size(), called, ShellQuoted(grid.file.string()), only));
  }
  if (done > 0) {
    lines.push_back(fmt::format("all of it is in {}; to look at it: {} report {}",
                                (grid.dir / "sweep.json").string(), called,
                                ShellQuoted(grid.dir.string())));
  }
  return lines;
}

std::string SweepBar(const SweepProgress& progress, const monitor::ProgressStyle& style) {
  // 1. List the parts of the text, the most important first.
  constexpr int kMaxBar = 40, kMinBar = 8;
  const int room = std::max(0, style.width - 1);
  std::vector<std::string> pieces = {fmt::format("{}/{} runs done", progress.done, progress.total)};
  if (progress.failed > 0) pieces.push_back(fmt::format("{} failed", progress.failed));
  if (progress.left_s) pieces.push_back(HumanTime(*progress.left_s) + " left");
  pieces.push_back(fmt::format("{} running", progress.running));
  // 2. Keep those that fit.
  std::string text = pieces.front();
  for (std::size_t i = 1; i < pieces.size(); ++i) {
    const std::string longer = text + ", " + pieces[i];
    if (static_cast<int>(longer.size()) > room) break;
    text = longer;
  }
  // 3. Fill the rest of the line with the bar, if there is enough room for one.
  const int bar = std::min(kMaxBar, room - static_cast<int>(text.size()) - 2);
  if (bar < kMinBar) return text.substr(0, static_cast<std::size_t>(room));
  const double over = progress.done + progress.failed;
  const double fraction = progress.total > 0 ? over / progress.total : 0;
  return monitor::BarOf(fraction, bar, style) + "  " + text;
}

std::optional<double> SweepTimeLeft(std::span<const double> finished,
                                    std::span<const double> running, int waiting, int at_once) {
  if (finished.empty()) return std::nullopt;
  const double typical = results::Mean(finished);
  double work = waiting * typical, longest = 0;
  for (const double elapsed : running) {
    const double rest = std::max(0.0, typical - elapsed);
    work += rest;
    longest = std::max(longest, rest);
  }
  return std::max(work / at_once, longest);
}

}  // namespace starling::sweep
