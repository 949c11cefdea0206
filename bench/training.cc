// Measures score and duration of training: the shipped Breakout configuration with three seeds,
// evaluated on fresh episodes.
#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "bench/figure.h"
#include "bench/stats.h"
#include "bench/training_run.h"
#include "core/text.h"
#include "results/summary.h"

namespace starling::bench {
namespace {

constexpr std::uint64_t kSeeds = 3;
constexpr int kEpisodes = 100;
constexpr double kWantedMedian = 20, kWantedMin = 15, kWantedSeconds = 90;

}  // namespace

Result MeasureTraining(const Site& site) {
  // 1. Train and evaluate every seed.
  const std::uint64_t steps = site.quick ? 50'000 : 5'000'000;
  std::vector<double> returns, seconds, rates;
  for (std::uint64_t seed = 1; seed <= kSeeds; ++seed) {
    const TrainingRun run(
        site, {.name = fmt::format("training-seed-{}", seed),
               .overrides = {fmt::format("run.seed={}", seed), fmt::format("run.steps={}", steps)},
               .timeout_s = 900,
               .config = site.shipped / "breakout.toml"});
    returns.push_back(Evaluate(site, run, kEpisodes));
    seconds.push_back(run.seconds);
    rates.push_back(run.steps_per_second);
    Tell(fmt::format("  return {:.1f} after {:.1f} s", returns.back(), seconds.back()));
  }

  // 2. Judge the median and the worst.
  const double median = Median(returns), slowest = Most(seconds);
  Row learned{
      .what = fmt::format("Breakout, {} steps, seeds 1–{}: mean return of {} fresh episodes",
                          Grouped(steps), kSeeds, kEpisodes),
      .measured = fmt::format("median {:.1f} ({})", median, Listed(returns)),
      .wanted = "median ≥ 20, none below 15"};
  Row lasted{.what = "… wall time of each run, start and end included",
             .measured = Listed(seconds) + " s",
             .wanted = "≤ 90 s on two cores"};
  if (!site.quick) {
    learned.holds = median >= kWantedMedian && Least(returns) >= kWantedMin;
    lasted.holds = slowest <= kWantedSeconds;
  }
  const nlohmann::ordered_json json{{"steps", steps},     {"episodes", kEpisodes},
                                    {"returns", returns}, {"median", median},
                                    {"seconds", seconds}, {"steps_per_second", rates}};
  return {.rows = {learned, lasted}, .json = json.dump()};
}

}  // namespace starling::bench
