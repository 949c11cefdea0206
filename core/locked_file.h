// A file with a lock that ends with its process.
#pragma once

#include <filesystem>

#include "core/file_descriptor.h"

namespace starling {

class LockedFile {
 public:
  // Opens or creates `path` for appending. Throws std::system_error.
  explicit LockedFile(const std::filesystem::path& path);

  // Whether this holds the lock; false if another process has it. Always true on a file system
  // without locks.
  bool held() const { return held_; }
  int fd() const { return file_.get(); }

 private:
  FileDescriptor file_;
  bool held_ = false;
};

// Returns whether a process holds the lock on `path`; false if there is no such file.
bool IsLocked(const std::filesystem::path& path);

}  // namespace starling
