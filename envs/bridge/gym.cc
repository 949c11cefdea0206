#include "envs/bridge/bridge.h"
#include "envs/bridge/protocol.h"
#include "envs/bridge/python.h"
#include "envs/bridge/worker_envs.h"

namespace starling::envs {
namespace {

WorkerProgram GymProgram(const EnvConfig& config) {
  return PythonProgram(config, kGymPrefix, "gym:CartPole-v1", kGymWorker,
                       {{"most_numbers", kMaxRowNumbers},
                        {"most_actions", kMaxWorkerActions},
                        {"most_entries", kMaxEntries},
                        {"longest_name", kMaxEntryName}});
}

}  // namespace

FrameSpec GymSpec(const EnvConfig& config) { return PythonSpec(config, GymProgram(config)); }

std::unique_ptr<FrameEnvs> MakeGymFrames(const EnvConfig& config, int num_envs, const EnvSeed& seed,
                                         const WhileWaiting& while_waiting) {
  return std::make_unique<WorkerEnvs>(GymProgram(config), num_envs, seed,
                                      WorkerOptionsOf(config, while_waiting));
}

}  // namespace starling::envs
