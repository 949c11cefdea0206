// Process control for all programs: stop signals, and the end of a parent process.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <filesystem>
#include <functional>
#include <initializer_list>
#include <string>

namespace starling {

// Occupies those of the descriptors 0, 1 and 2 that the caller of this program closed: a file of a
// run that got such a number would receive messages. Writes to them fail as before. REQUIRES:
// called before anything is opened.
void OccupyStandardDescriptors();

// Returns a descriptor that becomes and stays readable at the first SIGINT, SIGTERM or SIGHUP. A
// second SIGINT or SIGHUP ends the process at once, as by default, unless `again_ends` is false. A
// second SIGTERM has no effect. Calls IgnoreFileSizeSignal. REQUIRES: called once, early.
// Each of `more` acts as SIGTERM does.
int CatchStopSignals(bool again_ends = true, std::initializer_list<int> more = {});

// Returns an eventfd that becomes readable at every SIGHUP, which no longer stops the process.
// REQUIRES: called once, after CatchStopSignals.
int CatchReloadSignal();

// Returns an eventfd that becomes readable at every SIGTSTP (Ctrl-Z), which no longer stops the
// process; -1 if the signal is ignored. REQUIRES: called once.
int CatchPauseSignal();

// A write beyond the limit on the size of files fails (EFBIG) instead of killing the process, so
// that the caller of the write can report it.
void IgnoreFileSizeSignal();

// Raises the limit on open files as far as the system allows, also for children. Returns it.
std::uint64_t RaiseOpenFiles();

// Returns the name of this machine, or "an unknown host".
std::string HostName();

// Returns the directory of the running program; the other programs are in it, too.
std::filesystem::path ProgramDir();

// Returns the command for the program at `path` in the working directory `from`: a relative path if
// that is shorter.
std::string CallName(const std::filesystem::path& path, const std::filesystem::path& from);

// Returns a function that returns whether `parent`, the process that started us, has ended (always
// false for 0). The kernel's signal to an orphan (core/child.h) is faster but may be lost.
std::function<bool()> WatchParent(pid_t parent);

}  // namespace starling
