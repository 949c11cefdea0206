// Keeps the checkpoints of a running learner: passes them to the writer's thread, collects the
// results, and knows the last good one. In a learner of several processes shard 0 writes its part
// last, when all other shards have written theirs; this completes the checkpoint.
//
// Thread safety: none; it belongs to the network thread. The writer's thread is its own.
#pragma once

#include <cstdint>
#include <deque>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "core/clock.h"
#include "core/config/config.h"
#include "core/log.h"
#include "learner/apply/applier.h"
#include "learner/storage/checkpoint.h"
#include "learner/storage/start.h"
#include "net/parameters.h"

namespace starling::learner {

class CheckpointKeeper {
 public:
  // Returns the result of the other shards' parts of the checkpoint of `version`: nullopt while one
  // is missing, "" if all are written, else the first error.
  using PartsOf = std::function<std::optional<std::string>(std::uint64_t version)>;

  // The writer's thread calls `on_result`. `config`, `layout` and `clock` must outlive the keeper.
  CheckpointKeeper(const Config& config, const net::ParameterLayout& layout,
                   const std::filesystem::path& run_dir, const Start& start,
                   std::function<void()> on_result, const Clock& clock);

  // For a learner of several processes. REQUIRES: called before the first Save of a slice.
  void AwaitPartsOf(PartsOf parts) { parts_ = std::move(parts); }

  // Never waits. If the disk is too slow, this checkpoint is skipped with a warning; never if
  // idle().
  void Save(CheckpointContent content);
  // Saves the last checkpoint and waits until it is written. On a full disk it warns and tries
  // again, for kRoomWaitMs or until give_up() is true. `await` waits a little. Its argument is how
  // long the disk has been full, or 0 while the checkpoint is written.
  // REQUIRES: idle().
  void SaveLast(CheckpointContent content, const std::function<void(std::int64_t waited_ms)>& await,
                const std::function<bool()>& give_up);
  // Waits until everything that was saved is written.
  void Await(const std::function<void(std::int64_t waited_ms)>& await);
  // Takes the results that are ready. Call it often.
  void Collect();
  // Returns whether one has failed since the last call.
  bool TakeFailed() { return std::exchange(failed_, false); }
  // Whether the last one failed because of a full disk. Until TakeSpare it can be tried again.
  bool lacks_room() const { return lacks_room_ && last_.checkpoint != nullptr; }
  void Retry();  // REQUIRES: lacks_room(), idle()
  // Returns the memory of the last checkpoint, for the next one: new memory of a large net costs as
  // much as the copy.
  std::optional<StateCopy> TakeSpare();
  // Writes the checkpoints whose parts are complete by now.
  void SaveCompleteParts();
  // Waits until every submitted checkpoint is written. Nothing is taken afterwards.
  void Finish();

  bool idle() const { return unsaved_.empty() && writer_.pending() == 0; }
  // How far the checkpoint is that is being written, or was last.
  WriteProgress::Now progress() const { return writer_.progress(); }
  // Returns whether a checkpoint of `version` is written or pending.
  bool Has(std::uint64_t version) const { return newest_begun_ == version; }
  const std::string& newest() const { return newest_; }  // relative to the run directory; "": none
  std::uint64_t newest_version() const { return newest_version_; }
  // Whether a later learner has taken over the run: this one must end.
  bool fenced_off() const { return fenced_off_; }
  const std::string& error() const { return error_; }  // of the newest checkpoint; "" if it is good

 private:
  // Shard 0's part of a checkpoint while the other shards write theirs.
  struct Unsaved {
    std::uint64_t version = 0;
    CheckpointWriter::Job job;  // without a checkpoint: abandoned, too many saves pending
  };
  CheckpointWriter::Job Begin(CheckpointContent content);
  void WarnOfSlowDisk(std::uint64_t version);
  void Note(const JournalPruned& journal);
  void Fail(std::uint64_t version, const std::string& error);

  const Config& config_;
  const net::ParameterLayout& layout_;
  const std::string spaces_;
  const Clock& clock_;
  CheckpointWriter writer_;
  PartsOf parts_;
  std::deque<Unsaved> unsaved_;
  CheckpointWriter::Job last_;                 // that has a result
  std::optional<std::uint64_t> newest_begun_;  // version of the last Save that has not failed
  std::string newest_;
  std::uint64_t newest_version_;
  std::string error_;
  bool fenced_off_ = false, failed_ = false, lacks_room_ = false;
  bool journal_too_long_ = false;  // it was warned of
  RateLimitedLog slow_disk_{10'000}, failures_{60'000, 3};
};

}  // namespace starling::learner
