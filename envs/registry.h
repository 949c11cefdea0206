// Every environment by its name in the configuration: an explicit table in registry.cc.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "core/config/config.h"
#include "envs/env.h"
#include "envs/frames.h"

namespace starling::envs {

// The bundled games, sorted.
std::vector<std::string> EnvNames();

// Whether the game has a difficulty ramp (env.ramping). Throws UserError as SpecOf.
bool Ramps(const std::string& name);

// The spec of the env of `config`, wrappers included. Throws UserError with the nearest known name,
// or with the key that does not fit the env.
EnvSpec SpecOf(const EnvConfig& config);

// B = `num_envs` >= 1 envs. Throws UserError as SpecOf.
std::unique_ptr<VecEnv> MakeVecEnv(const EnvConfig& config, int num_envs, const EnvSeed& seed,
                                   const WhileWaiting& while_waiting = {});

// The same envs below the wrappers: only action_set, sticky_actions and ramping have an effect.
// WrappedEnv on top of them plays the same as MakeVecEnv's. Throws UserError as SpecOf.
std::unique_ptr<FrameEnvs> MakeFrames(const EnvConfig& config, int num_envs, const EnvSeed& seed);

}  // namespace starling::envs
