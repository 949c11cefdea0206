// One actor on a GPU, by itself: steps a second for numbers of envs and steps, in each precision.
#include <fmt/format.h>

#include "bench/actor_speed.h"
#include "bench/gpu_rows.h"
#include "core/config/config.h"
#include "core/text.h"

namespace starling::bench {
namespace {

// Measures all cases: a line of the details each, the fastest in the row. A case that does not fit
// on the GPU has a line with the reason.
void AddActors(GpuRows& rows, const std::string& key, const std::string& what,
               const std::vector<ActorCase>& cases, double wanted = 0) {
  Row empty{.what = what};
  if (wanted > 0) empty.wanted = fmt::format("≥ {} steps/s", Rounded(wanted));
  rows.Add(key, std::move(empty), [&](Row& row) {
    double best = 0;
    Json json;
    for (const ActorCase& one : cases) {
      Tell(one.what);
      try {
        const ActorSpeed speed = MeasureActor(one.config, rows.site().quick ? 0.1 : 2);
        rows.details() += Line({one.what, Rounded(speed.steps_per_second),
                                fmt::format("{} to {}", Rounded(speed.least), Rounded(speed.most)),
                                fmt::format("{:.0f}", 100 * speed.act),
                                fmt::format("{:.0f}", 100 * speed.gradient),
                                fmt::format("{:.0f}", 100 * speed.busy)});
        json[one.key] = {{"steps_per_second", speed.steps_per_second},
                         {"least", speed.least},
                         {"most", speed.most},
                         {"act", speed.act},
                         {"gradient", speed.gradient},
                         {"busy", speed.busy}};
        if (speed.steps_per_second <= best) continue;
        best = speed.steps_per_second;
        row.measured = fmt::format("{} steps/s: {}", Rounded(best), one.what);
      } catch (const std::exception& error) {  // such as no room on it; the others are measured
        rows.details() +=
            Line({one.what, fmt::format("not measured: {}", error.what()), "", "", "", ""});
        json[one.key] = {{"not_measured", error.what()}};
        if (dynamic_cast<const UserError*>(&error) == nullptr) rows.Broken(error);
      }
    }
    if (wanted > 0) row.holds = rows.site().Judged(best >= wanted);
    return json;
  });
}

}  // namespace

Result MeasureGpuActors(const Site& site) {
  GpuRows rows(site);
  const Config minatar = LoadConfig(site.config);
  if (rows.has_gpu()) {
    rows.details() +=
        "One actor by itself, Breakout with the net of the MinAtar paper, medians of five parts; "
        "busy: the share of the time in which the GPU works on an unroll or a gradient:\n\n" +
        Head({"actor", "steps/s", "of the parts", "% acting", "% gradient", "% busy"});
  }
  const struct {
    Precision precision;
    double wanted;
  } precisions[] = {{Precision::kF32, 20e6}, {Precision::kTf32, 30e6}, {Precision::kBf16, 0}};
  for (const auto& [precision, wanted] : precisions) {
    AddActors(rows, NameOf(precision),
              fmt::format("One actor, net and games on a GPU, Breakout, {}: the best shape",
                          NameOf(precision)),
              CasesOnGpu(minatar, precision, site.quick), wanted);
  }
  AddActors(rows, "staged", "… f32, its games on one core", CasesStaged(minatar, site.quick));
  AddActors(rows, "processor", "… net, too, on one core", {CaseOnProcessor(minatar)});
  return rows.Take();
}

}  // namespace starling::bench
