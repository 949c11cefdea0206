// The actor: newest weights -> unroll -> one gradient -> push, under the learner's grants.
#pragma once

#include "actors/link.h"

namespace starling::actors {

// Runs one actor until the run is over, it is told to leave, or there is no learner; a lost learner
// is joined again as a new incarnation. Returns how it ended: kRunOver, kStopped, kRefused or
// kNobody, the last two with `text` set to a sentence. Throws UserError if the run's environment or
// net cannot be built here.
// `backend`: instead of the run's actors.backend, unless it is empty.
LinkState RunActor(const LinkOptions& options, std::string& text, const std::string& backend = "");

}  // namespace starling::actors
