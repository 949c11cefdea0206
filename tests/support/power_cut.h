// The disk of a machine that may lose its power: what a directory holds after a cut.
//
// A program with power_cut.cc has other functions fsync and fdatasync: below the directory of a
// PowerCut they record what the disk then holds, a file's bytes or a directory's names. Everything
// else is the real file system.
#pragma once

#include <sys/types.h>

#include <filesystem>
#include <functional>
#include <map>
#include <mutex>
#include <string>

#include "core/file_descriptor.h"

namespace starling {

// Thread safety: any thread may sync. One PowerCut at a time.
class PowerCut {
 public:
  // Watches `root`, which is on the disk, and all that it will hold. REQUIRES: it is empty.
  explicit PowerCut(const std::filesystem::path& root);
  ~PowerCut();
  PowerCut(const PowerCut&) = delete;
  PowerCut& operator=(const PowerCut&) = delete;

  // Names that were not synced are kLost, or were written before the cut.
  enum class Names { kLost, kWritten };
  // Replaces `to` by what `root` is after a cut at this moment. A file holds the bytes of its last
  // sync; none if it was never synced.
  void CopyTo(const std::filesystem::path& to, Names names);

  // Calls `look` before each sync, in its thread; not for those that `look` itself makes.
  void BeforeEverySync(std::function<void()> look) { look_ = std::move(look); }

  // Of power_cut.cc. Returns false if the file is not below `root`.
  bool Sync(int fd);

 private:
  // A file or directory, open so that no other one gets its number.
  struct Node {
    FileDescriptor open;
    bool directory = false;
    std::string bytes;                    // of a file, at its last sync
    std::map<std::string, ino_t> synced;  // of a directory, at its last sync
  };
  std::map<std::string, ino_t> NamesNow(const std::filesystem::path& directory);
  void Copy(ino_t node, const std::filesystem::path& to, Names names);

  const std::filesystem::path root_;
  std::function<void()> look_;
  std::mutex mutex_;  // nodes_
  std::map<ino_t, Node> nodes_;
  ino_t top_ = 0;
};

}  // namespace starling
