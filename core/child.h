// Starts, reaps and ends child processes: the learner, actors, runs of a sweep, workers of envs;
// and becomes another program.
// Not boost.process: the steps between fork and exec keep a fleet from leaving orphans,
// so they are spelled out here.
//
// A child runs in a process group of its own, so a terminal's Ctrl-C reaches only us. Its standard
// output and error share one pipe. SIGPIPE and SIGXFSZ are ignored: a dead supervisor or a full
// disk must not cost the learner its final checkpoint. Every other signal is at its default and
// unblocked. The child has no descriptors of ours but those of its ChildSpec. The kernel sends it
// `death_signal` when the thread that called Spawn ends.
//
// Thread safety: between fork and exec the child makes async-signal-safe calls only, so other
// threads may hold any lock meanwhile.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "core/file_descriptor.h"

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

// The child's number for its status pipe, or for the first of `descriptors`.
inline constexpr int kStatusFd = 3;

struct ChildSpec {
  std::filesystem::path program;
  std::vector<std::string> arguments;  // without the program's name
  bool status_pipe = false;        // kStatusFd, non-blocking: a full pipe must not hold a child up
  int death_signal = 0;            // 0: none
  bool our_output = false;         // standard output and error are ours: no pipe
  std::vector<int> descriptors{};  // the child's 3, 4, ...; not with status_pipe
  std::vector<std::string> environment{};  // "NAME=value", added where NAME is not set
  std::vector<std::string> settings{};     // the same, also where it is
  std::string input{};                     // its standard input
};

struct Spawned {
  int pid = -1;             // also its process group; -1 if it could not be started
  int error = 0;            // then the errno
  FileDescriptor output{};  // our end of its output; non-blocking
  FileDescriptor status{};  // our end of its status pipe; non-blocking
};

// Returns once the child has become the program, or has failed to.
Spawned Spawn(const ChildSpec& spec);

// Replaces this process by the program, with the signals and the environment of a child; its
// descriptors stay, but for those that close on exec. Returns the errno if that fails. REQUIRES:
// `spec` has nothing but program, arguments, environment and settings.
int Become(const ChildSpec& spec);

// Returns how the child ended, or nullopt if it has not. Never waits. REQUIRES: `pid` is of Spawn,
// not reaped yet.
std::optional<ChildExit> Reap(int pid);

// Sends SIGTSTP to the child, for it to stop its own children and then itself, and waits for that;
// after `limit_ms` it sends SIGSTOP. A SIGCONT after the return finds it stopped, or ended.
// REQUIRES: as Reap.
void PauseChild(int pid, int limit_ms);

// Waits up to `limit_ms` for the child to end by itself, then kills its process group and reaps it.
// Returns how it ended, or nullopt if it was killed here. REQUIRES: as Reap.
std::optional<ChildExit> EndChild(int pid, int limit_ms);

// Returns the children of any process, as far as its first thread has started them.
std::vector<int> ChildrenOf(int pid);

// Returns the path of program `name`: itself if it has a '/', else the first in $PATH; "" if there
// is no executable one.
std::string FindProgram(const std::string& name);

}  // namespace starling
