// Checkpoints: complete or absent, found damaged if they are, and sortable by name
// ("t0001-v000000012345.safetensors"). One tensor per named parameter ("conv1.weight"), the
// optimizer's likewise ("optimizer.square_avg.conv1.weight"), the rest in the metadata. Nothing of
// the wall clock. Of a learner of several processes it is a directory of parts
// (checkpoint_parts.h), which everything here takes for a file.
//
// Thread safety: the functions share nothing but the directory; one thread writes to a directory,
// its best checkpoint apart.
// CheckpointWriter: one thread (the network thread) calls it.
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

#include "core/queue.h"
#include "net/parameters.h"

namespace starling::learner {

struct Checkpoint {
  std::uint32_t term = 0;
  std::uint64_t version = 0;         // of the weights
  std::uint64_t steps = 0;           // samples applied
  std::uint64_t optimizer_step = 0;  // updates the optimizer has made
  std::uint64_t journal_offset = 0;  // bytes; a resumed learner cuts the journal there
  net::ParameterLayout layout;
  std::vector<float> weights;             // (layout.size())
  std::vector<std::string> slot_names;    // "square_avg"
  std::vector<std::vector<float>> state;  // (slot_names.size()) x (layout.size())
  std::string config;                     // the run's, TOML
  std::string counters;                   // JSON text, opaque here
};

// "t0001-v000000012345.safetensors"
std::string CheckpointName(std::uint32_t term, std::uint64_t version);
// Beside them, but none of them: the weights that did best in an evaluation. Neither listed nor
// pruned, and written by another process.
inline constexpr std::string_view kBestCheckpoint = "best.safetensors";

// Writes dir/CheckpointName, or dir/`name`, atomically and synced; creates `dir`. Throws
// std::system_error.
std::filesystem::path WriteCheckpoint(const std::filesystem::path& dir,
                                      const Checkpoint& checkpoint);
std::filesystem::path WriteCheckpoint(const std::filesystem::path& dir, std::string_view name,
                                      const Checkpoint& checkpoint);

// Throws std::runtime_error with a sentence naming the file and what is wrong. The layout is
// rebuilt from the names and shapes and must have the fingerprint that was noted.
Checkpoint ReadCheckpoint(const std::filesystem::path& path);

// Checkpoints of `dir` by (term, version), newest last. Empty if there is no such directory.
std::vector<std::filesystem::path> ListCheckpoints(const std::filesystem::path& dir);

struct LastGoodResult {
  std::optional<Checkpoint> checkpoint;  // nothing if no file is good
  std::filesystem::path path;
  std::vector<std::string> rejected;  // newer ones: one sentence each, naming file and reason
};
LastGoodResult LastGood(const std::filesystem::path& dir);

// Removes all but the newest `keep` (>= 1) checkpoints, and never the newest that can be read back.
// Removes temporary files that a killed writer left, but for those of the best, whose writer may be
// at work. Returns what was removed.
std::vector<std::filesystem::path> Prune(const std::filesystem::path& dir, std::size_t keep);

// The term of a learner that starts now: larger than every one handed out before in this directory
// and at least `at_least`. Durable (`dir`/term) before it returns, so that a learner that dies
// before any checkpoint is not followed by another of the same term. Throws std::system_error, or
// std::runtime_error if the file holds anything but a number.
std::uint32_t OpenTerm(const std::filesystem::path& dir, std::uint32_t at_least = 1);

// One of the processes that a learner is cut into, which write a part of each checkpoint.
struct ShardOf {
  std::size_t shard = 0, shards = 1;
};

// Writes and prunes in a thread of its own, so that the network thread never waits for the disk. Of
// a checkpoint that is only a shard's slice it writes that part; shard 0, which writes when all
// others have, completes it and prunes.
class CheckpointWriter {
 public:
  struct Result {
    std::uint32_t term = 0;
    std::uint64_t version = 0;
    std::filesystem::path path;  // empty if it failed, and of a part that completes nothing
    std::string error;           // why it failed; the older checkpoints are untouched
  };

  // `on_result` is called by the writing thread after each result is there (may be empty).
  CheckpointWriter(std::filesystem::path dir, std::size_t keep,
                   std::function<void()> on_result = {}, ShardOf which = {});
  ~CheckpointWriter();  // Finish
  CheckpointWriter(const CheckpointWriter&) = delete;
  CheckpointWriter& operator=(const CheckpointWriter&) = delete;

  // False if one is being written and another waits, or after Finish: not taken. Never waits.
  bool Submit(std::shared_ptr<const Checkpoint> checkpoint);
  // Waits until there is room. False only after Finish.
  bool SubmitAndWait(std::shared_ptr<const Checkpoint> checkpoint);
  // The next result, in the order of submission, or nothing yet.
  std::optional<Result> Poll();
  // Checkpoints taken whose result is not there yet.
  std::size_t pending() const;
  // Waits until everything taken is on the disk; nothing is taken afterwards.
  void Finish();

 private:
  void CountPending(int change);
  void Run();
  std::filesystem::path Write(const Checkpoint& checkpoint) const;

  const std::filesystem::path dir_;
  const std::size_t keep_;
  const std::function<void()> on_result_;
  const ShardOf which_;
  BoundedQueue<std::shared_ptr<const Checkpoint>> queue_{1};
  mutable std::mutex mutex_;  // results_, pending_
  std::deque<Result> results_;
  std::size_t pending_ = 0;
  std::thread thread_;
};

}  // namespace starling::learner
