// The actor: newest weights -> unroll -> one gradient -> push, under the learner's grants.
#pragma once

#include <string>

#include "actors/learner_client.h"
#include "actors/own_settings.h"

namespace starling::actors {

// Runs one actor until the run is over, the actor is stopped, or there is no learner. Joins a lost
// learner again as a new incarnation. Returns kRunOver, kStopped, kRefused or kUnreachable; for the
// last two, `text` is set to a sentence. Throws UserError if the run's environment or net cannot be
// built here, or as WithOwn.
ClientState RunActor(const ClientOptions& options, std::string& text, const OwnSettings& own = {});

}  // namespace starling::actors
