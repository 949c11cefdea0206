// Users' own environments, env.name = "plugin:./mine.so": in this process, or with env.isolate in
// processes of their own (envs/worker), where a crash or a hang costs an episode.
#pragma once

#include <memory>
#include <string>

#include "core/config/config.h"
#include "envs/bridge/plugin_library.h"  // kPluginPrefix
#include "envs/env.h"
#include "envs/frames.h"

namespace starling::envs {

// Loads and checks the plug-in that `config` names and begins an episode, to see that it can; with
// config.isolate all of it happens in a child. Throws UserError, one sentence: as LoadPlugin and
// PluginEnv, or how the child ended.
FrameSpec PluginSpec(const EnvConfig& config);

// B = `num_envs` envs. Env i's seed is 63 bits of StreamId{seed, slot, incarnation, i, kEnv}, of
// which those of its episodes derive: isolated or not, however many, it plays the same. Sticky
// actions "auto" are none. Throws UserError as PluginSpec; so does Advance, if it is this process
// that plays.
std::unique_ptr<FrameEnvs> MakePluginFrames(const EnvConfig& config, int num_envs,
                                            const EnvSeed& seed,
                                            const WhileWaiting& while_waiting = {});

// The program that plays isolated plug-ins: beside the program that runs, or in ../bin beside it
// (tests). Throws UserError where it is in neither.
std::string EnvWorkerProgram();

}  // namespace starling::envs
