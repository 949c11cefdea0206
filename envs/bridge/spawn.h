// Starts a worker's process (protocol.h) and ends it.
//
// Thread safety: between fork and exec only what is async-signal-safe happens, so other threads
// (ZeroMQ's) may hold any lock meanwhile. The process dies with the thread that called Spawn.
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
  std::string input;                     // what it reads on its standard input
  int memory_fd = -1;                    // its descriptor 4
};

struct Spawned {
  int pid = -1;  // also its process group; -1: not started, for `error` (an errno)
  int error = 0;
  Fd control;  // our end of its descriptor 3; what reads from it gives up after 10 ms
  Fd output;   // what it writes to 1 and 2; does not block
};

Spawned Spawn(const SpawnPlan& plan);

// The path of program `name`: itself if it has a '/', else the first in $PATH; "" if there is none
// that may be executed.
std::string FindProgram(const std::string& name);

// Waits up to `limit_ms` for our child `pid` to end by itself, kills it and its process group if it
// does not, and reaps it. Returns how it ended ("ended with exit status 1", "was killed by
// SIGSEGV"), nothing if it had to be killed.
std::optional<std::string> EndProcess(int pid, int limit_ms);

}  // namespace starling::envs
