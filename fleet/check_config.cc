#include "fleet/check_config.h"

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

}  // namespace

std::vector<Contradiction> CheckConfig(const Config& config) {
  std::vector<Contradiction> found;
  if (Passes("env.name", found, [&] { envs::SpecOf(config.env); })) {
    const bool fits = Passes("net.kind", found, [&] { BlueprintOf(config); });
    if (!fits) found.back().keys.insert(found.back().keys.end(), {"net.kind", "net.hidden"});
  }
  Passes("wire.endpoint", found, [&] {
    if (config.wire.endpoint != "auto") wire::CheckEndpoint(config.wire.endpoint);
  });
  Passes("wire.runtime_dir", found, [&] { wire::RuntimeRoot(config.wire.runtime_dir); });
  return found;
}

}  // namespace starling::fleet
