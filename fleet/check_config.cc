#include "fleet/check_config.h"

#include <fmt/format.h>
#include <unistd.h>

#include "actors/replica.h"
#include "core/error.h"
#include "core/gpu.h"
#include "envs/registry.h"
#include "monitor/http/status_server.h"
#include "results/trained.h"
#include "wire/endpoint.h"
#include "wire/keys.h"
#include "wire/runtime_dir.h"

namespace starling::fleet {
namespace {

// Runs `check` and adds its UserError, under its own key or else under `key`. Returns whether there
// was none.
bool Passes(const std::string& key, std::vector<Contradiction>& found, const auto& check) {
  try {
    check();
    return true;
  } catch (const UserError& error) {
    if (error.key().empty()) {
      found.push_back({{key}, key + ": " + error.what()});
    } else {
      found.push_back({{error.key()}, error.what()});
    }
    return false;
  }
}

constexpr double kGib = 1024.0 * 1024 * 1024;

// The memory for observations, in GiB, and its name in a message.
struct Room {
  double gib = 0;
  std::string name;
};

Room RoomFor(bool on_gpu) {
  if (!on_gpu) {
    return {static_cast<double>(::sysconf(_SC_PHYS_PAGES)) *
                static_cast<double>(::sysconf(_SC_PAGE_SIZE)) / kGib,
            "this machine has"};
  }
  std::size_t bytes = 0;
  for (const GpuInfo& gpu : FindGpus().gpus) bytes += gpu.memory;
  return {static_cast<double>(bytes) / kGib, "its GPUs have"};
}

// The observations of one unroll of all actors must fit into memory. Otherwise the run would bring
// this machine down, or fail on the GPU after its start.
void CheckMemory(const Config& config, const envs::EnvSpec& env, bool on_gpu,
                 std::vector<Contradiction>& found) {
  const Room room = RoomFor(on_gpu);
  const ActorsConfig& actors = config.actors;
  const double takes = static_cast<double>(actors.count * actors.envs_per_actor) *
                       static_cast<double>(actors.unroll + 1) * env.obs_size() * sizeof(float) /
                       kGib;
  if (takes <= room.gib) return;
  found.push_back(
      {{"actors.envs_per_actor", "actors.count", "actors.unroll"},
       fmt::format(
           "actors.envs_per_actor = {} contradicts actors.count = {} and actors.unroll = {}: "
           "observations of ({}, {}, {}) would take {:.0f} GiB, and {} {:.0f}",
           actors.envs_per_actor, actors.count, actors.unroll, env.height, env.width, env.channels,
           takes, room.name, room.gib)});
}

// Throws UserError if the processor lacks the precision. A GPU has all of them; a missing GPU is
// reported under actors.backend.
void CheckPrecision(const Config& config) {
  const DeviceChoice backend = config.actors.backend;
  if (backend == DeviceChoice::kCpu && config.net.precision == Precision::kTf32)
    return;  // core/config/config_rules.cc reports it
  if (backend == DeviceChoice::kCuda) return;
  if (backend == DeviceChoice::kAuto && !FindGpus().gpus.empty()) return;
  net::MakeCpuBackend(config.net.precision);
}

}  // namespace

std::vector<Contradiction> CheckConfig(const Config& config) {
  std::vector<Contradiction> found;
  // 1. Game, device, memory and net: each needs the one before.
  envs::EnvSpec env;
  if (Passes("env.name", found, [&] { env = envs::SpecOf(config.env); })) {
    bool on_gpu = false;
    Passes("actors.backend", found, [&] { on_gpu = actors::UsesGpu(config); });
    if (on_gpu) Passes("actors.env_device", found, [&] { actors::PlaysOnGpu(config); });
    CheckMemory(config, env, on_gpu, found);
    const bool fits = Passes("net.kind", found, [&] { results::LayoutOf(config); });
    if (!fits)
      found.back().keys.insert(found.back().keys.end(), {"net.layers", "net.kind", "net.hidden"});
  }
  Passes("net.precision", found, [&] { CheckPrecision(config); });

  // 2. Sockets, keys and paths.
  Passes("wire.endpoint", found, [&] {
    if (config.wire.endpoint != "auto") {
      wire::ParseEndpoint(config.wire.endpoint, !config.wire.secret.empty());
    }
  });
  Passes("wire.address", found, [&] {
    const WireConfig& wire = config.wire;
    if (!wire.address.empty()) {
      wire::ParseEndpoint(fmt::format("tcp://{}:0", wire.address), !wire.secret.empty());
    }
  });
  Passes("wire.secret", found, [&] {
    if (!config.wire.secret.empty()) wire::ReadSecretFile(config.wire.secret);
  });
  Passes("wire.allowed", found, [&] {
    if (!config.wire.allowed.empty()) wire::Allowlist::Read(config.wire.allowed);
  });
  Passes("status.port", found, [&] {
    if (config.status.port != 0)
      monitor::CheckStatusPort(static_cast<std::uint16_t>(config.status.port));
  });
  Passes("wire.runtime_dir", found, [&] { wire::RuntimeRoot(config.wire.runtime_dir); });
  return found;
}

}  // namespace starling::fleet
