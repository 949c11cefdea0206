// Envs that are not bundled: Gymnasium's, Atari games and users' own.
#pragma once

#include <filesystem>
#include <memory>
#include <string>

#include "core/config/config.h"
#include "envs/env.h"
#include "envs/frames.h"

namespace starling::envs {

// Gymnasium's ("gym:CartPole-v1", "gym:ALE/Pong-v5", any installed id), played by gym_worker.py in
// child processes; docs/environments-gym.md.
inline constexpr char kGymPrefix[] = "gym:";

// The frames of config.name = "gym:" + id. Asks a child process, once for every env, options and
// interpreter. Throws UserError if the interpreter, gymnasium, the env or its spaces are missing or
// unfit.
FrameSpec GymSpec(const EnvConfig& config);

// B = `num_envs` >= 1 envs, config.per_process in each process. Throws UserError as GymSpec.
std::unique_ptr<FrameEnvs> MakeGymFrames(const EnvConfig& config, int num_envs, const EnvSeed& seed,
                                         const WhileWaiting& while_waiting = {});

// Atari games by the names of their ROMs ("ale:pong"), played by ale_worker.py without Gymnasium.
inline constexpr char kAlePrefix[] = "ale:";

// As for Gymnasium's.
FrameSpec AleSpec(const EnvConfig& config);
std::unique_ptr<FrameEnvs> MakeAleFrames(const EnvConfig& config, int num_envs, const EnvSeed& seed,
                                         const WhileWaiting& while_waiting = {});

// The interpreter: env.python unless that is "auto"; else $STARLING_PYTHON; else .venv-gym, made by
// scripts/setup --gym, three folders above `program_dir` or in `working_dir`; else python3. Throws
// UserError if a named interpreter does not exist, or none is found.
std::string FindPython(const std::string& python, const std::filesystem::path& program_dir,
                       const std::filesystem::path& working_dir);

// Users' own, env.name = "plugin:./mine.so": in this process, or with env.isolate in processes of
// their own (envs/worker), where a crash or a hang costs only an episode.
inline constexpr char kPluginPrefix[] = "plugin:";

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
