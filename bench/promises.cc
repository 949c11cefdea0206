// Checks the promises that must hold on any machine: the realised staleness stays within its bound
// for every bound, mode and fleet size, counted by the learner and again from the journal; and with
// a bound of 0 the same seed gives the same weights, bit for bit, another seed others.
#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <set>
#include <span>
#include <stdexcept>

#include "bench/figure.h"
#include "bench/training_run.h"
#include "core/config/config.h"
#include "core/safetensors.h"
#include "core/text.h"
#include "tools/replay/run_journal.h"

namespace starling::bench {
namespace {

struct Realised {
  std::uint64_t applied = 0, max = 0;
};

// Counts the staleness of every applied gradient, from the journal.
Realised FromJournal(const TrainingRun& run) {
  const std::string torn = replay::ScanJournal(run.dir()).torn;
  if (!torn.empty()) throw std::runtime_error(torn);
  Realised realised;
  replay::Updates updates(run.dir());
  while (const auto update = updates.Next()) {
    for (const auto& gradient : update->gradients) {
      if (gradient.samples == 0) {
        throw std::runtime_error("the journal applies a gradient that never arrived");
      }
      realised.max = std::max(realised.max, gradient.staleness);
      ++realised.applied;
    }
  }
  return realised;
}

// Checks a run. Returns its cell of the table; adds its numbers to `json`, and to `broken` if it
// broke its bound.
std::string CheckBound(const Config& config, const TrainingRun& run, Json& json, int& broken) {
  const learner::StalenessStatus& learners = run.status.staleness;
  const Realised counted = FromJournal(run);
  const bool agreed =
      counted.max == learners.max && counted.applied == run.status.gradients.applied;
  const std::uint64_t max = std::max(learners.max, counted.max);
  const bool holds = agreed && max <= config.staleness.bound;
  broken += holds ? 0 : 1;
  json.push_back({{"bound", BoundText(config.staleness.bound)},
                  {"on_exceed", NameOf(config.staleness.on_exceed)},
                  {"actors", config.actors.count},
                  {"max", max},
                  {"journal_agrees", agreed}});
  json.back().update(run.Numbers());
  return fmt::format("{} ({:.1f}){}", max, learners.mean, holds ? "" : " **broken**");
}

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

}  // namespace

Result MeasureStaleness(const Site& site) {
  // 1. A run for each cell of the table: a line for each bound and mode, a column for each fleet.
  Result result{.json = Json::array()};
  int broken = 0;
  std::set<std::int64_t> fleets;
  std::vector<std::vector<std::string>> lines;
  ForEachRun(site, {.file = "staleness.toml", .quick_steps = 8'000},
             [&](const Config& config, const TrainingRun& run) {
               const std::vector<std::string> begin = {BoundText(config.staleness.bound),
                                                       NameOf(config.staleness.on_exceed)};
               if (lines.empty() || !std::ranges::equal(begin, std::span(lines.back()).first(2))) {
                 lines.push_back(begin);
               }
               lines.back().push_back(CheckBound(config, run, result.json, broken));
               fleets.insert(config.actors.count);
             });
  std::vector<std::string> head = {"bound", "too old"};
  for (const std::int64_t actors : fleets) {
    head.push_back(Plural(static_cast<std::size_t>(actors), "actor"));
  }
  result.details = "Realised staleness, max (mean):\n\n" + Head(head);
  for (const std::vector<std::string>& cells : lines) result.details += Line(cells);
  // 2. The row of all of them.
  result.rows = {{.what = fmt::format("Realised staleness, {} runs: bounds 0, 1, 4, 16, unbounded; "
                                      "wait and drop; {}–{} actors",
                                      result.json.size(), *fleets.begin(), *fleets.rbegin()),
                  .measured = broken == 0 ? "max ≤ bound in every run, learner and journal agree"
                                          : fmt::format("broken in {} runs", broken),
                  .wanted = "max ≤ bound in every run",
                  .holds = broken == 0}};
  result.broken = broken > 0;
  return result;
}

Result MeasureReproducible(const Site& site) {
  constexpr int kActors = 5;
  const auto train = [&](const char* name, int seed) {
    const TrainingRun run(site, {.name = fmt::format("reproducible-{}", name),
                                 .overrides = {"staleness.bound=0", Set("actors.count", kActors),
                                               Set("run.seed", seed),
                                               Set("run.steps", site.quick ? 20'000 : 200'000)}});
    return SafetensorsFile::Read(run.FinalCheckpoint());
  };
  const SafetensorsFile first = train("first", 1);
  const Comparison again = Compare(first, train("again", 1));
  const Comparison other = Compare(first, train("other-seed", 2));
  const bool same = again.values > 0 && again.different == 0 && other.different > 0;
  return {.rows = {{.what = fmt::format(
                        "Bound 0, {} actors, same seed twice: final weights and optimizer state",
                        kActors),
                    .measured =
                        again.different == 0
                            ? fmt::format("identical ({} values; with another seed {} differ)",
                                          Grouped(again.values), Grouped(other.different))
                            : fmt::format("{} of {} values differ", again.different, again.values),
                    .wanted = "identical bit for bit",
                    .holds = same}},
          .json = {{"values", again.values},
                   {"different", again.different},
                   {"different_with_another_seed", other.different}},
          .broken = !same};
}

}  // namespace starling::bench
