// The values behind "auto"; declared in config_rules.h.
#include <fmt/format.h>
#include <sched.h>

#include <algorithm>
#include <filesystem>
#include <thread>
#include <utility>

#include "core/config/config_rules.h"
#include "core/gpu.h"
#include "core/instructions.h"

namespace starling {
namespace {

// So many environments at once fill a GPU. Whatever their number, an unroll takes about 0.6 ms
// there (H100; extrapolated from 1,024 and 4,096 environments with 8 steps each,
// docs/results/2026-11-26-h100.md): 256 environments with 5 steps are then faster than on 16 cores,
// or, with games on the host, about as fast. A core takes tens of times longer for the nets of
// large pictures; their number is an estimate.
constexpr std::int64_t kEnvsThatFill = 256, kEnvsThatFillWithPictures = 16;

bool IsForPictures(NetKind kind) {
  return kind == NetKind::kAtari || kind == NetKind::kAtariLstm || kind == NetKind::kNature ||
         kind == NetKind::kImpala;
}

std::int64_t CeilDiv(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }

// The natural staleness of free-running actors is about N / K - 1; returns the K that fits the
// bound. With a delay the staleness does not depend on K.
std::int64_t GradientsFor(std::int64_t actors, const StalenessConfig& staleness) {
  const std::uint64_t bound = staleness.bound;
  if (staleness.delayed() || std::cmp_greater_equal(bound, actors)) return 1;
  return CeilDiv(actors, static_cast<std::int64_t>(bound) + 1);
}

// With a second grant an actor computes while its last gradient is applied; over tcp, where answers
// and weights take longer, with a third. An actor whose games are on a GPU starts a gradient before
// the last one is finished, and so holds one more. That pays where the natural staleness of so many
// grants per actor fits the bound; elsewhere actors would only wait longer for each other.
std::int64_t GrantsFor(const Config& config) {
  // As Rollout::runs_ahead, where the games are on a GPU for certain.
  const bool ahead = config.actors.env_device == DeviceChoice::kCuda && config.net.stages == 1 &&
                     !config.reuses_data();
  const std::int64_t useful = (OverTcp(config.wire) ? 3 : 2) + (ahead ? 1 : 0);
  const auto fits = [&](std::int64_t grants) {
    const std::int64_t most = grants * config.actors.count;
    return std::cmp_less_equal(CeilDiv(most, config.updates.gradients) - 1, config.staleness.bound);
  };
  if (config.staleness.bound == 0) return 1;
  if (config.staleness.delayed()) {  // as few as the delay needs
    const std::uint64_t needed = config.staleness.under_way(config.updates.gradients);
    return std::min(CeilDiv(static_cast<std::int64_t>(needed), config.actors.count), kMaxInFlight);
  }
  for (std::int64_t grants = useful; grants > 1; --grants) {
    if (fits(grants)) return grants;
  }
  return 1;
}

}  // namespace

std::int64_t UsableCores() {
  cpu_set_t mask;
  if (sched_getaffinity(0, sizeof mask, &mask) == 0) return std::max(CPU_COUNT(&mask), 1);
  // The machine has more processors than a cpu_set_t can hold.
  return std::max(std::thread::hardware_concurrency(), 1u);
}

// ZeroMQ encrypts and decrypts in these threads; without keys one moves gigabytes a second.
std::int64_t IoThreads(const WireConfig& wire) {
  if (wire.io_threads != 0) return wire.io_threads;
  return wire.secret.empty() ? 1 : std::clamp<std::int64_t>(UsableCores() / 2, 1, 4);
}

BackendChoice ChooseBackend(const Config& config, const GpuSearch& found) {
  const ActorsConfig& actors = config.actors;
  if (actors.backend != DeviceChoice::kAuto) {
    return {.gpu = actors.backend == DeviceChoice::kCuda && !found.gpus.empty(), .why = ""};
  }
  const bool wished =
      actors.env_device == DeviceChoice::kCuda || config.net.precision == Precision::kTf32;
  if (found.gpus.empty()) {
    return {.gpu = false, .why = found.why_none + "; computing on the processor", .wished = wished};
  }
  if (wished) {
    return {.gpu = true, .why = "this run needs a GPU: computing on it", .wished = true};
  }
  const std::int64_t envs = std::max<std::int64_t>(actors.envs_per_actor / actors.groups, 1),
                     fill =
                         IsForPictures(config.net.kind) ? kEnvsThatFillWithPictures : kEnvsThatFill;
  if (envs >= fill) {
    return {.gpu = true,
            .why = fmt::format("{} environments at once fill a GPU: computing on it", envs)};
  }
  return {.gpu = false,
          .why = fmt::format("{} environments at once do not fill a GPU ({} do): computing on the "
                             "processor; actors.backend = \"cuda\" takes the GPU all the same",
                             envs, fill)};
}

std::int64_t ActorsThatFit(const Config& config) {
  if (config.actors.count != 0) return config.actors.count;
  std::int64_t places = UsableCores();
  if (config.actors.backend != DeviceChoice::kCpu) {
    const GpuSearch found = FindGpus();
    if (ChooseBackend(config, found).gpu) places = std::ssize(found.gpus);
  }
  return std::max<std::int64_t>(places / config.net.stages, 1);
}

void ResolveAuto(Config& config, const std::string& file, std::int64_t actors_that_fit) {
  std::string& name = config.run.name;
  if (name.empty()) name = std::filesystem::path(file).stem().string();
  if (name.empty() || name == "." || name == "..") name = "run";
  if (config.run.dir.empty()) config.run.dir = "runs/" + config.run.name;
  if (config.actors.count == 0) {
    config.actors.count = std::clamp<std::int64_t>(actors_that_fit, 1, 1024);
  }
  if (config.net.kind == NetKind::kAuto) {
    config.net.kind = config.net.layers.empty() ? NetKind::kMinatar : NetKind::kLayers;
  }
  if (config.actors.instructions == Instructions::kAuto) {
    config.actors.instructions = BestInstructions();
  }
  UpdatesConfig& updates = config.updates;
  const auto resolve = [&config](const char* key, std::int64_t& value, std::int64_t resolved) {
    if (value != 0) return;
    value = resolved;
    config.automatic.emplace_back(key);
  };
  resolve("optimizer.lr_samples", config.optimizer.lr_samples, config.samples_per_gradient());
  resolve("updates.start_with", updates.start_with, config.actors.count);
  resolve("updates.gradients", updates.gradients,
          GradientsFor(config.actors.count, config.staleness));
  resolve("updates.in_flight", updates.in_flight, GrantsFor(config));
}

}  // namespace starling
