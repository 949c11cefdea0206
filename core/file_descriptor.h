// File descriptors that close themselves: of any file, and of a wake-up signal between threads.
#pragma once

#include <sys/eventfd.h>
#include <unistd.h>

#include <utility>

#include "core/error.h"

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

// A wake-up signal: any thread notifies, one thread polls its descriptor.
//
// Thread safety: Notify from any thread; Clear from the polling thread.
class EventFd {
 public:
  // Throws UserError if no descriptor is left.
  EventFd() : fd_(::eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC)) {
    if (fd() < 0) throw UserError("cannot make an eventfd: the limit of open files is reached");
  }

  // Makes fd() readable.
  void Notify() const { ::eventfd_write(fd(), 1); }
  // Makes fd() unreadable and discards all earlier notifications.
  void Clear() const {
    eventfd_t count = 0;
    ::eventfd_read(fd(), &count);
  }
  int fd() const { return fd_.get(); }

 private:
  FileDescriptor fd_;
};

}  // namespace starling
