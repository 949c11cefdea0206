// A real run on a GPU: the cost of a push, and the time to play Breakout well.
#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "bench/gpu_rows.h"
#include "bench/training_run.h"
#include "core/text.h"
#include "results/summary.h"

namespace starling::bench {
namespace {

constexpr double kMaxPush = 0.02;  // share of an actor's time
constexpr double kReturn = 40;     // mean return of the last 100 training episodes
constexpr double kMaxSeconds = 60;

// Adds two rows about one real run.
void AddTraining(GpuRows& rows) {
  const Site& site = rows.site();
  std::optional<TrainingRun> run;
  rows.Add("push",
           {.what = "`starling train` with configs/breakout_gpu.toml: the actor's time for pushing "
                    "gradients (the message; the GPU may compute the next one meanwhile)",
            .wanted = fmt::format("≤ {:.0f} %", 100 * kMaxPush)},
           [&](Row& row) -> Json {
             TrainingPlan plan{.name = "gpu-breakout",
                               .overrides = {},
                               .timeout_s = 600,
                               .config = site.shipped / "breakout_gpu.toml"};
             if (site.quick) plan.overrides.push_back("run.steps=2_000_000");
             run.emplace(site, plan);
             const Json& time = run->summary.at("time").at("actors");
             const double share = time.at("push").get<double>();
             row.measured = fmt::format("{:.2f} % ({} steps/s end to end; {})", 100 * share,
                                        Rounded(run->status.steps_per_second),
                                        run->summary.at("bottleneck").get<std::string>());
             row.holds = site.Judged(share <= kMaxPush);
             return {{"time", time}, {"steps_per_second", run->status.steps_per_second}};
           });
  rows.Add(
      "to_return_40",
      {.what = fmt::format("… from the command to a mean of {:.0f} over 100 training episodes",
                           kReturn),
       .wanted = fmt::format("≤ {:.0f} s", kMaxSeconds)},
      [&](Row& row) -> Json {
        if (!run) throw UserError("there was no such run");
        const double evaluated = Evaluate(site, *run, site.quick ? 10 : 100);
        Json json{
            {"seconds", run->seconds}, {"evaluated", evaluated}, {"steps", run->status.steps}};
        const std::string after = fmt::format("evaluated after {} steps in {:.1f} s: {:.1f}",
                                              Grouped(run->status.steps), run->seconds, evaluated);
        const std::vector<results::MetricPoint> metrics = run->Metrics();
        const auto reached = std::ranges::find_if(metrics, [](const results::MetricPoint& point) {
          return point.mean_return >= kReturn;  // false without an episode
        });
        if (reached == metrics.end()) {
          row.measured = "not reached; " + after;
          row.holds = site.Judged(false);
          return json;
        }
        // The time of the whole command counts, its start and its end included.
        const double wall = reached->seconds + run->seconds - run->status.seconds;
        row.measured = fmt::format("{:.1f} s; {}", wall, after);
        row.holds = site.Judged(wall <= kMaxSeconds);
        json["seconds_to_return"] = wall;
        return json;
      });
}

}  // namespace

Result MeasureGpuTraining(const Site& site) {
  GpuRows rows(site);
  AddTraining(rows);
  return rows.Take();
}

}  // namespace starling::bench
