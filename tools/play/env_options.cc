#include "tools/play/env_options.h"

#include <fmt/format.h>

#include "core/error.h"

namespace starling::play {

EnvConfig EnvOptions(const std::string& name, const std::vector<std::string>& overrides) {
  for (const std::string& override : overrides) {
    if (!override.starts_with("env.") || override.starts_with("env.name")) {
      throw UserError(
          fmt::format("--set {}: only keys of [env] have a meaning here, and env.name is "
                      "given already",
                      override));
    }
  }
  EnvConfig config = ParseConfig("", "", overrides).env;
  config.name = name;
  return config;
}

}  // namespace starling::play
