// A run whose learner was killed, and the redo of its tail.
#pragma once

#include <gmock/gmock.h>

#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "learner/storage/journal_reader.h"
#include "tests/support/own_disk.h"
#include "tests/tools/replay/journalled_run.h"
#include "tools/replay/redo.h"

namespace starling::replay {

// A run with a cut at version 2, whose learner was killed after version 5.
class RedoTest : public testing::Test {
 protected:
  RedoTest() {
    run_.BeginTerm();
    run_.Join(0), run_.Join(1);
    cut_ = run_.Train(2);
    learner::WriteCheckpoint(run_.checkpoints(), run_.CheckpointAt(2, cut_));
    end_ = run_.Train(3);
    run_.Arrive(0);  // held when the learner was killed
    run_.Flush();
  }

  // Returns the exit status; said_ holds the log.
  int Redo(
      const Clock& clock = SteadyClock(),
      const std::function<bool()>& wait = [] { return false; }) {
    ReplayOptions options;
    return Redo(options, clock, wait);
  }
  int Redo(
      ReplayOptions options, const Clock& clock = SteadyClock(),
      const std::function<bool()>& wait = [] { return false; }) {
    testing::internal::CaptureStderr();
    options.run_dir = run_.dir.path();
    const int status = RunRedo(options, clock, {.for_room = wait, .for_lock = wait});
    said_ = testing::internal::GetCapturedStderr();
    return status;
  }
  std::filesystem::path At(std::uint64_t version) const {
    return run_.checkpoints() / learner::CheckpointName(1, version);
  }
  std::vector<std::filesystem::path> Checkpoints() const {
    return learner::ListCheckpoints(run_.checkpoints());
  }
  std::filesystem::path filler() const { return run_.checkpoints() / "filler"; }
  // Puts the checkpoints on a disk that the filler fills.
  std::unique_ptr<OwnDisk> FullDisk() {
    const auto kept = run_.dir / "kept";
    std::filesystem::copy(run_.checkpoints(), kept, std::filesystem::copy_options::recursive);
    auto disk = std::make_unique<OwnDisk>(run_.checkpoints(), 1);
    if (!disk->trouble().empty()) return disk;
    std::filesystem::copy(kept, run_.checkpoints(), std::filesystem::copy_options::recursive);
    disk->Fill(filler());
    return disk;
  }
  void ExpectRedone() {
    const learner::LastGoodResult newest = learner::NewestCut(run_.checkpoints());
    ASSERT_EQ(newest.path, At(5));
    learner::CheckpointContent written{.state = *newest.checkpoint,
                                       .counters = newest.checkpoint->counters,
                                       .actors = newest.checkpoint->actors};
    EXPECT_EQ(newest.checkpoint->journal, end_);
    const learner::CheckpointContent whole = run_.Replay(5);
    ExpectSame(written, whole);
    EXPECT_EQ(written.counters, whole.counters);
  }
  // Changes the configuration of the run.
  void Set(const std::string& setting) { Set(std::vector{setting}); }
  void Set(const std::vector<std::string>& settings) {
    run_.dir.Write("config.toml", ToToml(LoadConfig(run_.dir / "config.toml", settings)));
  }

  JournalledRun run_;
  learner::JournalPosition cut_, end_;
  std::string said_;
};

}  // namespace starling::replay
