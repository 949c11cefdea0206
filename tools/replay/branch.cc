#include "tools/replay/branch.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "core/error.h"
#include "core/metrics.h"
#include "core/text.h"
#include "learner/engine.h"
#include "learner/storage/checkpoint.h"
#include "learner/storage/journal_reader.h"
#include "learner/storage/journal_writer.h"
#include "learner/storage/start.h"
#include "results/initial_net.h"
#include "results/run_dir.h"
#include "results/run_record.h"
#include "results/summary.h"
#include "tools/replay/replayed_run.h"
#include "tools/replay/without_actor.h"

namespace starling::replay {
namespace {

namespace fs = std::filesystem;

constexpr std::uint64_t kLines = 200;  // of metrics.jsonl

// A moment of the branch, and the steps of the run at that moment.
struct Moment {
  std::uint64_t version = 0, steps_of_run = 0;
};

// What is written of the branch before it is computed.
struct Branch {
  fs::path dir;
  std::vector<Moment> moments{};  // evenly over the run, by version; the last is its end
  std::uint64_t left_out = 0;     // gradients
  bool whole = true;              // false: the run's journal has a gap, where the branch ends
};

// Throws UserError unless the actor has a gradient in an update of `range`.
void CheckHasGradients(const fs::path& run_dir, VersionRange range, std::uint32_t slot) {
  std::set<std::uint32_t> slots;
  Updates updates(run_dir);
  while (const auto update = updates.Next()) {
    if (update->update.version > range.last) break;
    if (update->update.version <= range.after) continue;
    for (const auto& item : update->update.items) slots.insert(item.slot);
  }
  if (slots.contains(slot)) return;
  throw UserError(fmt::format(
      "--without-actor {}: no update after version {} has a gradient of this actor; those of {} do",
      slot, range.after, fmt::join(slots, ", ")));
}

fs::path MakeDir(const ReplayOptions& options, const ReplayedRun& run) {
  const fs::path plain = fs::weakly_canonical(fs::absolute(run.dir));
  const fs::path usual =
      plain.parent_path() /
      fmt::format("{}-without-{}", plain.filename().string(), *options.without_actor);
  const bool named = !options.branch_dir.empty();
  fs::path dir = results::CreateRunDir(named ? options.branch_dir : usual, !named);
  results::MarkSimulated(dir, "replay --without-actor");
  return dir;
}

// Writes the journal of a branch, term after term.
class BranchJournal {
 public:
  BranchJournal(fs::path journal, const ReplayedRun& run, std::uint32_t term)
      : journal_(std::move(journal)),
        header_{
            .seed = run.config.run.seed, .fingerprint = run.layout.fingerprint(), .term = term} {
    writer_.emplace(journal_, header_);
  }

  void Append(const learner::JournalRecord& record) {
    const auto* term = std::get_if<learner::TermRecord>(&record);
    if (term != nullptr && term->term != header_.term) {
      header_.term = term->term;
      header_.after = Flushed();
      writer_.emplace(journal_, header_);
    }
    writer_->Append(record);
  }

  // Returns the position behind the last record. Throws UserError if one could not be written.
  learner::JournalPosition Flushed() {
    writer_->Flush();
    if (!writer_->complete()) {
      throw UserError(fmt::format("{}: {}", journal_.string(), writer_->error()));
    }
    return writer_->position();
  }

 private:
  const fs::path journal_;
  learner::JournalHeader header_;
  std::optional<learner::JournalWriter> writer_;
};

// The cut where the branch begins becomes a checkpoint of it.
void WriteCut(const Beginning& beginning, const ReplayedRun& run, const Config& config,
              const fs::path& dir, BranchJournal& journal) {
  journal.Append(
      learner::TermRecord{beginning.state.term, beginning.state.version, beginning.state.steps});
  journal.Append(learner::EntropyRecord{beginning.entropy});
  learner::CheckpointContent content{.state = beginning.state,
                                     .counters = beginning.counters.Save(),
                                     .journal = journal.Flushed(),
                                     .actors = beginning.actors};
  const auto net = results::InitialNetToResume(run.config, run.dir);
  learner::WriteCheckpoint(
      dir / "checkpoints",
      learner::CheckpointOf(config, net.layout, net.spaces, std::move(content)));
}

// Writes the journal of the branch, and its first checkpoint if it begins at a cut.
Branch WriteJournal(const ReplayedRun& run, const Config& config, VersionRange range,
                    std::uint32_t slot, fs::path dir) {
  // 1. Where the run's journal is read from.
  Branch branch{.dir = std::move(dir)};
  const Beginning beginning = NearestBeginning(run, range.after);
  learner::JournalReader reader(run.dir / "journal", beginning.journal);
  BranchJournal journal(branch.dir / "journal", run, reader.header().term);
  if (beginning.actors) WriteCut(beginning, run, config, branch.dir, journal);
  // 2. Every record up to the last version, without the actor's.
  WithoutActor without(config, slot, range.after, beginning);
  for (const auto& record : without.Begin()) journal.Append(record);
  Moment now{without.version(), beginning.state.steps};
  std::uint64_t lines = 0;
  while (const auto record = reader.Next()) {
    const auto* update = std::get_if<learner::UpdateRecord>(&*record);
    branch.whole &= !std::holds_alternative<learner::GapRecord>(*record);
    if (!branch.whole || (update != nullptr && update->version > range.last)) break;
    for (const auto& changed : without.Rewrite(*record)) journal.Append(changed);
    if (update == nullptr) continue;
    now = {without.version(), update->steps};
    const std::uint64_t line = update->version * kLines / range.last;
    if (std::exchange(lines, line) != line) branch.moments.push_back(now);
  }
  if (branch.moments.empty() || branch.moments.back().version != now.version) {
    branch.moments.push_back(now);
  }
  branch.left_out = without.left_out();
  journal.Flushed();
  return branch;
}

// Seconds of training at `steps` of the run, by its metrics.jsonl: straight between two lines.
double SecondsAt(const std::vector<results::MetricPoint>& metrics, std::uint64_t steps) {
  results::MetricPoint before;
  for (const results::MetricPoint& point : metrics) {
    if (point.steps >= static_cast<double>(steps)) {
      const double share =
          (static_cast<double>(steps) - before.steps) / (point.steps - before.steps);
      return before.seconds + share * (point.seconds - before.seconds);
    }
    before = point;
  }
  return before.seconds;
}

// Computes the branch from its journal; writes a line of metrics at each moment, and the checkpoint
// at the end. Returns the last status, or nullopt, with `error` set, where it does not go on.
std::optional<learner::RunStatus> Compute(const ReplayedRun& branch_run, const Branch& branch,
                                          const ReplayedRun& run, VersionRange range,
                                          std::string& error) {
  // 1. Compute, and tell how training goes.
  const auto metrics = results::LoadRun(run.dir).metrics;
  MetricsFile file(branch.dir / "metrics.jsonl");
  ReplayedPart part(branch_run, NearestBeginning(branch_run, range.after));
  Replayer& replayer = part.replayer();
  auto next = branch.moments.begin();
  learner::RunStatus status;
  const bool same = part.Until(branch.moments.back().version, [&] {
    while (next != branch.moments.end() && next->version == replayer.version()) {
      replayer.counters().seconds = SecondsAt(metrics, next->steps_of_run);
      status = learner::StatusOf(branch_run.config, replayer.counters(), replayer.steps(),
                                 replayer.applied().back());
      status.phase = "running";
      status.version = replayer.version();
      ++next;
      if (!file.Write(learner::MetricsLine(status))) error = "metrics.jsonl cannot be written";
    }
  });
  if (!same) error = part.Error();
  if (!error.empty()) return std::nullopt;
  // 2. The checkpoint at the end.
  learner::CheckpointContent content = replayer.Content();
  const learner::JournalTail tail = learner::TailOf(branch.dir / "journal", {});
  content.state.term = tail.end.term;
  content.journal = tail.end;
  const auto net = results::InitialNetToResume(run.config, run.dir);
  const auto path = learner::WriteCheckpoint(
      branch.dir / "checkpoints",
      learner::CheckpointOf(branch_run.config, net.layout, net.spaces, std::move(content)));
  status.checkpoint = "checkpoints/" + path.filename().string();
  return status;
}

std::string ReturnOf(const std::optional<double>& mean_return) {
  return mean_return ? fmt::format("{:.4g}", *mean_return) : "–";
}

}  // namespace

int RunBranch(const ReplayOptions& options) {
  // 1. The part that changes.
  const ReplayedRun run = OpenRun(options.run_dir);
  const VersionRange range = RangeOf(run.dir, run.journal, options.after, options.until);
  const std::uint32_t slot = *options.without_actor;
  CheckHasGradients(run.dir, range, slot);
  // 2. A run directory, with the journal of the branch.
  const fs::path dir = MakeDir(options, run);
  Config config = run.config;
  config.run.dir = dir.string();
  config.run.name = dir.filename().string();
  results::WriteConfig(dir, config);
  const Branch branch = WriteJournal(run, config, range, slot, dir);
  // 3. Its weights.
  std::string error;
  const ReplayedRun branch_run = OpenRun(dir);
  const auto status = Compute(branch_run, branch, run, range, error);
  auto summary = results::BuildSummary(config, status, {}, {}, error);
  summary.simulated = true;
  if (const std::string why = results::WriteSummary(dir, summary); !why.empty()) error = why;
  if (!status || !error.empty()) {
    std::fprintf(stderr, "starling: %s\n", error.c_str());
    return kExitFailed;
  }
  // 4. What became of it, beside the run.
  const auto of_run = results::LoadRun(run.dir);
  const auto at_end = std::ranges::find_if(of_run.metrics, [&](const auto& point) {
    return point.steps >= static_cast<double>(branch.moments.back().steps_of_run);
  });
  const auto return_of_run = at_end == of_run.metrics.end() ? std::nullopt : at_end->mean_return;
  std::printf(
      "%s: %s without actor %u behind version %s\n"
      "It is another run from there on, not what would have happened: the other actors keep their "
      "order.\n"
      "           updates       steps   return of the last %zu episodes\n"
      "the run    %7s %11s   %s\n"
      "the branch %7s %11s   %s\n"
      "left out: %s\n",
      dir.c_str(), run.dir.c_str(), slot, Grouped(range.after).c_str(),
      learner::Counters::kEpisodeWindow, Grouped(range.last).c_str(),
      Grouped(branch.moments.back().steps_of_run).c_str(), ReturnOf(return_of_run).c_str(),
      Grouped(status->version).c_str(), Grouped(status->steps).c_str(),
      ReturnOf(status->mean_return).c_str(), Plural(branch.left_out, "gradient").c_str());
  if (!branch.whole) {
    std::printf("the journal of the run has a gap behind version %s: the branch ends there\n",
                Grouped(range.last).c_str());
  }
  return kExitDone;
}

}  // namespace starling::replay
