#include "tools/report/groups.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>
#include <set>

#include "core/error.h"
#include "core/text.h"
#include "results/summary.h"

namespace starling::report {
namespace {

constexpr double kNever = std::numeric_limits<double>::infinity();

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

// Returns the median, or nullopt if it is never. Not results::Median, which interpolates between a
// number and infinity and gets NaN.
std::optional<double> MedianOrNever(std::vector<double> values) {
  std::ranges::sort(values);
  const double low = values[(values.size() - 1) / 2], high = values[values.size() / 2];
  return high < kNever ? std::optional((low + high) / 2) : std::nullopt;
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
  if (measure == Measure::kTraining) return "the mean return of its last 100 training episodes";
  if (measure == Measure::kLastEval) return "its last evaluation (eval.jsonl)";
  std::set<std::int64_t> episodes;
  std::set<bool> greedy;
  for (const results::LoadedRun& run : runs) {
    if (!run.counts()) continue;
    episodes.insert(run.final_eval->played.episodes);
    greedy.insert(run.final_eval->played.greedy);
  }
  std::string count = fmt::format("{}", *episodes.begin());
  if (episodes.size() > 1) count += fmt::format(" to {}", *episodes.rbegin());
  const char* how = greedy.size() > 1 ? ", some greedily, some not"
                    : *greedy.begin() ? " greedily"
                                      : "";
  return fmt::format("the mean return of {} episodes that its final weights played{}", count, how);
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
  // 1. Speed, and what limits it.
  std::vector<double> rates;
  learner::TimeStatus time;  // the shares of every run have the same weight
  for (const results::LoadedRun* run : finished) {
    rates.push_back(run->summary->steps_per_second);
    time = results::Sum(time, run->summary->time, 1);
    if (const auto score = ScoreOf(*run, measure)) numbers.scores.push_back(*score);
  }
  numbers.steps_per_second = results::Mean(rates);
  numbers.bottleneck = results::NameBottleneck(time);
  // 2. Returns. An interval needs two of them.
  const std::vector<double>& scores = numbers.scores;
  if (scores.empty()) return numbers;
  numbers.returns = results::SpreadOf(scores);
  if (scores.size() > 1) {
    numbers.interval =
        results::Bootstrap(scores.size(), results::kDraws, stratum).OfInterquartileMean(scores);
  }
  return numbers;
}

void Targets::Add(const std::string& word) {
  const std::size_t equals = word.rfind('=');
  const std::size_t begin = equals == std::string::npos ? 0 : equals + 1;
  double score = 0;
  const char* const end = word.data() + word.size();
  const auto [stop, error] = std::from_chars(word.data() + begin, end, score);
  if (error != std::errc() || stop != end || !results::IsPlausible(score)) {
    throw UserError(fmt::format(
        "--score {}: no number; write a return, --score 10, or that of one environment, --score "
        "minatar/breakout=10",
        word));
  }
  if (begin == 0) {
    all_ = score;
  } else {
    by_env_[word.substr(0, equals)] = score;
  }
}

void Targets::Check(const std::vector<std::string>& envs) const {
  for (const auto& [env, score] : by_env_) {
    if (std::ranges::count(envs, env) > 0) continue;
    throw UserError(fmt::format("--score {}={:g}: none of these runs is in {}; they are in {}{}",
                                env, score, env, fmt::join(envs, ", "), DidYouMean(env, envs)));
  }
}

std::optional<double> Targets::For(const std::string& env) const {
  const auto own = by_env_.find(env);
  return own == by_env_.end() ? all_ : own->second;
}

ToScore TimeTo(double score, const results::LoadedRun& run) {
  // A run with a curve but fewer than 100 episodes was too short to reach the score: never.
  ToScore time{.known = !run.metrics.empty()};
  std::optional<results::MetricPoint> before;  // the last point below the score
  for (const results::MetricPoint& point : run.metrics) {
    if (!point.mean_return || point.episodes.value_or(kEpisodesOfReturn) < kEpisodesOfReturn)
      continue;
    if (*point.mean_return < score) {
      before = point;
      continue;
    }
    const results::MetricPoint from = before.value_or(point);
    const double rise = *point.mean_return - *from.mean_return;
    const double share = rise > 0 ? (score - *from.mean_return) / rise : 1;
    time.reached = {std::lerp(from.steps, point.steps, share),
                    std::lerp(from.seconds, point.seconds, share)};
    break;
  }
  return time;
}

GroupToScore TimeTo(double score, const std::vector<const results::LoadedRun*>& runs) {
  GroupToScore group;
  std::vector<double> steps, seconds;
  for (const results::LoadedRun* run : runs) {
    const ToScore time = TimeTo(score, *run);
    if (!time.known) continue;
    ++group.known;
    group.reached += time.reached ? 1 : 0;
    steps.push_back(time.reached ? time.reached->steps : kNever);
    seconds.push_back(time.reached ? time.reached->seconds : kNever);
  }
  if (group.known == 0) return group;
  const auto median_steps = MedianOrNever(steps), median_seconds = MedianOrNever(seconds);
  if (median_steps && median_seconds) group.median = {*median_steps, *median_seconds};
  return group;
}

std::string SecondsText(double seconds) {
  const int decimals = seconds < 9.995 ? 2 : seconds < 99.95 ? 1 : 0;
  return seconds < 99'999.5 ? fmt::format("{:.{}f}", seconds, decimals) : HumanCount(seconds);
}

}  // namespace starling::report
