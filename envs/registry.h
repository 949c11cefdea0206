// Every environment by its name in the configuration: an explicit table in registry.cc.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "core/config/config.h"
#include "core/gpu.h"
#include "envs/env.h"
#include "envs/frames.h"

namespace starling::envs {

// The bundled games, sorted.
std::vector<std::string> EnvNames();

// Whether `name` has the prefix of envs that are not bundled, whose random numbers are not ours
// (envs/bridge/bridge.h).
bool IsForeign(const std::string& name);

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

// Returns why envs of `config` cannot be saved (VecEnv::Save), or "" if they can. Throws UserError
// as SpecOf.
std::string WhyNotSaved(const EnvConfig& config);

// Returns why the steps of envs of `config` may depend on more than seeds and actions, so that no
// run with them can be replayed, or "" if they do not: those of bundled games, and of plug-ins
// without env.isolate that can be saved. These are taken to keep the rule on seeds (envs/plugin.h).
// Throws UserError as SpecOf.
std::string WhyNotRepeated(const EnvConfig& config);

// Returns why the env of `config` cannot be played on a GPU ("env.pixels: ..."), or "" if it can: a
// bundled game without wrappers.
std::string WhyNotOnGpu(const EnvConfig& config);

// The envs that MakeVecEnv makes of the same arguments, thousands of copies side by side, played in
// gpu's stream: the same actions give the same steps. The arrays of Reset and Step are in
// gpu.memory(). An action out of range is not reported; the nearest valid one is played. Reset and
// Step may be recorded (Gpu::Repeat). `steps` is the most Steps between two calls of QueueEpisodes
// (actors.unroll); the GPU keeps 16 bytes for each step and env. `gpu` must outlive the envs.
// Throws UserError if WhyNotOnGpu, and as MakeVecEnv.
std::unique_ptr<VecEnv> MakeGpuEnv(const EnvConfig& config, int num_envs, const EnvSeed& seed,
                                   int steps, Gpu& gpu);

}  // namespace starling::envs
