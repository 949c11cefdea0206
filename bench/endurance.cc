// Interrupted runs: compares the tensors of killed and of resumed runs with those of a whole one;
// counts the versions that kills lose, and the seconds until the next learner listens; measures the
// throughput with checkpoint.exact, and a resume behind a journal of 5 GB.
#include <fmt/format.h>
#include <signal.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <functional>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <variant>
#include <vector>

#include "bench/enduring_run.h"
#include "bench/figure.h"
#include "bench/stats.h"
#include "bench/training_run.h"
#include "core/clock.h"
#include "core/file.h"
#include "core/text.h"
#include "learner/storage/checkpoint.h"
#include "learner/storage/journal_reader.h"
#include "learner/storage/journal_writer.h"

namespace starling::bench {
namespace {

namespace fs = std::filesystem;
using Strings = std::vector<std::string>;

std::size_t Different(const std::vector<float>& a, const std::vector<float>& b) {
  std::size_t different = a.size() == b.size() ? 0 : std::max(a.size(), b.size());
  for (std::size_t i = 0; i < std::min(a.size(), b.size()); ++i) {
    different += std::memcmp(&a[i], &b[i], sizeof(float)) != 0 ? 1 : 0;
  }
  return different;
}

// ---- 1. the bits

// Trains at bound 0 with three actors: whole, with killed learners, and with stops.
Row MeasureBits(const Site& site, const std::string& game, int steps, Json& json, bool& broken) {
  const int kills = site.quick ? 2 : 10, stops = site.quick ? 1 : 5;
  const Strings settings = {"staleness.bound=0",
                            "actors.count=3",
                            "run.seed=3",
                            Set("run.steps", site.quick ? steps / 10 : steps),
                            Set("checkpoint.every_steps", steps / 25),
                            "checkpoint.cut_s=60"};
  const fs::path config = site.shipped / (game + ".toml");
  const auto train = [&](const char* how, int signal, int times) {
    auto run = std::make_unique<EnduringRun>(site, fmt::format("endurance-{}-{}", game, how));
    Tell(run->dir().filename().string());
    run->Train(config, settings, signal, times, /*work_ms=*/site.quick ? 50 : 300);
    return run;
  };
  const auto whole = train("whole", SIGKILL, 0), killed = train("killed", SIGKILL, kills),
             stopped = train("stopped", SIGTERM, stops);
  const learner::Checkpoint reference = whole->Last();
  std::size_t different = 0, values = 0;
  for (const EnduringRun* run : {killed.get(), stopped.get()}) {
    const learner::Checkpoint last = run->Last();
    different += Different(last.weights, reference.weights);
    values += last.weights.size();
    for (std::size_t slot = 0; slot < reference.optimizer_state.size(); ++slot) {
      different += Different(last.optimizer_state.at(slot), reference.optimizer_state[slot]);
      values += reference.optimizer_state[slot].size();
    }
  }
  json[game] = {{"kills", killed->interruptions()},
                {"stops", stopped->interruptions()},
                {"values", values},
                {"different", different}};
  const bool same = different == 0 && killed->interruptions() > 0 && stopped->interruptions() > 0;
  broken |= !same;
  return {.what = fmt::format(
              "Bound 0, 3 actors, `{}`: {} learner kills, and {} stops and resumes, "
              "beside an uninterrupted run",
              config.filename().string(), killed->interruptions(), stopped->interruptions()),
          .measured = different == 0 ? fmt::format("identical ({} values)", Grouped(values))
                                     : fmt::format("{} of {} values differ", different, values),
          .wanted = "identical tensors, all",
          .holds = same};
}

// ---- 2. versions lost by kills, and the time until the learner is back

// Of a bound that leaves actors ahead of the learner. No version that an actor was granted before a
// kill may be newer than the one at which the next learner starts.
std::uint64_t VersionsLost(const EnduringRun& run) {
  std::uint64_t lost = 0, granted = 0;
  for (const learner::Segment& segment : learner::ListSegments(run.dir() / "journal")) {
    learner::SegmentReader reader(segment.path);
    while (const auto record = reader.Next()) {
      if (const auto* grant = std::get_if<learner::GrantRecord>(&*record)) {
        granted = std::max(granted, grant->version);
      } else if (const auto* term = std::get_if<learner::TermRecord>(&*record)) {
        lost += granted - std::min(granted, term->version);
        granted = term->version;
      }
    }
  }
  return lost;
}

void MeasureKills(const Site& site, Result& result) {
  EnduringRun run(site, "endurance-kills");
  Tell(run.dir().filename().string());
  run.Train(site.config,
            {"staleness.bound=4", "actors.count=2",
             Set("run.steps", site.quick ? 400'000 : 4'000'000), "checkpoint.every_steps=200000"},
            SIGKILL, site.quick ? 2 : 20, /*work_ms=*/300);
  // From the kill to the next learner, without the redo between them.
  const Strings killed = run.Lines("was killed by SIGKILL at"), begun = run.Lines("redo started"),
                ended = run.Lines("the redo (pid"), back = run.Lines("listening on");
  std::vector<double> back_s, redo_s;
  for (std::size_t i = 0; i < killed.size() && i + 1 < back.size() && i < ended.size(); ++i) {
    redo_s.push_back((TimeOf(ended[i]) - TimeOf(begun[i])) / 1000);
    back_s.push_back((TimeOf(back[i + 1]) - TimeOf(killed[i])) / 1000 - redo_s.back());
  }
  if (back_s.empty()) throw std::runtime_error("no learner was killed: the run was too short");
  const std::uint64_t lost = VersionsLost(run);
  const auto named = run.Lines("lost: ").size();
  const double p99 = Percentile(back_s, 0.99);
  result.broken |= lost > 0 || named > 0;
  result.rows.push_back(
      {.what = fmt::format("Bound 4, exact, {} learner kills: versions lost after an answer",
                           back_s.size()),
       .measured = fmt::format("{}", lost),
       .wanted = "0",
       .holds = lost == 0 && named == 0});
  result.rows.push_back({.what = "The learner is back after (beside the redo)",
                         .measured = fmt::format(
                             "p99 {:.2f} s, median {:.2f} s (redo: median {:.2f} s, most {:.2f} s)",
                             p99, Median(back_s), Median(redo_s), Most(redo_s)),
                         .wanted = "p99 ≤ 0.6 s",
                         .holds = site.Judged(p99 <= 0.6)});
  result.json["kills"] = {{"lost", lost}, {"back_s", back_s}, {"redo_s", redo_s}};
}

// ---- 3. throughput with checkpoint.exact

void MeasureCost(const Site& site, Result& result) {
  std::vector<double> exact, inexact;
  for (int pair = 0; pair < (site.quick ? 1 : 7); ++pair) {
    for (const bool is_exact : {true, false}) {
      const TrainingRun run(site,
                            {.name = fmt::format("endurance-exact-{}-{}", is_exact, pair),
                             .overrides = {"actors.count=2", Set("checkpoint.exact", is_exact),
                                           Set("run.steps", site.quick ? 200'000 : 2'500'000)}});
      (is_exact ? exact : inexact).push_back(run.SteadyRate());
    }
  }
  const double ratio = Median(exact) / Median(inexact);
  result.rows.push_back(
      {.what = "Throughput with `checkpoint.exact`, beside without; checkpoints as shipped",
       .measured = fmt::format("{:.3f} (medians of {} pairs: {} and {} steps/s)", ratio,
                               exact.size(), Grouped(static_cast<std::uint64_t>(Median(exact))),
                               Grouped(static_cast<std::uint64_t>(Median(inexact)))),
       .wanted = "≥ 0.99",
       .holds = site.Judged(ratio >= 0.99)});
  result.json["exact"] = {{"exact", exact}, {"inexact", inexact}};
}

// ---- 4. a long journal

// Puts `bytes` of journal before the last checkpoint of a run.
void Lengthen(const EnduringRun& run, std::uint64_t bytes) {
  learner::Checkpoint last = run.Last();
  const fs::path journal = run.dir() / "journal";
  const learner::JournalHeader header = learner::LineOf(journal).front().header;
  fs::remove_all(journal);
  learner::JournalWriter writer(
      journal, {.seed = header.seed, .fingerprint = header.fingerprint, .term = header.term});
  writer.Append(learner::TermRecord{.term = header.term});
  for (std::uint64_t written = 0, number = 0; written < bytes; written += 29) {  // of a record
    writer.Append(learner::GrantRecord{.slot = 0, .number = ++number});
  }
  if (!writer.Flush() || !writer.complete()) throw std::runtime_error(writer.error());
  last.journal = writer.position();
  last.actors = learner::ReadActorStates(
      learner::ActorStatesPath(learner::LastGood(run.dir() / "checkpoints").path));
  learner::WriteCheckpoint(run.dir() / "checkpoints", last);
}

void MeasureLongJournal(const Site& site, Result& result) {
  const std::uint64_t bytes = site.quick ? 200'000'000 : 5'000'000'000;
  EnduringRun run(site, "endurance-journal");
  Tell(run.dir().filename().string());
  run.Train(site.config, {"staleness.bound=0", "actors.count=2", "run.steps=32000"}, SIGKILL, 0, 0);
  Lengthen(run, bytes);
  const double seconds = run.Resume({"run.steps=64000"});
  result.rows.push_back(
      {.what = fmt::format("A run with a journal of {}B goes on: from the command to its learner",
                           HumanCount(static_cast<double>(bytes))),
       .measured = fmt::format("{:.2f} s", seconds),
       .wanted = "≤ 2 s",
       .holds = site.Judged(seconds > 0 && seconds <= 2)});
  result.json["journal"] = {{"bytes", bytes}, {"seconds", seconds}};
}

}  // namespace

Result MeasureEndurance(const Site& site) {
  Result result{.json = Json::object()};
  Json bits = Json::object();
  result.rows.push_back(MeasureBits(site, "recall", 3'500'000, bits, result.broken));
  result.rows.push_back(MeasureBits(site, "pong", 100'000, bits, result.broken));
  result.json["bits"] = bits;
  MeasureKills(site, result);
  MeasureCost(site, result);
  MeasureLongJournal(site, result);
  return result;
}

}  // namespace starling::bench
