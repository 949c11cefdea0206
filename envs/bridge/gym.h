// Gymnasium's envs ("gym:CartPole-v1", "gym:ALE/Pong-v5", any installed id), played by
// gym_worker.py in child processes; docs/environments-gym.md.
#pragma once

#include <filesystem>
#include <memory>
#include <string>

#include "core/config/config.h"
#include "envs/env.h"
#include "envs/frames.h"

namespace starling::envs {

inline constexpr char kGymPrefix[] = "gym:";

// The Python program of the workers.
extern const char kGymWorker[];

// The frames of config.name = "gym:" + id. Asks a child process, once for every env, options and
// interpreter. Throws UserError if the interpreter, gymnasium, the env or its spaces are missing or
// unfit.
FrameSpec GymSpec(const EnvConfig& config);

// B = `num_envs` >= 1 envs, config.per_process in each process. Throws UserError as GymSpec.
std::unique_ptr<FrameEnvs> MakeGymFrames(const EnvConfig& config, int num_envs, const EnvSeed& seed,
                                         const WhileWaiting& while_waiting = {});

// The interpreter: env.python unless that is "auto"; else $STARLING_PYTHON; else .venv-gym, made by
// scripts/setup --gym, three folders above `program_dir` or in `working_dir`; else python3. Throws
// UserError if a named interpreter does not exist, or none is found.
std::string FindPython(const std::string& python, const std::filesystem::path& program_dir,
                       const std::filesystem::path& working_dir);

}  // namespace starling::envs
