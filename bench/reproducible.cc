// Checks that with staleness.bound = 0 the same seed gives the same weights, bit for bit, and that
// another seed gives others.
#include <fmt/format.h>

#include <cstring>
#include <nlohmann/json.hpp>

#include "bench/figure.h"
#include "bench/training_run.h"
#include "core/safetensors.h"
#include "core/text.h"
#include "results/summary.h"

namespace starling::bench {
namespace {

constexpr int kMirroredActors = 5;

struct Comparison {
  std::size_t values = 0, different = 0;
};

// Compares bits: 0 and -0 differ, a NaN equals itself.
Comparison Compare(const SafetensorsFile& a, const SafetensorsFile& b) {
  if (a.names() != b.names()) throw std::runtime_error("two checkpoints hold different tensors");
  Comparison result;
  for (const std::string& name : a.names()) {
    const std::vector<float> x = a.F32(name), y = b.F32(name);
    if (x.size() != y.size()) throw std::runtime_error(name + " has two sizes");
    result.values += x.size();
    for (std::size_t i = 0; i < x.size(); ++i) {
      result.different += std::memcmp(&x[i], &y[i], sizeof(float)) != 0 ? 1 : 0;
    }
  }
  return result;
}

SafetensorsFile Train(const Site& site, const std::string& name, int seed) {
  const TrainingRun run(
      site, {.name = "reproducible-" + name,
             .overrides = {"staleness.bound=0", fmt::format("actors.count={}", kMirroredActors),
                           fmt::format("run.seed={}", seed),
                           fmt::format("run.steps={}", site.quick ? 20'000 : 200'000)}});
  return SafetensorsFile::Read(run.FinalCheckpoint());
}

}  // namespace

Result MeasureReproducible(const Site& site) {
  const SafetensorsFile first = Train(site, "first", 1);
  const Comparison again = Compare(first, Train(site, "again", 1));
  const Comparison other = Compare(first, Train(site, "other-seed", 2));
  const bool same = again.values > 0 && again.different == 0 && other.different > 0;
  const Row row{
      .what = fmt::format("Bound 0, {} actors, same seed twice: final weights and optimizer state",
                          kMirroredActors),
      .measured = again.different == 0
                      ? fmt::format("identical ({} values; with another seed {} differ)",
                                    Grouped(again.values), Grouped(other.different))
                      : fmt::format("{} of {} values differ", again.different, again.values),
      .wanted = "identical bit for bit",
      .holds = same};
  const nlohmann::ordered_json json{{"values", again.values},
                                    {"different", again.different},
                                    {"different_with_another_seed", other.different}};
  return {.rows = {row}, .json = json.dump(), .broken = !same};
}

}  // namespace starling::bench
