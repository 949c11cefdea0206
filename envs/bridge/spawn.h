// Starts a worker's process (protocol.h) and ends it.
//
// Thread safety: between fork and exec the child makes async-signal-safe calls only, so other
// threads (ZeroMQ's) may hold any lock meanwhile. The process dies with Spawn's calling thread.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace starling::envs {

// Owns a descriptor.
class Fd {
 public:
  Fd() = default;
  explicit Fd(int fd) : fd_(fd) {}
  ~Fd();
  Fd(Fd&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  Fd& operator=(Fd&& other) noexcept {
    std::swap(fd_, other.fd_);
    return *this;
  }
  int get() const { return fd_; }

 private:
  int fd_ = -1;
};

struct SpawnPlan {
  std::vector<std::string> argv;         // argv[0]: a path
  std::vector<std::string> environment;  // "NAME=value", added where NAME is not set
  std::string input;                     // its standard input
  int memory_fd = -1;                    // its descriptor 4
};

struct Spawned {
  int pid = -1;   // also its process group; -1: not started
  int error = 0;  // then the errno
  Fd control;     // our end of its descriptor 3; reads time out after 10 ms
  Fd output;      // our end of its descriptors 1 and 2; non-blocking
};

Spawned Spawn(const SpawnPlan& plan);

// Returns the path of program `name`: itself if it has a '/', else the first in $PATH; "" if there
// is no executable one.
std::string FindProgram(const std::string& name);

// Waits up to `limit_ms` for our child `pid` to end by itself, kills it and its process group if it
// does not, and reaps it. Returns how it ended ("ended with exit status 1", "was killed by
// SIGSEGV"), or nullopt if it was killed here.
std::optional<std::string> EndProcess(int pid, int limit_ms);

}  // namespace starling::envs
