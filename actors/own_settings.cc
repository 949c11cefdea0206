#include "actors/own_settings.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "core/error.h"
#include "envs/registry.h"

namespace starling::actors {
namespace {

bool IsBundled(const std::string& env) {
  const std::vector<std::string> names = envs::EnvNames();
  return std::ranges::find(names, env) != names.end();
}

// Replaces the keys that choose code.
void ChooseEnv(EnvConfig& env, const OwnSettings& own, bool proven) {
  OwnEnv chosen = own.env;
  if (!proven) {
    const OwnEnv run = own.run_dir_env ? own.run_dir_env() : OwnEnv{};
    if (!chosen.name) chosen.name = run.name;
    if (!chosen.name && !IsBundled(env.name)) {
      throw UserError(fmt::format(
          "the learner asks for env.name = \"{}\", which runs code of this machine, and without "
          "keys any process could have taken the learner's place; if that env is yours, start this "
          "actor with --set env.name=... (and env.python, env.options), or with --run-dir, or give "
          "learner and actor keys (docs/fleet.md)",
          env.name));
    }
    const EnvConfig standard;
    if (!chosen.python) chosen.python = run.python.value_or(standard.python);
    if (!chosen.options) chosen.options = run.options.value_or(standard.options);
  }
  env.name = chosen.name.value_or(env.name);
  env.python = chosen.python.value_or(env.python);
  env.options = chosen.options.value_or(env.options);
}

}  // namespace

OwnEnv ParseOwnEnv(const std::vector<std::string>& overrides) {
  OwnEnv own;
  ConfigSource source;
  const EnvConfig env = ParseConfig("", "starling-actor", overrides, &source).env;
  for (const auto& [key, place] : source.where) {
    if (key == "env.name") {
      own.name = env.name;
    } else if (key == "env.python") {
      own.python = env.python;
    } else if (key == "env.options") {
      own.options = env.options;
    } else {
      throw UserError(
          fmt::format("--set {}: an actor's own keys are env.name, env.python and "
                      "env.options; the others are the learner's",
                      key));
    }
  }
  return own;
}

void UseProcessor(Config& config) {
  config.actors.backend = DeviceChoice::kCpu;
  config.actors.env_device = DeviceChoice::kAuto;
}

Config WithOwn(Config config, const OwnSettings& own, bool proven) {
  ChooseEnv(config.env, own, proven);
  // Games on a GPU need a net there.
  if (own.backend == DeviceChoice::kCpu) UseProcessor(config);
  if (own.backend) config.actors.backend = *own.backend;
  if (own.envs == 0) return config;
  config.actors.envs_per_actor = own.envs;
  if (config.samples_per_unroll() > kMaxSamples) {
    throw UserError(
        fmt::format("--envs {} contradicts actors.unroll = {} of the run: their product, the "
                    "samples of one unroll, may be at most {}",
                    own.envs, config.actors.unroll, kMaxSamples));
  }
  if (config.shuffled_units() % config.updates.minibatches != 0) {
    const bool envs = config.updates.shuffle == Shuffle::kEnvs;
    const std::int64_t count = config.updates.minibatches;
    throw UserError(
        fmt::format("--envs {} contradicts updates.minibatches = {} of the run: all minibatches "
                    "have equally many {}, so take a multiple of {}",
                    own.envs, count, envs ? "environments" : "samples",
                    envs ? count : count / std::gcd(count, config.actors.unroll)));
  }
  return config;
}

}  // namespace starling::actors
