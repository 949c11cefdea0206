#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "core/text.h"
#include "results/statistics.h"
#include "tools/sweep/runs.h"

namespace starling::sweep {

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
  const std::optional<double> score = outcome.Score(grid.eval_episodes > 0);
  return fmt::format("{}: {}, {} steps/s{}, {}", who,
                     score ? "return " + results::Decimals(*score) : "no return",
                     Rounded(outcome.summary->steps_per_second),
                     grid.simulate ? " of virtual time" : "", HumanTime(seconds));
}

std::vector<std::string> WhatNext(const Grid& grid, const std::vector<Run>& runs,
                                  const std::string& program) {
  std::vector<std::string> lines;
  const std::size_t done = Count(runs, results::RunState::kFinished);
  if (done < runs.size()) {
    lines.push_back(fmt::format("{} of {} runs are done; go on with: {} sweep {}", done,
                                runs.size(), program, grid.file.string()));
  }
  if (done > 0) {
    lines.push_back(fmt::format("all of it is in {}; to look at it: {} report {}",
                                (grid.dir / "sweep.json").string(), program, grid.dir.string()));
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
