// Starting and reaping one child process. No boost.process: what happens between fork and exec is
// what keeps a fleet from leaving orphans, so it is spelled out here.
//
// A child runs in a process group of its own (a terminal's Ctrl-C reaches only the supervisor),
// with /dev/null as standard input, standard output and error into one pipe, SIGPIPE ignored (a
// dead supervisor must not cost the learner its final checkpoint), SIGXFSZ too (a write that is too
// much fails and is said), every other signal at its default and unblocked, and no other descriptor
// of ours. The kernel sends it `death_signal` when the thread
// that called Spawn ends: call it from the main thread.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace starling {

// How a child ended.
struct ChildExit {
  enum class How : std::uint8_t { kExited, kKilled, kNotStarted };
  How how = How::kExited;
  int code = 0;  // exit status, signal, or errno
};
// "was killed by SIGKILL", "ended with exit status 3", "could not be started (Out of memory)".
std::string Describe(const ChildExit& exit);
std::string SignalName(int signal);  // "SIGINT"

// The descriptor of the status pipe in a child that has one.
inline constexpr int kStatusFd = 3;

struct ChildSpec {
  std::filesystem::path program;
  std::vector<std::string> arguments;  // without the program's name
  bool status_pipe = false;  // kStatusFd, non-blocking: a full pipe must not hold a child up
  int death_signal = 0;      // 0: none
  bool our_output = false;   // standard output and error are ours: no pipe
};

struct Spawned {
  int pid = -1;  // -1 if it could not be started: then `error` is the errno, and no pipe is open
  int error = 0;
  int output_fd = -1;  // ours to read and close, non-blocking, close-on-exec
  int status_fd = -1;  // likewise; -1 without a status pipe
};

// Returns once the child has become the program, or has failed to.
Spawned Spawn(const ChildSpec& spec);

// How the child ended; nothing if it has not. Never waits. `pid` is one of Spawn, not reaped yet.
std::optional<ChildExit> Reap(int pid);

}  // namespace starling
