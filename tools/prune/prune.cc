#include "tools/prune/prune.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <stdexcept>
#include <system_error>

#include "core/config/config.h"
#include "core/error.h"
#include "core/locked_file.h"
#include "core/text.h"
#include "learner/storage/checkpoint.h"
#include "learner/storage/journal_prune.h"
#include "learner/storage/run_lock.h"
#include "learner/storage/terms.h"
#include "results/run_dir.h"

namespace starling::prune {
namespace {

namespace fs = std::filesystem;

// A run that no learner can start to change.
struct HeldRun {
  fs::path dir;
  Config config;
  LockedFile lock;
};

HeldRun Hold(const fs::path& dir, const std::vector<std::string>& overrides) {
  if (!fs::is_regular_file(dir / "config.toml")) {
    throw UserError(dir.string() + " is no run directory: it has no config.toml");
  }
  return {dir, LoadConfig(dir / "config.toml", overrides), learner::LockRun(dir)};
}

// Of a file, or of a directory of files.
std::uint64_t BytesOf(const fs::path& path) {
  std::error_code gone;
  if (!fs::is_directory(path, gone)) {
    const std::uintmax_t size = fs::file_size(path, gone);
    return gone ? 0 : size;
  }
  std::uint64_t bytes = 0;
  for (const auto& entry : fs::directory_iterator(path, gone)) bytes += BytesOf(entry.path());
  return bytes;
}

std::string Bytes(std::uint64_t bytes) { return HumanCount(static_cast<double>(bytes)) + "B"; }

// Removes what one run does not keep. Returns a line about it. Throws std::runtime_error if
// something could not be removed.
std::string PruneOne(const HeldRun& run, bool dry_run) {
  const CheckpointConfig& keep = run.config.checkpoint;
  const fs::path checkpoints = run.dir / "checkpoints";
  // 1. Checkpoints, with the states of their actors.
  std::vector<fs::path> kept = learner::ListCheckpoints(checkpoints);
  const std::string damaged = learner::RunLine(checkpoints).damaged();
  if (!damaged.empty()) return "nothing is removed: " + damaged;
  if (kept.empty()) return "no checkpoint is there to go on from: nothing is removed";
  const auto goes = learner::Prune(checkpoints, static_cast<std::size_t>(keep.keep), true);
  std::uint64_t freed = 0;
  for (const fs::path& path : goes) {
    freed += BytesOf(path) + BytesOf(learner::ActorStatesPath(path));
    std::erase(kept, path);
  }
  if (!dry_run &&
      learner::Prune(checkpoints, static_cast<std::size_t>(keep.keep)).size() < goes.size()) {
    throw std::runtime_error(
        fmt::format("not all could be removed from {}: is it writable?", checkpoints.string()));
  }
  // 2. The journal before the oldest of those that are left.
  const auto prune_journal = [&](bool only_count) {
    return learner::PruneJournal(run.dir / "journal", learner::OldestCut(kept),
                                 run.config.journal.max_bytes(), only_count);
  };
  const learner::JournalPruned journal = prune_journal(/*only_count=*/true);
  if (!dry_run && prune_journal(false).segments < journal.segments) {
    throw std::runtime_error(fmt::format("not all could be removed from {}: is it writable?",
                                         (run.dir / "journal").string()));
  }
  // 3. The line.
  const std::string left =
      fmt::format("{} of checkpoints and {} of the journal are left{}",
                  Bytes(BytesOf(checkpoints) - (dry_run ? freed : 0)), Bytes(journal.left),
                  run.config.journal.keep < 0 ? " (journal.keep = \"all\")" : "");
  if (goes.empty() && journal.segments == 0) return "nothing to remove; " + left;
  return fmt::format("{} {} of checkpoints and {} of the journal ({}); {}",
                     dry_run ? "would remove" : "removed", Plural(goes.size(), "file"),
                     Plural(journal.segments, "segment"), Bytes(freed + journal.removed), left);
}

}  // namespace

int RunPrune(const PruneOptions& options) {
  for (const std::string& one : options.overrides) {
    if (one.starts_with("checkpoint.keep=") || one.starts_with("journal.keep=")) continue;
    throw UserError(fmt::format("--set {}: prune knows checkpoint.keep and journal.keep", one));
  }
  std::vector<HeldRun> runs;
  for (const std::string& dir : options.run_dirs) {
    const auto same = [&](const HeldRun& run) {
      std::error_code absent;
      return fs::equivalent(run.dir, dir, absent);
    };
    if (std::ranges::none_of(runs, same)) runs.push_back(Hold(dir, options.overrides));
  }
  for (const HeldRun& run : runs) {
    fmt::print("{}: {}\n", run.dir.string(), PruneOne(run, options.dry_run));
  }
  return kExitDone;
}

}  // namespace starling::prune
