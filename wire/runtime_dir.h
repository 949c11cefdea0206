// The private directory of a run, of mode 0700 with a short path outside the run directory: for the
// sockets, the shared memory and the learner's address while the run lives.
//
// Layout: ROOT/starling-UID/lock, and for each run ROOT/starling-UID/HASH/{lock, endpoint, control,
// keys, beacon, shards, status, control-SHARD, weights-TERM, slice-SHARD-of-weights-TERM,
// gradients-SLOT-INCARNATION}, or Open MPI's files. It belongs to the process that holds the flock
// on its `lock`. The kernel releases that when the process ends in any way, so the next start
// recognises the files of a killed run and removes them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

#include "core/file_descriptor.h"
#include "wire/keys.h"

namespace starling::wire {

// Returns "BASE/starling-UID" and creates it if it does not exist. BASE is `configured`, or the
// first writable directory of $XDG_RUNTIME_DIR, /dev/shm and /tmp. Throws UserError if there is
// none, or if the directory is a symlink, belongs to another user or is not mode 0700.
std::filesystem::path RuntimeRoot(const std::string& configured);

// The directory in use by a learner, from Create until Remove or the destructor.
class RuntimeDir {
 public:
  // Creates the directory of `run_dir` under `root` = RuntimeRoot(...). The canonical path of
  // `run_dir`, which need not exist yet, gives its name. Removes the files of killed
  // learners, here and in others. Throws UserError if a live learner has it, naming its process id,
  // or if the paths are too long for a socket.
  static RuntimeDir Create(const std::filesystem::path& root, const std::filesystem::path& run_dir);
  // Throws UserError if the paths of the sockets under `root` are too long.
  static void CheckFits(const std::filesystem::path& root);
  ~RuntimeDir() { Remove(); }
  RuntimeDir(RuntimeDir&&) noexcept = default;
  RuntimeDir& operator=(RuntimeDir&&) = delete;

  const std::filesystem::path& path() const { return path_; }
  // "ipc://..." of the socket with this name ("control", "beacon").
  std::string SocketEndpoint(const std::string& name) const;
  // The file for the weights of this term (wire/snapshot.h).
  std::filesystem::path SnapshotPath(std::uint32_t term) const;
  // The file for another shard's slice of the weights (learner/shards/shard.h), from SnapshotPath.
  static std::filesystem::path SlicePath(const std::filesystem::path& snapshot, std::size_t shard);
  // The file for the gradients of this incarnation of an actor (wire/gradient_buffers.h).
  std::filesystem::path BuffersPath(std::uint32_t slot, std::uint32_t incarnation) const;
  // Stores the keys for actors of this host. REQUIRES: called before WriteEndpoint.
  void WriteKeys(const Credentials& keys) const;
  // Stores the learner's endpoint for the actors, atomically.
  void WriteEndpoint(const std::string& endpoint) const;

  // Empties such a directory, except for its lock.
  static void Clear(const std::filesystem::path& dir);
  // Removes the directory and releases its lock. Does nothing in a forked child.
  void Remove();

  struct Found {
    std::filesystem::path endpoint_file;
    std::optional<std::string> endpoint;  // content of the file, if it exists
  };
  static Found Find(const std::filesystem::path& root, const std::filesystem::path& run_dir);
  // Returns the process id of the learner that has the directory now, if there is one.
  static std::optional<int> FindOwner(const std::filesystem::path& root,
                                      const std::filesystem::path& run_dir);
  // Returns the keys that WriteKeys stored, if there are any.
  static std::optional<Credentials> FindKeys(const std::filesystem::path& root,
                                             const std::filesystem::path& run_dir);
  // Returns the file with the weights of the learner of `run_dir`, also of a killed one; nullopt if
  // there is no learner or it does not share weights.
  static std::optional<std::filesystem::path> FindSnapshot(const std::filesystem::path& root,
                                                           const std::filesystem::path& run_dir);

  // The file for the newest status, for readers outside (learner/run_status.h). A supervisor keeps
  // its own, in the directory of FleetOf(run_dir).
  static std::filesystem::path StatusPath(const std::filesystem::path& root,
                                          const std::filesystem::path& run_dir);
  static std::filesystem::path FleetOf(const std::filesystem::path& run_dir) {
    return run_dir / "fleet";
  }

  // Removes every directory under `root` whose lock is free; returns their number.
  static std::size_t RemoveStale(const std::filesystem::path& root);

 private:
  RuntimeDir(std::filesystem::path root, std::filesystem::path path, FileDescriptor lock);

  std::filesystem::path root_, path_;
  FileDescriptor lock_;
  int owner_pid_ = 0;
};

}  // namespace starling::wire
