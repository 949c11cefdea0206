// Checks the promises that must hold on any machine: the realised staleness stays within its bound
// for every bound, mode and fleet size, counted by the learner and again from the journal; and with
// a bound of 0 the same seed gives the same weights, bit for bit, another seed others.
#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <stdexcept>

#include "bench/figure.h"
#include "bench/training_run.h"
#include "core/config/config.h"
#include "core/safetensors.h"
#include "core/text.h"
#include "tools/replay/replayer.h"

namespace starling::bench {
namespace {

struct Realised {
  std::uint64_t applied = 0, max = 0;
};

// Counts the staleness of every applied gradient, from the journal.
Realised FromJournal(const TrainingRun& run) {
  const replay::JournalIndex journal = replay::ReadJournalIndex(run.dir());
  if (!journal.torn.empty()) throw std::runtime_error(journal.torn);
  Realised realised;
  for (std::uint64_t version = 1; version <= journal.last; ++version) {
    for (const auto& gradient : replay::FindUpdate(journal, version).gradients) {
      if (gradient.samples == 0) {
        throw std::runtime_error("the journal applies a gradient that never arrived");
      }
      realised.max = std::max(realised.max, gradient.staleness);
      ++realised.applied;
    }
  }
  return realised;
}

// Runs a fleet. Returns its cell of the table; adds its numbers to `json`, and to `broken` if it
// broke its bound.
std::string CheckBound(const Site& site, std::uint64_t bound, const char* mode, int actors,
                       Json& json, int& broken) {
  const std::string text = BoundText(bound);
  const TrainingRun run(
      site,
      {.name = fmt::format("staleness-{}-{}-{}", text, mode, actors),
       .overrides = {Set("staleness.bound", text), Set("staleness.on_exceed", mode),
                     Set("actors.count", actors), Set("run.steps", site.quick ? 8'000 : 40'000)}});
  const learner::StalenessStatus& learners = run.status.staleness;
  const Realised counted = FromJournal(run);
  const bool agreed =
      counted.max == learners.max && counted.applied == run.status.gradients.applied;
  const std::uint64_t max = std::max(learners.max, counted.max);
  const bool holds = agreed && max <= bound;
  broken += holds ? 0 : 1;
  json.push_back({{"bound", text},
                  {"on_exceed", mode},
                  {"actors", actors},
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
  // 1. A run for each cell of the table.
  const std::vector<int> fleets = site.quick ? std::vector{1, 4} : std::vector{1, 2, 4, 8};
  std::vector<std::string> head = {"bound", "too old"};
  for (const int actors : fleets) {
    head.push_back(Plural(static_cast<std::size_t>(actors), "actor"));
  }
  int broken = 0;
  Result result{.details = "Realised staleness, max (mean):\n\n" + Head(head),
                .json = Json::array()};
  for (const std::uint64_t bound :
       {std::uint64_t{0}, std::uint64_t{1}, std::uint64_t{4}, std::uint64_t{16}, kUnbounded}) {
    for (const char* mode : {"wait", "drop"}) {
      std::vector<std::string> cells = {BoundText(bound), mode};
      for (const int actors : fleets) {
        cells.push_back(CheckBound(site, bound, mode, actors, result.json, broken));
      }
      result.details += Line(cells);
    }
  }
  // 2. The row of all of them.
  result.rows = {{.what = fmt::format("Realised staleness, {} runs: bounds 0, 1, 4, 16, unbounded; "
                                      "wait and drop; {}–{} actors",
                                      result.json.size(), fleets.front(), fleets.back()),
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
