// Users' own environments, env.name = "plugin:./mine.so": in this process, or with env.isolate in
// processes of their own (envs/worker), where a crash or a hang costs only an episode.
#pragma once

#include <memory>
#include <string>

#include "core/config/config.h"
#include "envs/bridge/plugin_library.h"  // kPluginPrefix
#include "envs/env.h"
#include "envs/frames.h"

namespace starling::envs {

// Loads and checks the plug-in of `config` and begins an episode as a trial; with config.isolate
// all of it happens in a child. Throws UserError as LoadPlugin and PluginEnv, or with the way the
// child ended.
FrameSpec PluginSpec(const EnvConfig& config);

// B = `num_envs` envs. Env i's seed is 63 bits of seed.Stream(i, Purpose::kEnv), and its episode
// seeds derive from that: an env plays the same isolated or not, and among any number of envs.
// Sticky actions "auto" are none. Throws UserError as PluginSpec; so does Advance without
// config.isolate.
std::unique_ptr<FrameEnvs> MakePluginFrames(const EnvConfig& config, int num_envs,
                                            const EnvSeed& seed,
                                            const WhileWaiting& while_waiting = {});

// The path of the program that plays isolated plug-ins: in the running program's folder, or (tests)
// in ../bin. Throws UserError if it is in neither.
std::string EnvWorkerProgram();

}  // namespace starling::envs
