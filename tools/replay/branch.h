// `starling replay RUN --without-actor N`: another run, which is the same up to a version and goes
// on from there without one actor.
#pragma once

#include "tools/replay/replay.h"

namespace starling::replay {

// Writes the branch as a run directory: journal, metrics, summary and the checkpoint at its end.
// Returns kExitFailed, with the reason in summary.json, if it could not be computed or written.
// Throws UserError before anything is written.
int RunBranch(const ReplayOptions& options);

}  // namespace starling::replay
