// What the three programs share: how they are told to stop, and how a child notices that its parent
// is gone.
#pragma once

#include <sys/types.h>

#include <functional>

namespace starling::fleet {

// From now on the first SIGINT, SIGTERM or SIGHUP makes the returned descriptor readable, for good;
// a second one ends the process at once, as if nobody had asked. Call once, early.
int CatchStopSignals();

// Says whether `parent`, the process that started us, is gone (0: nobody's child, never abandoned).
// The kernel's signal to an orphan (fleet/child.h) is quicker; this holds even if that one was
// lost.
std::function<bool()> WatchParent(pid_t parent);

}  // namespace starling::fleet
