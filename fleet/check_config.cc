#include "fleet/check_config.h"

#include <fmt/format.h>
#include <unistd.h>

#include "actors/rollout.h"
#include "core/error.h"
#include "envs/registry.h"
#include "fleet/blueprint.h"
#include "wire/runtime_dir.h"
#include "wire/socket.h"

namespace starling::fleet {
namespace {

// The key that a sentence begins with ("env.pixels draws ..."), or `key`, which it is then given.
Contradiction About(const std::string& key, const std::string& sentence) {
  const std::string section = key.substr(0, key.find('.') + 1);
  if (!sentence.starts_with(section)) return {{key}, key + ": " + sentence};
  return {{sentence.substr(0, sentence.find_first_of(" :="))}, sentence};
}

// Adds what `check` throws; whether it threw nothing.
template <class Check>
bool Passes(const std::string& key, std::vector<Contradiction>& found, Check check) {
  try {
    check();
    return true;
  } catch (const UserError& error) {
    found.push_back(About(key, error.what()));
    return false;
  }
}

// The observations of one unroll alone, of all actors, must fit into this machine's memory: what
// does not would take it down with everything else on it.
void CheckMemory(const Config& config, const envs::EnvSpec& env,
                 std::vector<Contradiction>& found) {
  const double gib = 1024.0 * 1024 * 1024;
  const double has = static_cast<double>(::sysconf(_SC_PHYS_PAGES)) *
                     static_cast<double>(::sysconf(_SC_PAGE_SIZE)) / gib;
  const ActorsConfig& actors = config.actors;
  const double takes = static_cast<double>(actors.count * actors.envs_per_actor) *
                       static_cast<double>(actors.unroll + 1) * env.obs_size() * sizeof(float) /
                       gib;
  if (takes <= has) return;
  found.push_back(
      {{"actors.envs_per_actor", "actors.count", "actors.unroll"},
       fmt::format(
           "actors.envs_per_actor = {} contradicts actors.count = {} and actors.unroll = {}: "
           "observations of ({}, {}, {}) would take {:.0f} GiB, and this machine has {:.0f}",
           actors.envs_per_actor, actors.count, actors.unroll, env.height, env.width, env.channels,
           takes, has)});
}

}  // namespace

std::vector<Contradiction> CheckConfig(const Config& config) {
  std::vector<Contradiction> found;
  envs::EnvSpec env;
  if (Passes("env.name", found, [&] { env = envs::SpecOf(config.env); })) {
    CheckMemory(config, env, found);
    const bool fits = Passes("net.kind", found, [&] { LayoutOf(config); });
    if (!fits)
      found.back().keys.insert(found.back().keys.end(), {"net.layers", "net.kind", "net.hidden"});
  }
  Passes("net.precision", found, [&] { net::MakeCpuBackend(actors::PrecisionOf(config)); });
  Passes("wire.endpoint", found, [&] {
    if (config.wire.endpoint != "auto") wire::CheckEndpoint(config.wire.endpoint);
  });
  Passes("wire.runtime_dir", found, [&] { wire::RuntimeRoot(config.wire.runtime_dir); });
  return found;
}

}  // namespace starling::fleet
