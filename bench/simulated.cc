// Compares a fleet in virtual time with the real one: steps per second and the staleness of
// gradients, with the same configuration. The simulation takes its times from a real run of one
// actor.
//
// Envs keep a pace (configs/paced.toml), so that sixteen actors do not compete for the cores: a
// simulated actor has a core of its own.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "bench/figure.h"
#include "bench/training_run.h"
#include "core/config/config.h"
#include "core/file.h"
#include "core/text.h"
#include "results/summary.h"

namespace starling::bench {
namespace {

using Json = nlohmann::ordered_json;
using Counts = std::vector<double>;

constexpr double kWithin = 0.15;  // largest error of the throughput and of the histogram
constexpr double kSeconds = 8, kQuickSeconds = 1;

struct Fleet {
  int actors = 1;
  const char* bound = "";
  std::string Name() const { return fmt::format("{}-bound-{}", actors, bound); }
};

// The settings of both runs, with so many steps that the pace alone takes a few seconds.
std::vector<std::string> Settings(const Site& site, const Fleet& fleet) {
  const Config paced = LoadConfig(site.shipped / "paced.toml");
  const double steps_per_second =
      1000 / paced.env.step_ms * static_cast<double>(paced.actors.envs_per_actor);
  const double steps = steps_per_second * fleet.actors * (site.quick ? kQuickSeconds : kSeconds);
  return {fmt::format("actors.count={}", fleet.actors),
          fmt::format("staleness.bound={}", fleet.bound),
          fmt::format("run.steps={}", std::llround(steps))};
}

Counts HistogramOf(const TrainingRun& run) {
  const Json summary = Json::parse(ReadFile(run.dir() / "summary.json"));
  return summary.at("staleness").at("histogram").get<Counts>();
}

// The area under both of two histograms, each normalised to 1.
double Shared(Counts a, Counts b) {
  const std::size_t size = std::max(a.size(), b.size());
  double sum_a = 0, sum_b = 0, shared = 0;
  for (const double count : a) sum_a += count;
  for (const double count : b) sum_b += count;
  if (sum_a == 0 || sum_b == 0) return 0;
  a.resize(size), b.resize(size);
  for (std::size_t i = 0; i < size; ++i) shared += std::min(a[i] / sum_a, b[i] / sum_b);
  return shared;
}

Json Both(const TrainingRun& run, const Counts& histogram) {
  return {{"steps_per_second", run.steps_per_second},
          {"mean_staleness", run.mean_staleness},
          {"histogram", histogram}};
}

Row Compare(const Site& site, const Fleet& fleet, const TrainingRun& times, Json& json) {
  // 1. Run the same settings for real and in virtual time.
  const std::vector<std::string> settings = Settings(site, fleet);
  const auto config = site.shipped / "paced.toml";
  const TrainingRun real(site,
                         {.name = "real-" + fleet.Name(), .overrides = settings, .config = config});
  const TrainingRun simulated(site, {.name = "simulated-" + fleet.Name(),
                                     .overrides = settings,
                                     .config = config,
                                     .command = "simulate",
                                     .words = {"--times-from", times.dir().string()}});
  // 2. Compare throughput and staleness.
  const double ratio = simulated.steps_per_second / real.steps_per_second;
  const Counts a = HistogramOf(simulated), b = HistogramOf(real);
  const double shared = Shared(a, b);
  json[fleet.Name()] = {{"real", Both(real, b)},
                        {"simulated", Both(simulated, a)},
                        {"ratio", ratio},
                        {"histograms_share", shared}};
  Row row{.what = fmt::format("Simulated beside real, {}, bound {}",
                              Plural(static_cast<std::size_t>(fleet.actors), "actor"), fleet.bound),
          .measured = fmt::format(
              "{} / {} steps/s = {:.2f}; staleness mean {:.2f} / {:.2f}, histograms share {:.0f} %",
              Rounded(simulated.steps_per_second), Rounded(real.steps_per_second), ratio,
              simulated.mean_staleness, real.mean_staleness, 100 * shared),
          .wanted = "throughput within 15 %, histograms share ≥ 85 %"};
  if (!site.quick) row.holds = std::abs(ratio - 1) <= kWithin && shared >= 1 - kWithin;
  return row;
}

}  // namespace

Result MeasureSimulated(const Site& site) {
  Result result;
  Json json;
  std::vector<std::string> one = Settings(site, {.actors = 1, .bound = "unbounded"});
  one.emplace_back("updates.in_flight=1");  // then waits reveal the travel time of messages
  const TrainingRun times(
      site,
      {.name = "times-of-one-actor", .overrides = one, .config = site.shipped / "paced.toml"});
  for (const int actors : {1, 4, 16}) {
    for (const char* bound : {"0", "4", "unbounded"}) {
      result.rows.push_back(Compare(site, {actors, bound}, times, json));
    }
  }
  result.json = json.dump();
  return result;
}

}  // namespace starling::bench
