#include "actors/replica.h"

#include <algorithm>
#include <utility>

#include "core/config/config_rules.h"
#include "core/error.h"
#include "envs/paced.h"
#include "envs/registry.h"
#include "net/backend.h"

namespace starling::actors {

bool UsesGpu(const Config& config) {
  const DeviceChoice backend = config.actors.backend;
  if (backend == DeviceChoice::kCpu) return false;
  const GpuSearch found = FindGpus();
  if (found.gpus.empty() && backend == DeviceChoice::kCuda) {
    throw UserError("actors.backend = \"cuda\": " + found.why_none +
                        "; actors.backend = \"auto\" takes the processor where no GPU is",
                    "actors.backend");
  }
  return ChooseBackend(config, found).gpu;
}

int GpuOf(std::uint32_t slot, std::size_t gpus, int stage, int stages) {
  return static_cast<int>(
      (std::size_t{slot} * static_cast<std::size_t>(stages) + static_cast<std::size_t>(stage)) %
      gpus);
}

namespace {

Replica MakeStage(const Config& config, std::uint32_t slot, int stage) {
  Replica replica;
  if (UsesGpu(config)) {
    const auto stages = static_cast<int>(config.net.stages);
    replica.gpu = OpenGpu(GpuOf(slot, FindGpus().gpus.size(), stage, stages));
    replica.backend = net::MakeCudaBackend(*replica.gpu, config.net.precision);
  } else {
    // tf32 is for GPUs alone. A processor in place of one computes in f32.
    const Precision precision =
        config.net.precision == Precision::kTf32 ? Precision::kF32 : config.net.precision;
    replica.backend = net::MakeCpuBackend(precision, config.actors.instructions);
  }
  return replica;
}

}  // namespace

Replica MakeReplica(const Config& config, std::uint32_t slot) {
  Replica replica = MakeStage(config, slot, 0);
  replica.next = [config, slot](int stage) { return MakeStage(config, slot, stage); };
  return replica;
}

bool PlaysOnGpu(const Config& config) {
  const DeviceChoice device = config.actors.env_device;
  if (device == DeviceChoice::kCpu) return false;
  const std::string why_not = envs::WhyNotOnGpu(config.env);
  if (why_not.empty()) return true;
  if (device == DeviceChoice::kAuto) return false;
  throw UserError("actors.env_device = \"cuda\": " + why_not, "actors.env_device");
}

namespace {

std::unique_ptr<envs::VecEnv> MakeUnpaced(const Config& config, int envs, const Replica& replica,
                                          const envs::EnvSeed& seed,
                                          const envs::WhileWaiting& while_waiting) {
  if (replica.gpu != nullptr && PlaysOnGpu(config)) {
    return envs::MakeGpuEnv(config.env, envs, seed, static_cast<int>(config.actors.unroll),
                            *replica.gpu);
  }
  auto env = envs::MakeVecEnv(config.env, envs, seed, while_waiting);
  Memory& memory = replica.backend->memory();
  if (memory.on_host()) return env;
  return std::make_unique<DeviceEnv>(std::move(env), memory);
}

// `env` at its part of the pace of `config`, that of the envs in one of its groups.
std::unique_ptr<envs::VecEnv> AtPace(std::unique_ptr<envs::VecEnv> env, const Config& config,
                                     const envs::EnvSeed& seed,
                                     const std::shared_ptr<envs::PacedSimulator>& simulator,
                                     const envs::WhileWaiting& while_waiting) {
  EnvConfig part = config.env;
  part.step_ms *=
      static_cast<double>(env->size()) / static_cast<double>(config.actors.envs_per_actor);
  return std::make_unique<envs::Paced>(std::move(env), envs::Pace(part, config.actors.unroll, seed),
                                       simulator, while_waiting);
}

EnvGroups Make(const Config& config, const Replica& replica, const envs::EnvSeed& seed,
               const envs::WhileWaiting& while_waiting,
               const std::shared_ptr<envs::PacedSimulator>& simulator) {
  return MakeGroups(config, seed, [&](int envs, const envs::EnvSeed& of_group) {
    auto env = MakeUnpaced(config, envs, replica, of_group, while_waiting);
    if (config.env.step_ms == 0) return env;
    return AtPace(std::move(env), config, seed, simulator, while_waiting);
  });
}

}  // namespace

EnvGroups MakeGroups(const Config& config, const envs::EnvSeed& seed, const MakeGroup& make) {
  const auto envs = static_cast<int>(config.actors.envs_per_actor);
  const int groups = std::min(static_cast<int>(config.actors.groups), envs);
  EnvGroups made;
  envs::EnvSeed of_group = seed;
  for (int group = 0; group < groups; ++group) {
    const int first = envs * group / groups, end = envs * (group + 1) / groups;
    of_group.first = static_cast<std::uint32_t>(first);
    made.push_back(make(end - first, of_group));
  }
  return made;
}

EnvGroups MakeEnvs(const Config& config, const Replica& replica, const envs::EnvSeed& seed,
                   const envs::WhileWaiting& while_waiting) {
  return Make(config, replica, seed, while_waiting, nullptr);
}

EnvGroups MakePacedEnvs(const Config& config, const Replica& replica, const envs::EnvSeed& seed,
                        const envs::WhileWaiting& while_waiting) {
  std::shared_ptr<envs::PacedSimulator> simulator;
  if (config.env.step_ms > 0) {
    simulator = std::make_shared<envs::PacedSimulator>(std::make_unique<envs::SteadySleeper>());
  }
  return Make(config, replica, seed, while_waiting, simulator);
}

DeviceEnv::DeviceEnv(std::unique_ptr<envs::VecEnv> env, Memory& memory)
    : env_(std::move(env)),
      memory_(memory),
      actions_(Envs() * static_cast<std::size_t>(env_->spec().actions.width()), memory.host_side()),
      observations_(Envs() * env_->spec().row(), memory.host_side()),
      rewards_(Envs(), memory.host_side()),
      terminals_(Envs(), memory.host_side()) {}

void DeviceEnv::Reset(std::span<float> observations) {
  memory_.Wait();  // earlier observations may still be on their way
  env_->Reset(observations_.span());
  truncated_.clear();
  Write<float>(memory_, observations, observations_.span());
}

void DeviceEnv::StepAsync(std::span<const std::int32_t> actions) {
  Read(memory_, actions_.span(), actions);
  memory_.Wait();
  env_->StepAsync(actions_.span());
}

void DeviceEnv::StepWait(std::span<float> observations, std::span<float> rewards,
                         std::span<std::uint8_t> terminals) {
  env_->StepWait(observations_.span(), rewards_.span(), terminals_.span());
  KeepTruncated();
  Write<float>(memory_, observations, observations_.span());
  Write<float>(memory_, rewards, rewards_.span());
  Write<std::uint8_t>(memory_, terminals, terminals_.span());
}

void DeviceEnv::Fields(StateBytes& state) {
  if (state.reading()) truncated_.clear();
  env_->Fields(state);
}

void DeviceEnv::KeepTruncated() {
  truncated_.clear();
  for (const envs::Truncated& end : env_->truncated()) {
    if (final_observations_.size() == 0) {
      final_observations_ = Buffer<float>(observations_.size(), memory_.host_side());
    }
    const auto at = static_cast<std::size_t>(end.env) * end.observation.size();
    const auto kept = final_observations_.span().subspan(at, end.observation.size());
    std::ranges::copy(end.observation, kept.begin());
    truncated_.push_back({end.env, kept});
  }
}

}  // namespace starling::actors
