// Measures runs without a learner beside runs with one, at bound 0: the same updates, so the same
// bits, exchanged by MPI or pushed to a learner.
#include <fmt/format.h>

#include <array>
#include <string>
#include <vector>

#include "bench/figure.h"
#include "bench/stats.h"
#include "bench/training_run.h"
#include "core/text.h"

namespace starling::bench {
namespace {

constexpr int kMirrorRounds = 3;

struct Fleet {
  std::string config;  // of the shipped ones
  int actors = 0;
  std::uint64_t steps = 0;
  double wanted = 0;  // speed without a learner, of that with one
};

Row MeasureFleet(const Site& site, const Fleet& fleet, Json& json) {
  std::array<std::vector<double>, 2> rates;
  for (int round = 0; round < (site.quick ? 1 : kMirrorRounds); ++round) {
    for (const bool mirrored : {false, true}) {
      const char* exchange = mirrored ? "allreduce" : "learner";
      TrainingPlan plan{
          .name = fmt::format("mirrored-{}-{}-{}", fleet.config, fleet.actors, exchange),
          .overrides = {"staleness.bound=0", Set("actors.count", fleet.actors),
                        Set("updates.exchange", exchange),
                        Set("run.steps", site.quick ? fleet.steps / 20 : fleet.steps)},
          .config = site.shipped / (fleet.config + ".toml")};
      const TrainingRun run(site, plan);
      rates[mirrored ? 1 : 0].push_back(run.SteadyRate());
      Json numbers = run.Numbers();
      numbers.update({{"config", fleet.config},
                      {"actors", fleet.actors},
                      {"exchange", exchange},
                      {"steps_per_second", run.SteadyRate()}});
      json["runs"].push_back(std::move(numbers));
    }
  }
  const double learner = Median(rates[0]), mirrored = Median(rates[1]);
  return {.what = fmt::format("Steps/s at bound 0, {}, {} actors: a learner, without one",
                              fleet.config, fleet.actors),
          .measured = fmt::format("{}, {} = {:.2f} ×", Rounded(learner), Rounded(mirrored),
                                  mirrored / learner),
          .wanted = fmt::format("≥ {}", fleet.wanted),
          .holds = site.Judged(mirrored >= fleet.wanted * learner)};
}

}  // namespace

Result MeasureMirrored(const Site& site) {
  Result result;
  if (!HasRanks(site)) {
    result.rows.push_back({.what = "Steps/s without a learner",
                           .measured = "not measured: there is no mpirun, or no starling-rank "
                                       "(scripts/setup --mpi, scripts/build)"});
    return result;
  }
  for (const Fleet& fleet : {Fleet{"breakout", 2, 400'000, 0.9}, Fleet{"breakout", 4, 400'000, 0.9},
                             Fleet{"paced", 16, 60'000, 1}}) {
    result.rows.push_back(MeasureFleet(site, fleet, result.json));
  }
  return result;
}

}  // namespace starling::bench
