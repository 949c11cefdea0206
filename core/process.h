// What the three programs share: how they are told to stop, and how a child notices that its parent
// is gone.
#pragma once

#include <sys/types.h>

#include <filesystem>
#include <functional>
#include <string>

namespace starling {

// From now on the first SIGINT, SIGTERM or SIGHUP makes the returned descriptor readable, for good. A second
// SIGINT or SIGHUP ends the process at once, as if nobody had asked, unless `again_ends` is false: somebody
// else sees to that. SIGTERM may be sent as often as one likes: whoever is impatient with that has SIGKILL.
// Call once, early. IgnoreFileSizeSignal is part of it.
int CatchStopSignals(bool again_ends = true);

// From now on SIGHUP makes the returned eventfd readable instead, every time. Call once, after
// CatchStopSignals.
int CatchReloadSignal();

// A write beyond the limit on the size of files fails (EFBIG) instead of killing the process, so
// that whoever writes can say what could not be written.
void IgnoreFileSizeSignal();

// Where the program that runs lies; its siblings are beside it.
std::filesystem::path ProgramDir();

// How an operator calls the program at `path` from the working directory `from`: relative to it
// where that is shorter.
std::string CallName(const std::filesystem::path& path, const std::filesystem::path& from);

// Says whether `parent`, the process that started us, is gone (0: nobody's child, never abandoned).
// The kernel's signal to an orphan (core/child.h) is quicker; this holds even if that one was
// lost.
std::function<bool()> WatchParent(pid_t parent);

}  // namespace starling
