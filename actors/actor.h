// The actor: newest weights -> unroll -> one gradient -> push, under the learner's grants.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "actors/learner_client.h"
#include "actors/own_settings.h"
#include "actors/rollout.h"

namespace starling::actors {

// The rollout of a working actor, at the pace of its env. With backend "auto" it logs its choice
// (ChooseBackend), and falls back to the processor if the GPU cannot be opened. `beat` as Rollout's
// `between_steps`, `while_waiting` as MakeEnvs'. Throws UserError if the run's environment or net
// cannot be built here.
std::unique_ptr<Rollout> MakeRollout(Config config, std::uint32_t slot, std::uint32_t life,
                                     const std::function<void()>& beat = {},
                                     const envs::WhileWaiting& while_waiting = {});

// Runs one actor until the run is over, the actor is stopped, or there is no learner. Joins a lost
// learner again as a new incarnation. Returns kRunOver, kStopped, kRefused or kUnreachable; for the
// last two, `text` is set to a sentence. Throws UserError if the run's environment or net cannot be
// built here, or as WithOwn.
ClientState RunActor(const ClientOptions& options, std::string& text, const OwnSettings& own = {});

}  // namespace starling::actors
