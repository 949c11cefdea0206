// The private place of a run: a short 0700 directory, outside the run directory, for what is named
// in the file system while the run lives: sockets, shared memory, and where the learner can be
// reached.
//
// Layout: ROOT/starling-UID/lock, and for each run ROOT/starling-UID/HASH/{lock, endpoint, control,
// keys, beacon, shards, control-SHARD, weights-TERM, slice-SHARD-of-weights-TERM, gradients-SLOT-INCARNATION}. A place belongs to the process that holds the flock on its `lock`; the
// kernel lets go of it however that process ends, so what a killed run left is recognised and
// removed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

#include "wire/keys.h"

namespace starling::wire {

// "BASE/starling-UID", created if need be. BASE is `configured`, or the first of $XDG_RUNTIME_DIR,
// /dev/shm and /tmp that is a directory we may write to. Throws UserError if there is none, or if
// the directory is a symlink, not ours or not mode 0700.
std::filesystem::path RuntimeRoot(const std::string& configured);

// Owned by the learner, from Create until destruction (or Remove), in the process that created it.
class RunPlace {
 public:
  // The place of `run_dir` (which need not exist yet; its canonical path names the place) under
  // `root` = RuntimeRoot(...). What killed learners left, here and in other places, is removed.
  // Throws UserError if a live learner has this place, naming its process id, or if the paths would
  // be too long for a socket.
  static RunPlace Create(const std::filesystem::path& root, const std::filesystem::path& run_dir);
  ~RunPlace();  // Remove()
  RunPlace(RunPlace&& other) noexcept;
  RunPlace& operator=(RunPlace&&) = delete;

  const std::filesystem::path& path() const { return path_; }
  // "ipc://..." of a socket of this name ("control", "beacon").
  std::string SocketEndpoint(const std::string& name) const;
  // Where the weights of this term go (wire/snapshot.h).
  std::filesystem::path SnapshotPath(std::uint32_t term) const;
  // Where another shard of the learner has its slice of them (learner/shards/shard.h), from the path of the first.
  static std::filesystem::path SlicePath(const std::filesystem::path& snapshot, std::size_t shard);
  // Where the gradients of this life of an actor go (wire/gradient_buffers.h).
  std::filesystem::path BuffersPath(std::uint32_t slot, std::uint32_t incarnation) const;
  // Where the learner asks for keys: those with which actors of this host come in. Before WriteEndpoint.
  void WriteKeys(const Credentials& keys) const;
  // Tells the actors where to connect; written atomically.
  void WriteEndpoint(const std::string& endpoint) const;

  // Removes everything of this place and lets go of it. Does nothing in a forked child.
  void Remove();

  // What an actor looks for.
  struct Found {
    std::filesystem::path endpoint_file;
    std::optional<std::string> endpoint;  // its content, if it is there
  };
  static Found Find(const std::filesystem::path& root, const std::filesystem::path& run_dir);
  // The process that has the place of this run now, if there is one.
  static std::optional<int> FindOwner(const std::filesystem::path& root,
                                      const std::filesystem::path& run_dir);
  // Nothing if there are none (yet).
  static std::optional<Credentials> FindKeys(const std::filesystem::path& root,
                                             const std::filesystem::path& run_dir);
  // Where the learner of `run_dir` has its weights (or had, if it was killed); nothing if there is
  // none, or it does not share them.
  static std::optional<std::filesystem::path> FindSnapshot(const std::filesystem::path& root,
                                                           const std::filesystem::path& run_dir);

  // Removes every place under `root` whose lock nobody holds; returns how many.
  static std::size_t RemoveStale(const std::filesystem::path& root);

 private:
  RunPlace(std::filesystem::path root, std::filesystem::path path, int lock_fd);

  std::filesystem::path root_, path_;
  int lock_fd_ = -1;
  int owner_pid_ = 0;
};

}  // namespace starling::wire
