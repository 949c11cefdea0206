// Measures score and duration of training: the shipped Breakout configuration with three seeds,
// evaluated on fresh episodes.
#include <fmt/format.h>

#include "bench/figure.h"
#include "bench/stats.h"
#include "bench/training_run.h"
#include "core/text.h"

namespace starling::bench {

Result MeasureTraining(const Site& site) {
  constexpr int kEpisodes = 100;
  // 1. Train and evaluate every seed.
  std::uint64_t steps = 0;
  std::vector<double> returns, seconds, rates;
  ForEachRun(site, {.file = "training.toml", .quick_steps = 50'000},
             [&](const Config& config, const TrainingRun& run) {
               steps = config.run.steps;
               returns.push_back(Evaluate(site, run, kEpisodes));
               seconds.push_back(run.seconds);
               rates.push_back(run.status.steps_per_second);
               Tell(fmt::format("  return {:.1f} after {:.1f} s", returns.back(), seconds.back()));
             });
  // 2. Judge the median and the worst.
  const double median = Median(returns);
  return {
      .rows = {{.what =
                    fmt::format("Breakout, {} steps, seeds 1–{}: mean return of {} fresh episodes",
                                Grouped(steps), returns.size(), kEpisodes),
                .measured = fmt::format("median {:.1f} ({:.1f})", median, fmt::join(returns, ", ")),
                .wanted = "median ≥ 20, none below 15",
                .holds = site.Judged(median >= 20 && Least(returns) >= 15)},
               {.what = "… wall time of each run, start and end included",
                .measured = fmt::format("{:.1f} s", fmt::join(seconds, ", ")),
                .wanted = "≤ 90 s on two cores",
                .holds = site.Judged(Most(seconds) <= 90)}},
      .json = {{"steps", steps},
               {"episodes", kEpisodes},
               {"returns", returns},
               {"median", median},
               {"seconds", seconds},
               {"steps_per_second", rates}}};
}

}  // namespace starling::bench
