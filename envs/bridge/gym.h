// Gymnasium's envs ("gym:CartPole-v1", "gym:ALE/Pong-v5", any id that is installed), played by
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

// The program of the workers, in Python.
extern const char kGymWorker[];

// Frames of config.name = "gym:" + id: one process is started and asked, once for every env,
// options and interpreter. Throws UserError where the interpreter, gymnasium, the env or its spaces
// are missing or unfit.
FrameSpec GymSpec(const EnvConfig& config);

// B = `num_envs` >= 1 of them, config.per_process in each process. Throws UserError as GymSpec.
std::unique_ptr<FrameEnvs> MakeGymFrames(const EnvConfig& config, int num_envs, const EnvSeed& seed,
                                         const WhileWaiting& while_waiting = {});

// The interpreter: env.python unless that is "auto"; else $STARLING_PYTHON; else .venv-gym, made by
// scripts/setup --gym, three folders above `program_dir` or in `working_dir`; else python3. Throws
// UserError if what was asked for is not there.
std::string FindPython(const std::string& python, const std::filesystem::path& program_dir,
                       const std::filesystem::path& working_dir);

}  // namespace starling::envs
