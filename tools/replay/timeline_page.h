// `starling replay RUN --page`: the updates of a run on one page, to look into each of them.
#pragma once

#include <string>

#include "tools/replay/replay.h"
#include "tools/replay/timeline.h"

namespace starling::replay {

// Returns the whole page: one file, which asks for nothing else. `title` is the run's name,
// `problem` why some updates are not replayed, or "".
std::string TimelinePage(const Timeline& timeline, const std::string& title,
                         const std::string& problem);

// Writes RUN/updates.html. Replays the run, as far as it can be, for the losses and returns.
// Returns the exit status: kExitFailed if the weights differ from the run's or records are missing.
// Throws UserError.
int RunPage(const ReplayOptions& options);

}  // namespace starling::replay
