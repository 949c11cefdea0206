#include "tools/report/score.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "results/bottleneck.h"

namespace starling::report {
namespace {

constexpr std::size_t kDraws = 10'000;

bool Has(const results::LoadedRun& run, Measure measure) {
  return measure == Measure::kFinalEval ? run.final_eval.has_value() : !run.evals.empty();
}

std::vector<const results::LoadedRun*> Without(Measure measure,
                                               const std::vector<results::LoadedRun>& runs) {
  std::vector<const results::LoadedRun*> without;
  for (const results::LoadedRun& run : runs) {
    if (run.counts() && !Has(run, measure)) without.push_back(&run);
  }
  return without;
}

}  // namespace

Measure MeasureFor(const std::vector<results::LoadedRun>& runs) {
  if (std::ranges::none_of(runs, &results::LoadedRun::counts)) return Measure::kTraining;
  for (const Measure measure : {Measure::kFinalEval, Measure::kLastEval}) {
    if (Without(measure, runs).empty()) return measure;
  }
  return Measure::kTraining;
}

std::optional<double> ScoreOf(const results::LoadedRun& run, Measure measure) {
  if (measure == Measure::kFinalEval && run.final_eval) return run.final_eval->mean_return;
  if (measure == Measure::kLastEval && !run.evals.empty()) return run.evals.back().mean_return;
  if (measure == Measure::kTraining && run.summary) return run.summary->mean_return;
  return std::nullopt;
}

std::string InWords(Measure measure, const std::vector<results::LoadedRun>& runs) {
  switch (measure) {
    case Measure::kFinalEval: {
      std::set<std::int64_t> episodes;
      for (const results::LoadedRun& run : runs) {
        if (run.counts()) episodes.insert(run.final_eval->episodes);
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

std::string WhyNoBetter(Measure measure, const std::vector<results::LoadedRun>& runs) {
  const auto all =
      static_cast<std::size_t>(std::ranges::count_if(runs, &results::LoadedRun::counts));
  for (const Measure better : {Measure::kFinalEval, Measure::kLastEval}) {
    if (better == measure) break;
    const std::vector<const results::LoadedRun*> without = Without(better, runs);
    if (without.empty() || without.size() == all) continue;
    return fmt::format("{} of {} finished runs {} no {} ({}{}), so that every run is judged by {}.",
                       without.size(), all, without.size() == 1 ? "has" : "have",
                       better == Measure::kFinalEval ? "final_eval.json" : "eval.jsonl",
                       without.front()->dir.string(), without.size() > 1 ? ", ..." : "",
                       InWords(measure, runs));
  }
  return "";
}

GroupNumbers NumbersOf(const Group& group, Measure measure, std::uint32_t stratum) {
  const std::vector<const results::LoadedRun*> finished = group.Finished();
  GroupNumbers numbers{.finished = finished.size()};
  if (finished.empty()) return numbers;
  std::vector<double> rates;
  learner::TimeStatus time;  // the shares of every run have the same weight
  for (const results::LoadedRun* run : finished) {
    rates.push_back(run->summary->steps_per_second);
    time = results::Sum(time, run->summary->time, 1);
    if (const auto score = ScoreOf(*run, measure)) numbers.scores.push_back(*score);
  }
  numbers.steps_per_second = results::Mean(rates);
  numbers.bottleneck = results::NameBottleneck(time);
  const std::vector<double>& scores = numbers.scores;
  if (scores.empty()) return numbers;
  numbers.returns = results::SpreadOf(scores);
  if (scores.size() > 1) {
    numbers.interval =
        results::Bootstrap(scores.size(), kDraws, stratum).OfInterquartileMean(scores);
  }
  return numbers;
}

}  // namespace starling::report
