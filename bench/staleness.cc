// Compares the realised staleness with its bound for every bound, mode and fleet size. It is
// counted twice: by the learner, and afterwards from the journal.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <tuple>

#include "bench/figure.h"
#include "bench/training_run.h"
#include "core/config/config.h"
#include "learner/storage/journal.h"

namespace starling::bench {
namespace {

struct Realised {
  std::uint64_t applied = 0, max = 0;
};

// Counts the staleness of every applied gradient. An update that made version v applied its
// gradients to version v - 1.
Realised FromJournal(const std::filesystem::path& path) {
  using Name = std::tuple<std::uint32_t, std::uint32_t, std::uint64_t>;
  std::map<Name, std::uint64_t> bases;
  Realised realised;
  learner::JournalReader journal(path);
  while (const auto record = journal.Next()) {
    if (const auto* arrival = std::get_if<learner::ArrivalRecord>(&*record)) {
      if (arrival->outcome == 0) {
        bases[{arrival->slot, arrival->incarnation, arrival->sequence}] = arrival->base_version;
      }
    } else if (const auto* update = std::get_if<learner::UpdateRecord>(&*record)) {
      for (const auto& item : update->items) {
        const auto base = bases.extract({item.slot, item.incarnation, item.sequence});
        if (base.empty() || base.mapped() >= update->version) {
          throw std::runtime_error(path.string() + " applies a gradient that never arrived");
        }
        realised.max = std::max(realised.max, update->version - 1 - base.mapped());
        ++realised.applied;
      }
    }
  }
  if (journal.ending() != learner::JournalReader::Ending::kEnd) {
    throw std::runtime_error(path.string() + " is not whole");
  }
  return realised;
}

struct BoundCase {
  std::uint64_t bound = 0;
  std::string mode;
  int actors = 1;

  std::string BoundText() const {
    return bound == kUnbounded ? "unbounded" : fmt::format("{}", bound);
  }
};

struct Outcome {
  std::uint64_t max = 0, applied = 0, dropped = 0;
  double mean = 0;
  bool agreed = true;  // learner and journal counted the same

  bool Within(std::uint64_t bound) const { return agreed && max <= bound; }
};

Outcome Run(const Site& site, const BoundCase& asked) {
  const TrainingRun run(
      site,
      {.name = fmt::format("staleness-{}-{}-{}", asked.BoundText(), asked.mode, asked.actors),
       .overrides = {"staleness.bound=" + asked.BoundText(), "staleness.on_exceed=" + asked.mode,
                     fmt::format("actors.count={}", asked.actors),
                     fmt::format("run.steps={}", site.quick ? 8'000 : 40'000)}});
  const Realised counted = FromJournal(run.dir() / "journal");
  return {.max = std::max(run.max_staleness, counted.max),
          .applied = run.applied,
          .dropped = run.dropped,
          .mean = run.mean_staleness,
          .agreed = counted.max == run.max_staleness && counted.applied == run.applied};
}

std::string Cell(const Outcome& outcome, std::uint64_t bound) {
  return fmt::format("{} ({:.1f}){}", outcome.max, outcome.mean,
                     outcome.Within(bound) ? "" : " **broken**");
}

}  // namespace

Result MeasureStaleness(const Site& site) {
  const std::vector<int> fleets = site.quick ? std::vector{1, 4} : std::vector{1, 2, 4, 8};
  // 1. The head of the table.
  int runs = 0, broken = 0;
  auto json = nlohmann::ordered_json::array();
  std::string table = "Realised staleness, max (mean):\n\n| bound | too old |";
  for (const int actors : fleets)
    table += fmt::format(" {} actor{} |", actors, actors > 1 ? "s" : "");
  table += "\n|---|---|";
  for (std::size_t i = 0; i < fleets.size(); ++i) table += "---|";

  // 2. A run for each cell.
  for (const std::uint64_t bound :
       {std::uint64_t{0}, std::uint64_t{1}, std::uint64_t{4}, std::uint64_t{16}, kUnbounded}) {
    for (const char* mode : {"wait", "drop"}) {
      table +=
          fmt::format("\n| {} | {} |", BoundCase{.bound = bound, .mode = mode}.BoundText(), mode);
      for (const int actors : fleets) {
        const BoundCase asked{.bound = bound, .mode = mode, .actors = actors};
        const Outcome outcome = Run(site, asked);
        ++runs;
        broken += outcome.Within(bound) ? 0 : 1;
        table += fmt::format(" {} |", Cell(outcome, bound));
        json.push_back({{"bound", asked.BoundText()},
                        {"on_exceed", mode},
                        {"actors", actors},
                        {"max", outcome.max},
                        {"mean", outcome.mean},
                        {"applied", outcome.applied},
                        {"dropped", outcome.dropped},
                        {"journal_agrees", outcome.agreed}});
      }
    }
  }
  const Row row{.what = fmt::format("Realised staleness, {} runs: bounds 0, 1, 4, 16, unbounded; "
                                    "wait and drop; {}–{} actors",
                                    runs, fleets.front(), fleets.back()),
                .measured = broken == 0 ? "max ≤ bound in every run, learner and journal agree"
                                        : fmt::format("broken in {} runs", broken),
                .wanted = "max ≤ bound in every run",
                .holds = broken == 0};
  return {.rows = {row}, .details = table + "\n", .json = json.dump(), .broken = broken > 0};
}

}  // namespace starling::bench
