// Starts and reaps one child process. Not by boost.process: the steps between fork and exec keep a
// fleet from leaving orphans, so they are written out here.
//
// A child has a process group of its own (a terminal's Ctrl-C reaches only the supervisor),
// /dev/null as standard input, one pipe for standard output and error, and no other descriptor of
// ours. SIGPIPE is ignored (a dead supervisor must not cost the learner its final checkpoint),
// SIGXFSZ too (a write beyond the limit fails and is reported); every other signal has its default
// and is unblocked. The kernel sends it `death_signal` when the thread that called Spawn ends, so
// call it from the main thread.
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
ChildExit ExitOf(int wait_status);  // of a process that has ended, from waitpid
// "was killed by SIGKILL", "ended with exit status 3", "could not be started (Out of memory)".
std::string Describe(const ChildExit& exit);
std::string SignalName(int signal);  // "SIGINT"

// The descriptor of the status pipe in a child.
inline constexpr int kStatusFd = 3;

struct ChildSpec {
  std::filesystem::path program;
  std::vector<std::string> arguments;  // without the program's name
  bool status_pipe = false;  // kStatusFd, non-blocking: a full pipe must not block a child
  int death_signal = 0;      // 0: none
  bool our_output = false;   // the child writes to our standard error, without a pipe
};

struct Spawned {
  int pid = -1;        // -1: not started, no pipe is open
  int error = 0;       // then the errno
  int output_fd = -1;  // non-blocking, close-on-exec; the caller reads and closes it
  int status_fd = -1;  // the same; -1 without a status pipe
};

// Returns when the child has become the program, or has failed.
Spawned Spawn(const ChildSpec& spec);

// Returns how the child ended, or nullopt if it runs. Never waits. REQUIRES: `pid` is from Spawn
// and not reaped.
std::optional<ChildExit> Reap(int pid);

}  // namespace starling
