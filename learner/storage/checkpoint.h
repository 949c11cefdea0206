// Checkpoints: safetensors files that are complete or absent, whose damage is detected, and that
// sort by name ("t0001-v000000012345.safetensors"). A file holds one tensor per parameter
// ("conv1.weight") and per parameter of the optimizer state ("optimizer.square_avg.conv1.weight");
// everything else is metadata. Nothing depends on the wall clock. A learner of several processes
// writes a directory of parts instead (checkpoint_format.h); every function here accepts both.
//
// Thread safety: the functions share nothing but the directory. One thread writes to a directory;
// only its best checkpoint is written by others.
// CheckpointWriter: called by one thread (the network thread).
#pragma once

#include <cstdint>
#include <deque>
#include <filesystem>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "core/file.h"
#include "core/queue.h"
#include "learner/storage/actor_states.h"
#include "learner/storage/journal.h"
#include "learner/storage/journal_prune.h"
#include "learner/storage/journal_writer.h"
#include "net/parameters.h"
#include "wire/slices.h"

namespace starling::learner {

// The state of training at one version. The pipeline starts from it; a checkpoint holds it.
struct TrainingState {
  std::uint32_t term = 1;
  std::uint64_t version = 0;
  std::uint64_t steps = 0;           // samples applied
  std::uint64_t optimizer_step = 0;  // updates applied
  std::vector<float> weights;
  // One vector for each slot of the optimizer, as long as the weights; empty: zeros.
  std::vector<std::vector<float>> optimizer_state;
};

// Returns the part of `whole` that belongs to `slice` of the weights.
TrainingState CutOut(TrainingState whole, wire::Slice slice);

// Training right after one update, as the engine knows it. Later updates may be in flight.
struct CheckpointContent {
  TrainingState state;
  std::string counters = "{}";  // Counters::Save; opaque here
  JournalPosition journal{};    // a resumed learner goes on behind it
  JournalSync journal_sync{};   // until it has run, a power cut may take what lies before it
  bool journal_whole = true;    // false: a write failed, records up to here are missing
  std::optional<ActorStates> actors{};  // at a cut
};

// The same with everything that a reader needs.
struct Checkpoint : TrainingState {
  JournalPosition journal{};
  bool journal_whole = true;
  net::ParameterLayout layout;
  std::vector<std::string> slot_names;  // "square_avg"
  std::string config;                   // of the run, TOML
  std::string spaces;                   // InitialNet's; "" in those of older programs
  std::string counters;
  std::optional<ActorStates> actors{};  // at a cut; in a file of their own
};

// Returns "t0001-v000000012345.safetensors".
std::string CheckpointName(std::uint32_t term, std::uint64_t version);
// The weights with the best evaluation, in the same directory. Another process writes this file; it
// is neither listed nor pruned.
inline constexpr std::string_view kBestCheckpoint = "best.safetensors";

// Writes dir/CheckpointName, or dir/`name`, atomically and synced; at a cut the states of the
// actors before it. Returns the path. Creates `dir`. Throws std::system_error.
std::filesystem::path WriteCheckpoint(const std::filesystem::path& dir,
                                      const Checkpoint& checkpoint,
                                      WriteProgress* progress = nullptr);
std::filesystem::path WriteCheckpoint(const std::filesystem::path& dir, std::string_view name,
                                      const Checkpoint& checkpoint,
                                      WriteProgress* progress = nullptr);

// Reads a checkpoint. The layout is rebuilt from names and shapes; its fingerprint must equal the
// stored one. The states of the actors stay in their file. Throws std::runtime_error with a
// sentence that names the file and the damage.
Checkpoint ReadCheckpoint(const std::filesystem::path& path);
// Returns whether `path` is a directory with the part of shard 0.
bool HoldsCheckpointParts(const std::filesystem::path& path);

// Returns the checkpoints of `dir` that are part of the run (learner/storage/terms.h) by (term,
// version), newest last; empty without this directory.
std::vector<std::filesystem::path> ListCheckpoints(const std::filesystem::path& dir);

struct LastGoodResult {
  std::optional<Checkpoint> checkpoint;  // nullopt if none is good
  std::filesystem::path path;
  std::vector<std::string> rejected;  // newer, damaged ones: a sentence with file and reason each
};
// Returns the newest checkpoint of `dir` that can be read.
LastGoodResult LastGood(const std::filesystem::path& dir);

// Returns the newest cut of `dir`, with the states of its actors. `rejected` also names states that
// cannot be read.
LastGoodResult NewestCut(const std::filesystem::path& dir);

// Removes all but the newest `keep` checkpoints, but never the newest readable one nor the newest
// cut. Also removes those that are no part of the run, states without their checkpoint, and
// temporary files of killed writers, except those of the best checkpoint: its writer may be at
// work. Returns the removed paths; `dry_run`: those that it would remove. REQUIRES: keep >= 1.
std::vector<std::filesystem::path> Prune(const std::filesystem::path& dir, std::size_t keep,
                                         bool dry_run = false);

// One process of a learner, by number. Each writes its part of every checkpoint.
struct ShardOf {
  std::size_t shard = 0, shards = 1;
};

// Writes and prunes in a thread of its own, so the network thread never waits for the disk. The
// directory must be there: one that was moved away is not made again. Given a checkpoint of a
// shard's slice, it writes that part. Shard 0 writes last; it completes the checkpoint and prunes,
// checkpoints and then the journal.
class CheckpointWriter {
 public:
  struct Job {
    std::shared_ptr<Checkpoint> checkpoint;
    JournalSync journal{};  // is run first: no checkpoint stands behind a journal that is lost
  };
  struct Result {
    std::uint32_t term = 0;
    std::uint64_t version = 0;
    std::filesystem::path path{};  // empty if it failed, and for the parts of shards above 0
    std::string error{};           // why it failed; the older checkpoints are unchanged
    bool fenced_off = false;       // because a later learner has the run
    bool no_room = false;          // because of a full disk (core/room.h)
    JournalPruned journal{};       // behind a checkpoint that is written
    Job job{};                     // the one submitted: for another attempt, or for its memory
  };
  struct Keep {
    std::size_t checkpoints = 1;
    std::uint64_t journal_bytes = UINT64_MAX;  // of the directory `journal` beside `dir`
  };

  // The writer's thread calls `on_result` (may be empty) when a result is ready to Poll.
  CheckpointWriter(std::filesystem::path dir, Keep keep, std::function<void()> on_result = {},
                   ShardOf which = {});
  ~CheckpointWriter();  // Finish
  CheckpointWriter(const CheckpointWriter&) = delete;
  CheckpointWriter& operator=(const CheckpointWriter&) = delete;

  // Never waits. Returns false, and takes nothing, if one is being written and another is queued,
  // or after Finish.
  bool Submit(Job job);
  // Returns the next result in the order of submission, or nullopt.
  std::optional<Result> Poll();
  // Returns the number of submitted checkpoints without a result.
  std::size_t pending() const;
  // Of the file that is being written, or was last.
  WriteProgress::Now progress() const { return progress_.now(); }
  // Waits until every submitted checkpoint is written. Nothing is taken afterwards.
  void Finish();

 private:
  void CountPending(int change);
  void Run();
  std::filesystem::path Write(const Job& job);

  const std::filesystem::path dir_;
  const Keep keep_;
  const std::function<void()> on_result_;
  const ShardOf which_;
  BoundedQueue<Job> queue_{1};
  mutable std::mutex mutex_;  // results_, pending_
  std::deque<Result> results_;
  std::size_t pending_ = 0;
  WriteProgress progress_;
  std::thread thread_;
};

}  // namespace starling::learner
