// A file that says who is at work: one process at a time holds the lock on it.
#pragma once

#include <filesystem>

#include "core/file_descriptor.h"

namespace starling::results {

class LockedFile {
 public:
  // Opens `path` for appending, and makes it if there is none. Throws std::system_error.
  explicit LockedFile(const std::filesystem::path& path);

  // Whether the lock is ours as long as this lives; false: another process has it. Where the file
  // system knows no locks nobody is kept out.
  bool held() const { return held_; }
  int fd() const { return file_.get(); }

 private:
  FileDescriptor file_;
  bool held_ = false;
};

// Whether a process holds the lock on `path`, which need not exist.
bool IsLocked(const std::filesystem::path& path);

}  // namespace starling::results
