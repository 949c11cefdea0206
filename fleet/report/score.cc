#include "fleet/report/score.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>

#include "fleet/bottleneck.h"

namespace starling::fleet {
namespace {

constexpr std::size_t kDraws = 10'000;

// Shares of all runs together.
TimeStatus Sum(const std::vector<const LoadedRun*>& runs) {
  TimeStatus sum;
  for (const LoadedRun* run : runs) {
    const auto& [actors, learner] = run->time;
    sum.actors.wait += actors.wait;
    sum.actors.refresh += actors.refresh;
    sum.actors.act += actors.act;
    sum.actors.gradient += actors.gradient;
    sum.actors.push += actors.push;
    sum.learner.receive += learner.receive;
    sum.learner.dispatch += learner.dispatch;
    sum.learner.idle += learner.idle;
    sum.learner.lanes += learner.lanes;
  }
  return sum;
}

}  // namespace

Measure MeasureFor(const std::vector<LoadedRun>& runs) {
  const auto every = [&](auto has) {
    return std::ranges::all_of(runs,
                               [&](const LoadedRun& run) { return !run.finished() || has(run); });
  };
  if (std::ranges::none_of(runs, &LoadedRun::finished)) return Measure::kTraining;
  if (every([](const LoadedRun& run) { return run.final_eval.has_value(); })) {
    return Measure::kFinalEval;
  }
  if (every([](const LoadedRun& run) { return !run.evals.empty(); })) return Measure::kLastEval;
  return Measure::kTraining;
}

std::optional<double> ScoreOf(const LoadedRun& run, Measure measure) {
  if (measure == Measure::kFinalEval && run.final_eval) return run.final_eval->mean_return;
  if (measure == Measure::kLastEval && !run.evals.empty()) return run.evals.back().mean_return;
  if (measure == Measure::kTraining && run.summary) return run.summary->mean_return;
  return std::nullopt;
}

std::string InWords(Measure measure, const std::vector<LoadedRun>& runs) {
  switch (measure) {
    case Measure::kFinalEval: {
      std::set<std::int64_t> episodes;
      for (const LoadedRun& run : runs) {
        if (run.finished()) episodes.insert(run.final_eval->episodes);
      }
      const std::string count =
          episodes.size() == 1 ? fmt::format("{}", *episodes.begin())
                               : fmt::format("{} to {}", *episodes.begin(), *episodes.rbegin());
      return fmt::format("the mean return of {} episodes that its final weights played", count);
    }
    case Measure::kLastEval:
      return "its last evaluation (eval.jsonl)";
    case Measure::kTraining:
      break;
  }
  return "the mean return of its last 100 training episodes";
}

GroupNumbers NumbersOf(const Group& group, Measure measure, std::uint32_t stratum) {
  const std::vector<const LoadedRun*> finished = group.Finished();
  GroupNumbers numbers{.finished = finished.size()};
  if (finished.empty()) return numbers;
  std::vector<double> rates;
  for (const LoadedRun* run : finished) {
    rates.push_back(run->summary->steps_per_second);
    if (const auto score = ScoreOf(*run, measure)) numbers.scores.push_back(*score);
  }
  numbers.steps_per_second = Mean(rates);
  numbers.bottleneck = NameBottleneck(TimeShares(Sum(finished)));
  const std::vector<double>& scores = numbers.scores;
  if (scores.empty()) return numbers;
  numbers.interquartile_mean = InterquartileMean(scores);
  numbers.median = Median(scores);
  numbers.mean = Mean(scores);
  if (scores.size() > 1) {
    numbers.interval = Bootstrap(scores.size(), kDraws, stratum).OfInterquartileMean(scores);
  }
  return numbers;
}

}  // namespace starling::fleet
