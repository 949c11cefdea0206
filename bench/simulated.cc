// Compares a fleet in virtual time with the real one: steps per second and the staleness of
// gradients, with the same configuration. The simulation takes its times from a real run of one
// actor.
//
// Envs keep a pace (configs/paced.toml), so that sixteen actors do not compete for the cores: a
// simulated actor has a core of its own.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "bench/figure.h"
#include "bench/training_run.h"
#include "core/config/config.h"
#include "core/text.h"

namespace starling::bench {
namespace {

using Counts = std::vector<std::uint64_t>;

constexpr double kWithin = 0.15;  // largest error of the throughput and of the histogram

// A run with so many steps that the pace alone takes a few seconds.
TrainingPlan Plan(const Site& site, const std::string& name, int actors, const std::string& bound) {
  const auto config = site.shipped / "paced.toml";
  const Config paced = LoadConfig(config);
  const double steps_per_second =
      1000 / paced.env.step_ms * static_cast<double>(paced.actors.envs_per_actor);
  const double steps = steps_per_second * actors * (site.quick ? 1 : 8);
  return {.name = name,
          .overrides = {Set("actors.count", actors), Set("staleness.bound", bound),
                        Set("run.steps", std::llround(steps))},
          .config = config};
}

// The area under both of two histograms, each normalised to 1.
double Shared(const Counts& a, const Counts& b) {
  const auto total = [](const Counts& counts) {
    return static_cast<double>(std::accumulate(counts.begin(), counts.end(), std::uint64_t{0}));
  };
  if (total(a) == 0 || total(b) == 0) return 0;
  double shared = 0;
  for (std::size_t i = 0; i < std::min(a.size(), b.size()); ++i) {
    shared += std::min(static_cast<double>(a[i]) / total(a), static_cast<double>(b[i]) / total(b));
  }
  return shared;
}

Json JsonOf(const TrainingRun& run) {
  Json json = run.Numbers();
  json["histogram"] = run.status.staleness.histogram;
  return json;
}

// Runs the same settings for real and in virtual time, and compares throughput and staleness.
void Compare(const Site& site, int actors, const std::string& bound, const TrainingRun& times,
             Result& result) {
  const std::string name = fmt::format("{}-bound-{}", actors, bound);
  TrainingPlan plan = Plan(site, "simulated-" + name, actors, bound);
  plan.command = "simulate";
  plan.words = {"--times-from", times.dir().string()};
  const TrainingRun simulation(site, plan);
  const TrainingRun real_run(site, Plan(site, "real-" + name, actors, bound));
  const learner::RunStatus &simulated = simulation.status, &real = real_run.status;

  const double ratio = simulated.steps_per_second / real.steps_per_second;
  const double shared = Shared(simulated.staleness.histogram, real.staleness.histogram);
  result.json[name] = {{"real", JsonOf(real_run)},
                       {"simulated", JsonOf(simulation)},
                       {"ratio", ratio},
                       {"histograms_share", shared}};
  result.rows.push_back(
      {.what = fmt::format("Simulated beside real, {}, bound {}",
                           Plural(static_cast<std::size_t>(actors), "actor"), bound),
       .measured = fmt::format(
           "{} / {} steps/s = {:.2f}; staleness mean {:.2f} / {:.2f}, histograms share {:.0f} %",
           Rounded(simulated.steps_per_second), Rounded(real.steps_per_second), ratio,
           simulated.staleness.mean, real.staleness.mean, 100 * shared),
       .wanted = "throughput within 15 %, histograms share ≥ 85 %",
       .holds = site.Judged(std::abs(ratio - 1) <= kWithin && shared >= 1 - kWithin)});
}

}  // namespace

Result MeasureSimulated(const Site& site) {
  Result result;
  TrainingPlan one = Plan(site, "times-of-one-actor", 1, "unbounded");
  one.overrides.emplace_back(
      "updates.in_flight=1");  // then waits reveal the travel time of messages
  const TrainingRun times(site, one);
  for (const int actors : {1, 4, 16}) {
    for (const char* bound : {"0", "4", "unbounded"}) Compare(site, actors, bound, times, result);
  }
  return result;
}

}  // namespace starling::bench
