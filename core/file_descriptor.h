// A file descriptor that closes itself.
#pragma once

#include <unistd.h>

#include <utility>

namespace starling {

class FileDescriptor {
 public:
  FileDescriptor() = default;
  // Takes ownership of `fd`. A negative one, as a failed open returns it, is never closed.
  explicit FileDescriptor(int fd) : fd_(fd) {}
  ~FileDescriptor() {
    if (fd_ >= 0) ::close(fd_);
  }
  FileDescriptor(FileDescriptor&& other) noexcept : fd_(other.Release()) {}
  FileDescriptor& operator=(FileDescriptor&& other) noexcept {
    std::swap(fd_, other.fd_);
    return *this;
  }

  int get() const { return fd_; }
  int Release() { return std::exchange(fd_, -1); }
  // Returns the result of close(2): on network file systems closing reports a failed write.
  int Close() { return ::close(Release()); }

 private:
  int fd_ = -1;
};

}  // namespace starling
