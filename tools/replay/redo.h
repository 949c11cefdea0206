// `starling replay RUN --from-checkpoint --write`: does the updates again that came after the
// newest cut, and writes the checkpoint that their learner had no time for. The supervisor runs it
// before a learner goes on with a run, so that no update is lost of which an actor has heard.
//
// It is a process of its own because the learner knows no environments. After a death it leaves the
// updates to ranks (updates.exchange): all of them start again with their states, and make the same
// updates at the same time.
#pragma once

#include <functional>

#include "core/clock.h"
#include "tools/replay/replay.h"

namespace starling::replay {

// Called while RunRedo has to wait: each waits for a moment, and returns whether to try again.
struct Waits {
  std::function<bool()> for_room, for_lock;
};
// Ten minutes for room. Five seconds for the lock: a learner whose supervisor was killed ends
// within two.
Waits PatientWaits();

// Returns kExitDone if the newest checkpoint holds every update of the journal now, and is a cut,
// or if ranks make the others again.
// Otherwise logs a warning that names what is lost, changes nothing (with a damaged journal: does
// what can be read), and returns kExitFailed; the run can go on from its newest checkpoint. Throws
// UserError if `run_dir` is none, or if another process keeps it locked. Estimates its time by
// `cpu`.
//
// A learner that started without updates that can be redone would pass them over. While there is no
// room for them, it tries again. If it stays so, or if waiting does not help, it returns
// kExitNotNow, and no learner may start.
int RunRedo(const ReplayOptions& options, const Clock& cpu = CpuClock(),
            const Waits& waits = PatientWaits());

}  // namespace starling::replay
