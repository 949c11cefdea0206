#include "envs/bridge/bridge.h"
#include "envs/bridge/python.h"
#include "envs/bridge/worker_envs.h"

namespace starling::envs {
namespace {

WorkerProgram AleProgram(const EnvConfig& config) {
  return PythonProgram(config, kAlePrefix, "ale:pong", kAleWorker, {});
}

}  // namespace

FrameSpec AleSpec(const EnvConfig& config) { return PythonSpec(config, AleProgram(config)); }

std::unique_ptr<FrameEnvs> MakeAleFrames(const EnvConfig& config, int num_envs, const EnvSeed& seed,
                                         const WhileWaiting& while_waiting) {
  return std::make_unique<WorkerEnvs>(AleProgram(config), num_envs, seed,
                                      WorkerOptionsOf(config, while_waiting));
}

}  // namespace starling::envs
