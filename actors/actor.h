// The actor: newest weights -> unroll -> one gradient -> push, under the learner's grants.
#pragma once

#include "actors/link.h"

namespace starling::actors {

// What one actor was told by itself, whatever the run's configuration says to all.
struct OwnSettings {
  std::string backend{};  // "": actors.backend
  std::int64_t envs = 0;  // 0: actors.envs_per_actor
};

// The configuration that this actor works with. Throws UserError if its gradients would have more
// samples than a gradient may.
Config WithOwn(Config config, const OwnSettings& own);

// Runs one actor until the run is over, it is told to leave, or there is no learner; a lost learner
// is joined again as a new incarnation. Returns how it ended: kRunOver, kStopped, kRefused or
// kNobody, the last two with `text` set to a sentence. Throws UserError if the run's environment or
// net cannot be built here.
LinkState RunActor(const LinkOptions& options, std::string& text, const OwnSettings& own = {});

}  // namespace starling::actors
