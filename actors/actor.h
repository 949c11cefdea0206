// The actor: newest weights -> unroll -> one gradient -> push, under the learner's grants.
#pragma once

#include <optional>

#include "actors/learner_client.h"

namespace starling::actors {

// Settings of one actor, from its command line, that replace those of the run's configuration.
struct OwnSettings {
  std::optional<DeviceChoice> backend{};  // nullopt: actors.backend
  std::int64_t envs = 0;                  // 0: actors.envs_per_actor
};

// The configuration of this actor. Throws UserError if its gradients would have too many samples.
Config WithOwn(Config config, const OwnSettings& own);

// Runs one actor until the run is over, the actor is stopped, or there is no learner. Joins a lost
// learner again as a new incarnation. Returns kRunOver, kStopped, kRefused or kUnreachable; for the
// last two, `text` is set to a sentence. Throws UserError if the run's environment or net cannot be
// built here.
ClientState RunActor(const ClientOptions& options, std::string& text, const OwnSettings& own = {});

}  // namespace starling::actors
