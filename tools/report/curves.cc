#include <algorithm>
#include <cmath>

#include "core/check.h"
#include "monitor/svg/plot.h"
#include "results/statistics.h"
#include "tools/report/curves.h"

namespace starling::report {
namespace {

constexpr std::size_t kBandDraws = 1000;  // for a band; fewer than for the table of results

// Appends a sample; of two with the same x the later one stays.
void Append(Samples& samples, Sample sample) {
  if (!samples.empty() && samples.back().x >= sample.x) samples.pop_back();
  samples.push_back(sample);
}

template <class X>
Samples Returns(const results::LoadedRun& run, X x) {
  Samples samples;
  for (const results::MetricPoint& point : run.metrics) {
    if (point.mean_return) Append(samples, {x(point), *point.mean_return});
  }
  return samples;
}

}  // namespace

Samples ReturnBySteps(const results::LoadedRun& run) {
  return Returns(run, [](const results::MetricPoint& point) { return point.steps; });
}

Samples ReturnBySeconds(const results::LoadedRun& run) {
  return Returns(run, [](const results::MetricPoint& point) { return point.seconds; });
}

Samples EvaluationBySteps(const results::LoadedRun& run) {
  Samples samples;
  for (const results::EvalLine& line : run.evals) {
    Append(samples, {static_cast<double>(line.steps), line.mean_return});
  }
  return samples;
}

Samples Throughput(const results::LoadedRun& run, double window_s) {
  Samples steps;
  for (const results::MetricPoint& point : run.metrics) Append(steps, {point.seconds, point.steps});
  if (steps.size() < 2) return {};
  const double begin = steps.front().x, time = steps.back().x - begin;
  const double most = static_cast<double>(steps.size() - 1);
  const auto parts = static_cast<std::size_t>(std::clamp(std::round(time / window_s), 1.0, most));
  const double part = time / static_cast<double>(parts);
  Samples rates;
  for (std::size_t i = 0; i < parts; ++i) {
    const double from = begin + static_cast<double>(i) * part, to = from + part;
    rates.push_back({(from + to) / 2, (At(steps, to) - At(steps, from)) / part});
  }
  return rates;
}

double At(const Samples& samples, double x) {
  CHECK(!samples.empty());
  const auto after = std::ranges::lower_bound(samples, x, {}, &Sample::x);
  if (after == samples.begin()) return samples.front().y;
  if (after == samples.end()) return samples.back().y;
  const Sample& before = *(after - 1);
  return std::lerp(before.y, after->y, (x - before.x) / (after->x - before.x));
}

Samples Thinned(const Samples& samples, std::size_t most) {
  CHECK(most >= 2, "{}", most);
  if (samples.size() <= most) return samples;
  Samples thin;
  for (std::size_t i = 0; i < most; ++i) {
    thin.push_back(samples[i * (samples.size() - 1) / (most - 1)]);
  }
  return thin;
}

GroupCurve Across(const std::vector<Samples>& runs, std::size_t points, std::uint32_t stratum) {
  // 1. Find the range of x that all runs with samples cover.
  std::vector<const Samples*> some;
  for (const Samples& run : runs) {
    if (!run.empty()) some.push_back(&run);
  }
  if (some.empty()) return {};
  double begin = some.front()->front().x, end = some.front()->back().x;
  std::size_t longest = 0;
  for (const Samples* run : some) {
    begin = std::max(begin, run->front().x);
    end = std::min(end, run->back().x);
    longest = std::max(longest, run->size());
  }
  if (end < begin) return {};
  // 2. Take the mean and the interval at evenly spaced places in it.
  const std::size_t places = end > begin ? std::clamp<std::size_t>(longest, 2, points) : 1;
  const results::Bootstrap bootstrap(some.size(), kBandDraws, stratum);
  GroupCurve curve;
  for (std::size_t i = 0; i < places; ++i) {
    const double share = places > 1 ? static_cast<double>(i) / static_cast<double>(places - 1) : 0;
    const double x = std::lerp(begin, end, share);
    std::vector<double> values;
    for (const Samples* run : some) values.push_back(At(*run, x));
    curve.middle.push_back({x, results::InterquartileMean(values)});
    if (some.size() == 1) continue;
    const results::Interval interval = bootstrap.OfInterquartileMean(values);
    curve.low.push_back(interval.low);
    curve.high.push_back(interval.high);
  }
  return curve;
}

}  // namespace starling::report
