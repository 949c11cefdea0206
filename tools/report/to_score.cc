#include "tools/report/to_score.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>
#include <set>

#include "core/config/nearest.h"
#include "core/error.h"
#include "core/text.h"
#include "monitor/progress.h"
#include "results/statistics.h"
#include "tools/report/html.h"
#include "tools/report/tables.h"

namespace starling::report {
namespace {

constexpr std::uint64_t kEpisodes = 100;
constexpr double kNever = std::numeric_limits<double>::infinity();

// The median, or nothing if that is never.
std::optional<double> MedianOrNever(std::vector<double> values) {
  std::ranges::sort(values);
  const double low = values[(values.size() - 1) / 2], high = values[values.size() / 2];
  return high < kNever ? std::optional((low + high) / 2) : std::nullopt;
}

// "8.31, 9.02, never": by seed, as the runs are.
std::string EachOf(const std::vector<const results::LoadedRun*>& runs, double score) {
  std::string each;
  for (const results::LoadedRun* run : runs) {
    const ToScore time = TimeTo(score, *run);
    each += each.empty() ? "" : ", ";
    each += !time.known ? "unknown" : time.reached ? SecondsText(time.reached->seconds) : "never";
  }
  return each;
}

std::string Row(const Group& group, double score) {
  const std::vector<const results::LoadedRun*> finished = group.Finished();
  const GroupToScore time = TimeTo(score, finished);
  const std::size_t unknown = finished.size() - time.known;
  const std::string never = time.known > 0 ? "never" : "–";
  return "<tr>" + GroupCell(group) + Cell(fmt::format("{:g}", score)) +
         Cell(fmt::format("{} of {}{}", time.reached, time.known,
                          unknown > 0 ? fmt::format(" ({} without a curve)", unknown) : "")) +
         Cell(time.median ? HumanCount(time.median->steps) : never) +
         Cell(time.median ? SecondsText(time.median->seconds) : never) +
         Cell(EachOf(finished, score), "long") + "</tr>\n";
}

}  // namespace

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

void Targets::Check(const std::vector<const results::LoadedRun*>& runs) const {
  std::set<std::string> envs;
  for (const results::LoadedRun* run : runs) {
    if (!run->config.empty()) envs.insert(Plain(run->Key("env.name")));
  }
  const std::vector<std::string> known(envs.begin(), envs.end());
  for (const auto& [env, score] : by_env_) {
    if (envs.contains(env)) continue;
    throw UserError(fmt::format("--score {}={:g}: none of these runs is in {}; they are in {}{}",
                                env, score, env, fmt::join(known, ", "), DidYouMean(env, known)));
  }
}

std::optional<double> Targets::For(const std::string& env) const {
  const auto own = by_env_.find(env);
  return own == by_env_.end() ? all_ : own->second;
}

ToScore TimeTo(double score, const results::LoadedRun& run) {
  // One that ended before a hundred episodes did was too short for the score.
  ToScore time{.known = !run.metrics.empty()};
  std::optional<results::MetricPoint> before;  // the last one below the score
  for (const results::MetricPoint& point : run.metrics) {
    if (!point.mean_return || point.episodes.value_or(kEpisodes) < kEpisodes) continue;
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

std::string ToScoreTable(const std::vector<Group>& groups, const Targets& targets) {
  std::string rows;
  for (const Group& group : groups) {
    if (const auto score = targets.For(group.Env())) rows += Row(group, *score);
  }
  if (rows.empty()) return "";
  return Table(Head({"group"}, 1) +
                   Head({"score", "reached by", "median steps", "median seconds"}, 0) +
                   Head({"each run, seconds"}, 1),
               rows);
}

std::string SecondsText(double seconds) {
  const int decimals = seconds < 9.995 ? 2 : seconds < 99.95 ? 1 : 0;
  return seconds < 99'999.5 ? fmt::format("{:.{}f}", seconds, decimals) : HumanCount(seconds);
}

}  // namespace starling::report
