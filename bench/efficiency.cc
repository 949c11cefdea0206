// Measures how well many actors share one learner where the cores are not the limit: real runs of
// configs/paced.toml, whose envs take a fixed time a step, over ipc and tcp, with and without
// jitter, at three bounds.
#include <fmt/format.h>

#include <algorithm>

#include "bench/efficiency_points.h"
#include "bench/training_run.h"
#include "core/config/config.h"
#include "core/text.h"
#include "results/summary.h"

namespace starling::bench {
namespace {

constexpr double kJitter = 0.2;
constexpr const char* kConfig = "paced.toml";

struct Extent {
  std::vector<int> actors;
  double seconds;  // duration of a run in which only the envs take time
  int repeats;     // of the reference runs
};

std::string BoundSetting(std::uint64_t bound) {
  return bound == kUnbounded ? "unbounded" : fmt::format("{}", bound);
}

PacedPoint Run(const Site& site, const Config& config, const PacedWay& way, int actors,
               double seconds, const std::vector<std::string>& more = {}) {
  // 1. Choose so many steps that the envs alone take `seconds`.
  const double steps = seconds * actors * 1000 / config.env.step_ms;
  const bool bounded = way.bound > 0 && way.bound != kUnbounded;
  TrainingPlan plan{
      .name = fmt::format("efficiency-{}-{}-{}-{}", actors, way.wire, BoundSetting(way.bound),
                          way.jitter > 0 ? "jitter" : "even"),
      .overrides = {fmt::format("actors.count={}", actors),
                    fmt::format("env.step_jitter={}", way.jitter),
                    fmt::format("staleness.bound={}", BoundSetting(way.bound)),
                    fmt::format("updates.in_flight={}", bounded ? "2" : "auto"),
                    fmt::format("wire.endpoint={}",
                                way.wire == "tcp" ? "tcp://127.0.0.1:0" : "auto"),
                    fmt::format("run.steps={:.0f}", steps)},
      .timeout_s = 120,
      .config = site.shipped / kConfig};
  plan.overrides.insert(plan.overrides.end(), more.begin(), more.end());
  // 2. Train, and keep the figures of the steady part.
  const TrainingRun run(site, plan);
  return {.way = way,
          .actors = actors,
          .rate = run.SteadyRate(),
          .updates = run.updates,
          .max_staleness = run.max_staleness,
          .mean_staleness = run.mean_staleness,
          .cpu_ms = 1000 * run.cpu_seconds / static_cast<double>(run.applied)};
}

// Returns the run with the median speed.
PacedPoint MedianRun(const Site& site, const Config& config, const PacedWay& way,
                     const Extent& extent) {
  std::vector<PacedPoint> points;
  for (int i = 0; i < extent.repeats; ++i) {
    points.push_back(Run(site, config, way, 1, extent.seconds));
  }
  std::ranges::sort(points, {}, &PacedPoint::rate);
  return points[points.size() / 2];
}

bool IsReference(const PacedWay& way) { return way.bound == kUnbounded && way.jitter == 0; }

PacedRuns MeasureAll(const Site& site, const Config& config, const Extent& extent) {
  PacedRuns runs{.step_ms = config.env.step_ms};
  for (const char* wire : {"ipc", "tcp"}) {
    for (const double jitter : {0.0, kJitter}) {
      for (const std::uint64_t bound : {kUnbounded, std::uint64_t{4}, std::uint64_t{0}}) {
        const PacedWay way{wire, jitter, bound};
        for (const int actors : extent.actors) {
          runs.points.push_back(actors == 1 && IsReference(way)
                                    ? MedianRun(site, config, way, extent)
                                    : Run(site, config, way, actors, extent.seconds));
        }
      }
    }
  }
  return runs;
}

// Other settings at a bound of 4, over ipc with jitter. They are shown, not judged.
std::string OtherChoices(const Site& site, const Config& config, const PacedRuns& runs,
                         const Extent& extent) {
  const PacedWay way{"ipc", kJitter, 4};
  const int actors = extent.actors.back();
  std::string text = fmt::format(
      "\nOther choices at a bound of 4, {} actors over ipc with jitter:\n\n"
      "| updates.gradients | updates.in_flight | steps/s | efficiency | mean staleness |\n"
      "|---|---|---|---|---|\n",
      actors);
  const std::pair<const char*, const char*> choices[] = {
      {"1", "1"}, {"auto", "1"}, {"auto", "2"}, {"8", "1"}};
  for (const auto& [gradients, in_flight] : choices) {
    const PacedPoint point = Run(site, config, way, actors, extent.seconds,
                                 {std::string("updates.gradients=") + gradients,
                                  std::string("updates.in_flight=") + in_flight});
    text += fmt::format("| {} | {} | {} | {:.0f} % | {:.1f} |\n", gradients, in_flight,
                        Rounded(point.rate), 100 * Efficiency(runs, point), point.mean_staleness);
  }
  return text;
}

}  // namespace

Result MeasureEfficiency(const Site& site) {
  const Config config = LoadConfig(site.shipped / kConfig);
  const Extent extent = site.quick ? Extent{{1, 8}, 0.4, 1} : Extent{{1, 2, 4, 8, 16, 32}, 8, 3};
  const PacedRuns runs = MeasureAll(site, config, extent);
  Result result{.rows = EfficiencyRows(runs, !site.quick),
                .details = EfficiencyTable(runs),
                .json = EfficiencyJson(runs),
                .pictures = {{"efficiency.svg", DrawEfficiency(runs)}}};
  if (!site.quick) result.details += OtherChoices(site, config, runs, extent);
  return result;
}

}  // namespace starling::bench
