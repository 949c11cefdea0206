// End to end: environment steps that become applied gradients, per second, over real processes.
#include <fmt/format.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "bench/figure.h"
#include "bench/training_run.h"
#include "fleet/summary.h"

namespace starling::bench {
namespace {

constexpr double kWanted = 80'000;  // of two actors with 64 envs each

}  // namespace

Result MeasureThroughput(const Site& site) {
  Result result;
  nlohmann::ordered_json json;
  for (const int envs : {64, 32}) {
    const TrainingRun run(
        site, {.name = fmt::format("throughput-2x{}x5", envs),
               .overrides = {"actors.count=2", "actors.unroll=5",
                             fmt::format("actors.envs_per_actor={}", envs),
                             fmt::format("run.steps={}", site.quick ? 100'000 : 1'500'000)},
               .timeout_s = 300});
    Row row{.what = fmt::format("End to end, 2 actors × {} envs × 5 steps", envs),
            .measured = fmt::format("{} steps/s", fleet::Grouped(static_cast<std::uint64_t>(
                                                      std::llround(run.steps_per_second))))};
    if (envs == 64) {
      row.wanted = "≥ 80,000 steps/s on two cores";
      if (!site.quick) row.holds = run.steps_per_second >= kWanted;
    }
    result.rows.push_back(row);
    json[fmt::format("2x{}x5", envs)] = {{"steps", run.steps},
                                         {"steps_per_second", run.steps_per_second},
                                         {"mean_staleness", run.mean_staleness},
                                         {"max_staleness", run.max_staleness}};
  }
  result.json = json.dump();
  return result;
}

}  // namespace starling::bench
