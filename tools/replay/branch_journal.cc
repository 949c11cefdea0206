#include "tools/replay/branch_journal.h"

#include <fmt/format.h>

#include <optional>
#include <utility>
#include <variant>

#include "core/error.h"
#include "core/text.h"
#include "learner/storage/checkpoint.h"
#include "learner/storage/journal_reader.h"
#include "learner/storage/journal_writer.h"
#include "tools/replay/without_actor.h"

namespace starling::replay {
namespace {

using learner::JournalRecord;
using learner::UpdateRecord;

constexpr std::uint64_t kMoments = 200;

// Rewrites the run's records after the beginning of the branch, up to the run's version `last` or
// a gap. For each record it calls `take` with those that replace it in the branch, and with the
// run's update if the record is one, or nullptr.
template <class Take>
void Walk(const ReplayedRun& run, const Beginning& beginning, std::uint64_t last,
          WithoutActor& without, Take&& take) {
  learner::JournalReader reader(run.dir / "journal", beginning.journal);
  take(without.Begin(), nullptr);
  std::uint64_t version = beginning.state.version;
  while (const auto record = reader.Next()) {
    const auto* update = std::get_if<UpdateRecord>(&*record);
    const auto* term = std::get_if<learner::TermRecord>(&*record);
    // On a full disk there may have been no room for the GapRecord.
    if (std::holds_alternative<learner::GapRecord>(*record)) return;
    if (term != nullptr && term->version != version) return;
    if (update != nullptr && update->version > last) return;
    if (update != nullptr) version = update->version;
    take(without.Rewrite(*record), update);
  }
}

// Writes a journal, term after term, up to its last update.
class Writer {
 public:
  Writer(std::filesystem::path journal, const ReplayedRun& run, std::uint32_t term)
      : journal_(std::move(journal)),
        header_{.seed = run.config.run.seed, .fingerprint = run.layout.fingerprint(), .term = term},
        writer_(std::in_place, journal_, header_) {}

  void Append(JournalRecord record) {
    pending_.push_back(std::move(record));
    if (!std::holds_alternative<UpdateRecord>(pending_.back())) return;
    for (const JournalRecord& one : std::exchange(pending_, {})) WriteNow(one);
  }

  void WriteNow(const JournalRecord& record) {
    const auto* term = std::get_if<learner::TermRecord>(&record);
    if (term != nullptr && term->term != header_.term) {
      header_.term = term->term;
      header_.after = Flushed();
      writer_.emplace(journal_, header_);
    }
    writer_->Append(record);
  }

  // Returns the position behind what is written. Throws UserError if some of it could not be.
  learner::JournalPosition Flushed() {
    writer_->Flush();
    if (writer_->complete()) return writer_->position();
    throw UserError(fmt::format("{}: {}", journal_.string(), writer_->error()));
  }

 private:
  const std::filesystem::path journal_;
  learner::JournalHeader header_;
  std::optional<learner::JournalWriter> writer_;
  std::vector<JournalRecord> pending_;  // no update follows them yet
};

// The cut where the branch begins becomes its first checkpoint. It keeps its own configuration, by
// which its learner computed.
void WriteCut(const ReplayedRun& run, const Beginning& beginning, const Config& config,
              const std::filesystem::path& dir, Writer& journal) {
  const std::filesystem::path path = run.dir / beginning.name;
  learner::Checkpoint cut = learner::ReadCheckpoint(path);
  Config of_cut = ParseConfig(cut.config, path.string());
  of_cut.run.dir = config.run.dir;
  of_cut.run.name = config.run.name;
  cut.config = ToToml(of_cut);
  cut.actors = beginning.actors;
  journal.WriteNow(learner::TermRecord{cut.term, cut.version, cut.steps});
  journal.WriteNow(learner::EntropyRecord{beginning.entropy});
  cut.journal = journal.Flushed();
  learner::WriteCheckpoint(dir / "checkpoints", cut);
}

}  // namespace

BranchPlan PlanBranch(const ReplayedRun& run, VersionRange range, std::uint32_t slot) {
  // 1. What would become of it.
  BranchPlan plan{
      .slot = slot, .after = range.after, .beginning = NearestBeginning(run, range.after)};
  WithoutActor without(run.config, slot, range.after, plan.beginning);
  plan.version_of_run = plan.beginning.state.version;
  Walk(run, plan.beginning, range.last, without, [&](const auto&, const UpdateRecord* update) {
    if (update == nullptr) return;
    plan.version_of_run = update->version;
    plan.steps_of_run = update->steps;
  });
  plan.version = without.version();
  plan.left_out = without.left_out();
  // 2. Whether that is a branch.
  const auto refuse = [&](const std::string& why) {
    throw UserError(fmt::format("--without-actor {}: {}", slot, why));
  };
  if (plan.version_of_run <= range.after) {
    refuse(
        fmt::format("the journal has a gap after version {}: take an --after before it, or one "
                    "after a later checkpoint",
                    plan.version_of_run));
  }
  if (plan.left_out == 0) {
    refuse(fmt::format("no update has a gradient of this actor that came after version {}",
                       range.after));
  }
  if (plan.version <= range.after) {
    refuse(
        fmt::format("every update after version {} is of this actor alone, so none would be left",
                    range.after));
  }
  if (const std::uint64_t version = without.other_schedule(); version > 0) {
    refuse(
        fmt::format("the step of version {} is not that of config.toml: the run was resumed with "
                    "other settings (run.steps, [optimizer], loss.entropy, staleness.damping), "
                    "and the journal does not hold the old ones",
                    version));
  }
  return plan;
}

std::vector<Moment> WriteBranchJournal(const ReplayedRun& run, const BranchPlan& plan,
                                       const Config& config, const std::filesystem::path& dir) {
  // 1. The term and the checkpoint with which it begins.
  const Beginning& beginning = plan.beginning;
  const std::uint32_t term =
      learner::JournalReader(run.dir / "journal", beginning.journal).header().term;
  Writer journal(dir / "journal", run, term);
  if (beginning.actors) WriteCut(run, beginning, config, dir, journal);
  // 2. What is left of the run's records, with a moment now and then.
  WithoutActor without(run.config, plan.slot, plan.after, beginning);
  std::vector<Moment> moments;
  const auto part = [&](std::uint64_t version) { return version * kMoments / plan.version_of_run; };
  std::uint64_t written = beginning.state.version;  // the last moment's version
  std::uint64_t parts = part(written);
  Walk(run, beginning, plan.version_of_run, without,
       [&](std::vector<JournalRecord> records, const UpdateRecord* update) {
         for (JournalRecord& record : records) journal.Append(std::move(record));
         if (update == nullptr) return;
         const bool due = part(update->version) > parts || update->version == plan.version_of_run;
         if (!due) return;
         parts = part(update->version);
         if (without.version() > std::exchange(written, without.version())) {
           moments.push_back({without.version(), update->steps});
         }
       });
  moments.back().steps_of_run = plan.steps_of_run;
  journal.Flushed();
  return moments;
}

}  // namespace starling::replay
