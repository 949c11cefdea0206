#include "fleet/check_config.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <optional>
#include <utility>

#include "actors/replica.h"
#include "core/error.h"
#include "core/gpu.h"
#include "core/process.h"
#include "core/text.h"
#include "envs/registry.h"
#include "monitor/http/gate.h"
#include "monitor/http/status_server.h"
#include "results/initial_net.h"
#include "results/trained.h"
#include "wire/endpoint.h"
#include "wire/keys.h"
#include "wire/runtime_dir.h"
#include "wire/socket.h"

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
                       static_cast<double>(actors.unroll + 1) * static_cast<double>(env.row()) *
                       sizeof(float) / kGib;
  if (takes <= room.gib) return;
  found.push_back(
      {{"actors.envs_per_actor", "actors.count", "actors.unroll"},
       fmt::format(
           "actors.envs_per_actor = {} contradicts actors.count = {} and actors.unroll = {}: "
           "observations of {} numbers would take {:.0f} GiB, and {} {:.0f}",
           actors.envs_per_actor, actors.count, actors.unroll, env.row(), takes, room.name,
           room.gib)});
}

constexpr std::uint64_t kOwnFiles = 64, kFilesPerActor = 2;  // of a learner

void CheckOpenFiles(const Config& config, std::vector<Contradiction>& found) {
  const std::uint64_t files = RaiseOpenFiles(), most = MaxActors(files);
  if (std::cmp_less_equal(config.actors.count, most)) return;
  found.push_back(
      {{"actors.count"},
       fmt::format("actors.count = {}: the learner would need {} open files ({} and {} an actor), "
                   "and a process may have {} here (ulimit -Hn), enough for {} actors",
                   config.actors.count,
                   kOwnFiles + kFilesPerActor * static_cast<std::uint64_t>(config.actors.count),
                   kOwnFiles, kFilesPerActor, files, most)});
}

// The versions of the weights that the learner keeps, for a correction or a delay, must fit into
// memory.
void CheckVersions(const Config& config, std::size_t floats, std::vector<Contradiction>& found) {
  const StalenessConfig& staleness = config.staleness;
  const Room room = RoomFor(/*on_gpu=*/false);
  const auto check = [&](const char* key, std::uint64_t versions) {
    const double takes =
        static_cast<double>(versions) * static_cast<double>(floats) * sizeof(float) / kGib;
    if (takes <= room.gib) return;
    found.push_back({{key},
                     fmt::format("{} = {}: so many versions of {} weights would take {:.0f} GiB, "
                                 "and {} {:.0f}",
                                 key, versions, Grouped(floats), takes, room.name, room.gib)});
  };
  const bool corrects = staleness.correction != Correction::kNone;
  if (staleness.delayed()) {
    check("staleness.delay", staleness.delay * (corrects ? 2 : 1));
  } else if (corrects && staleness.bound != kUnbounded) {
    check("staleness.bound", staleness.bound);
  }
}

// Throws UserError if the learner could not listen there.
void CheckEndpoint(const WireConfig& config) {
  if (config.endpoint == "auto") return;
  const wire::Endpoint endpoint = wire::ParseEndpoint(config.endpoint, !config.secret.empty());
  if (endpoint.ipc) {  // not tried: that would take the socket of a learner that lives
    const std::filesystem::path socket = endpoint.path;
    const std::string directory = socket.has_parent_path() ? socket.parent_path().string() : ".";
    if (::access(directory.c_str(), W_OK | X_OK) == 0) return;
    throw UserError(
        fmt::format("no socket can be made in the directory {}: {}", directory, ErrorText(errno)));
  }
  // A wrong key is reported under its own key.
  std::optional<wire::KeyPair> keys;
  try {
    if (!config.secret.empty()) keys = wire::ReadSecretFile(config.secret);
  } catch (const UserError&) {
    return;
  }
  wire::Context context;
  wire::ServerSocket(context, config.endpoint, {.max_elements = 1, .keys = keys});
}

// Throws UserError if the processor or actors.instructions lack the precision. A GPU has all of
// them; a missing GPU is reported under actors.backend. For tf32 see core/config/config_rules.cc:
// where "auto" takes the processor, it computes in f32.
void CheckPrecision(const Config& config) {
  if (config.net.precision == Precision::kTf32) return;
  if (config.actors.backend == DeviceChoice::kCuda || actors::UsesGpu(config)) return;
  net::CheckCpuBackend(config.net.precision, config.actors.instructions);
}

void CheckExact(const Config& config) {
  if (config.checkpoint.exact != Exactness::kTrue) return;
  if (const std::string why = results::WhyNotExact(config); !why.empty()) {
    throw UserError(fmt::format("checkpoint.exact = true is not possible: {}", why));
  }
}

}  // namespace

std::uint64_t MaxActors(std::uint64_t open_files) {
  return open_files < kOwnFiles ? 0 : (open_files - kOwnFiles) / kFilesPerActor;
}

void CheckHasLearner(const Config& config) {
  if (config.updates.exchange == Exchange::kLearner) return;
  throw UserError(
      fmt::format("updates.exchange = \"allreduce\": this run has no learner; start it by starling "
                  "train, or by mpirun -n {} starling-rank (docs/spectrum/without-a-learner.md)",
                  config.actors.count));
}

std::vector<Contradiction> CheckConfig(const Config& config) {
  std::vector<Contradiction> found;
  // 1. Game, device, memory and net: each needs the one before.
  envs::EnvSpec env;
  if (!config.net.external() &&
      Passes("env.name", found, [&] { env = envs::SpecOf(config.env); })) {
    bool on_gpu = false;
    Passes("actors.backend", found, [&] { on_gpu = actors::UsesGpu(config); });
    if (on_gpu) Passes("actors.env_device", found, [&] { actors::PlaysOnGpu(config); });
    CheckMemory(config, env, on_gpu, found);
    Passes("checkpoint.exact", found, [&] { CheckExact(config); });
    const bool fits = Passes(
        "net.kind", found, [&] { CheckVersions(config, results::LayoutOf(config).size(), found); });
    if (!fits) {
      found.back().keys.insert(found.back().keys.end(),
                               {"net.entries", "net.layers", "net.kind", "net.hidden"});
    }
  }
  if (!config.net.external()) {
    Passes("net.precision", found, [&] { CheckPrecision(config); });
  }

  // 2. Sockets, keys and paths.
  CheckOpenFiles(config, found);
  Passes("wire.endpoint", found, [&] { CheckEndpoint(config.wire); });
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
    if (config.status.port != 0) monitor::CheckListen(config.status);
  });
  Passes("status.token_file", found, [&] {
    if (!config.status.token_file.empty()) monitor::ReadToken(config.status.token_file);
  });
  Passes("wire.runtime_dir", found,
         [&] { wire::RuntimeDir::CheckFits(wire::RuntimeRoot(config.wire.runtime_dir)); });
  return found;
}

}  // namespace starling::fleet
