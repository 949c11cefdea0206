#include <fmt/format.h>

#include <string_view>

#include "core/error.h"
#include "envs/registry.h"
#include "tools/play/play.h"

namespace starling::play {
namespace {

// "6 (noop left up right down fire)".
std::string Actions(const envs::EnvSpec& spec) {
  std::string names;
  for (const std::string& name : spec.action_names) names += (names.empty() ? "" : " ") + name;
  return fmt::format("{} ({})", spec.num_actions, names);
}

std::string Options(const std::string& name) {
  const int all = envs::SpecOf({.name = name}).num_actions;
  const int minimal = envs::SpecOf({.name = name, .action_set = ActionSet::kMinimal}).num_actions;
  std::string options;
  if (minimal < all) options += fmt::format("minimal={}", minimal);
  if (envs::Ramps(name)) options += options.empty() ? "ramps" : ", ramps";
  return options.empty() ? "-" : options;
}

constexpr char kLegend[] = R"(
options  minimal=N   env.action_set = "minimal" leaves the N actions that do something
         ramps       the game grows harder; env.ramping = false keeps it as it begins
others   gym:ID      any environment of Gymnasium, "gym:ALE/Pong-v5" (scripts/setup --gym)
         plugin:PATH a library of your own, "plugin:./mine.so" (envs/plugin.h)
All take sticky actions, repeats, stacking and the other keys of [env]: configs/reference.toml
)";

}  // namespace

std::string EnvTable() {
  constexpr std::string_view kRow = "{:<24}{:<10}{:<36}{}\n";
  std::string table = fmt::format(kRow, "name", "shape", "actions", "options");
  for (const std::string& name : envs::EnvNames()) {
    const envs::EnvSpec spec = envs::SpecOf({.name = name});
    table +=
        fmt::format(kRow, name, fmt::format("{}x{}x{}", spec.height, spec.width, spec.channels),
                    Actions(spec), Options(name));
  }
  return table + kLegend;
}

EnvConfig EnvOptions(const std::string& name, const std::vector<std::string>& overrides) {
  for (const std::string& override : overrides) {
    if (override.starts_with("env.") && !override.starts_with("env.name")) continue;
    throw UserError(fmt::format(
        "--set {}: only keys of [env] have a meaning here, and env.name is given already",
        override));
  }
  EnvConfig config = ParseConfig("", "", overrides).env;
  config.name = name;
  return config;
}

}  // namespace starling::play
