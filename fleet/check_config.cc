#include "fleet/check_config.h"

#include <fmt/format.h>

#include <string>

#include "core/error.h"
#include "envs/registry.h"
#include "fleet/blueprint.h"
#include "wire/runtime_dir.h"
#include "wire/socket.h"

namespace starling::fleet {
namespace {

// Runs `check`; a mistake that it finds is told with the place where `key` was set.
template <class Check>
void CheckKey(const ConfigSource& source, const char* key, Check check) {
  try {
    check();
  } catch (const UserError& error) {
    const std::string where = source.Where(key);
    throw UserError(fmt::format("{}{}: {}", where.empty() ? "" : where + ": ", key, error.what()));
  }
}

}  // namespace

void CheckConfig(const Config& config, const ConfigSource& source) {
  CheckKey(source, "env.name", [&] { envs::SpecOf(config.env.name); });
  CheckKey(source, "net.kind", [&] { BlueprintOf(config); });
  if (config.wire.endpoint != "auto") {
    CheckKey(source, "wire.endpoint", [&] { wire::CheckEndpoint(config.wire.endpoint); });
  }
  CheckKey(source, "wire.runtime_dir", [&] { wire::RuntimeRoot(config.wire.runtime_dir); });
}

}  // namespace starling::fleet
