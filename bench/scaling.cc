// Measures the growth of the rate with the number of actors on one machine, with many games per
// actor and with one, as in the A3C paper, which makes many small gradients.
#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "bench/figure.h"
#include "bench/training_run.h"
#include "core/text.h"
#include "results/summary.h"

namespace starling::bench {
namespace {

constexpr double kWantedUpdates = 4000;  // a second, of two actors with one env each

struct ScalingShape {
  int envs = 1;
  std::uint64_t steps, quick_steps;  // about four seconds, and half a second
  bool counts_updates = false;       // the row shows updates, not steps
};

Row Measure(const Site& site, const ScalingShape& shape, nlohmann::ordered_json& json) {
  Row row{.what = fmt::format("Scaling, {} env{} × 5 steps, 1 / 2 / 4 / 8 actors", shape.envs,
                              shape.envs > 1 ? "s" : "")};
  // One run for each number of actors; that of two is judged.
  for (const int actors : {1, 2, 4, 8}) {
    const TrainingRun run(
        site,
        {.name = fmt::format("scaling-{}x{}x5", actors, shape.envs),
         .overrides = {fmt::format("actors.count={}", actors), "actors.unroll=5",
                       fmt::format("actors.envs_per_actor={}", shape.envs),
                       fmt::format("run.steps={}", site.quick ? shape.quick_steps : shape.steps)},
         .timeout_s = 300});
    const double rate = shape.counts_updates ? run.updates_per_second : run.steps_per_second;
    row.measured += fmt::format("{}{}", actors > 1 ? " / " : "", Rounded(rate));
    if (shape.counts_updates && actors == 2 && !site.quick) row.holds = rate >= kWantedUpdates;
    json[fmt::format("{}x{}x5", actors, shape.envs)] = {
        {"steps_per_second", run.steps_per_second},
        {"updates_per_second", run.updates_per_second},
        {"mean_staleness", run.mean_staleness}};
  }
  row.measured += shape.counts_updates ? " updates/s" : " steps/s";
  if (shape.counts_updates) {
    row.wanted = fmt::format("2 actors: ≥ {} updates/s on two cores", Rounded(kWantedUpdates));
  }
  return row;
}

}  // namespace

Result MeasureScaling(const Site& site) {
  nlohmann::ordered_json json;
  const Row wide = Measure(site, {.envs = 64, .steps = 500'000, .quick_steps = 30'000}, json);
  const Row narrow = Measure(
      site, {.envs = 1, .steps = 80'000, .quick_steps = 4'000, .counts_updates = true}, json);
  return {.rows = {wide, narrow}, .json = json.dump()};
}

}  // namespace starling::bench
