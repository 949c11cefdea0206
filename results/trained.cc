#include "results/trained.h"

#include <fmt/format.h>

#include <stdexcept>
#include <utility>

#include "actors/model_spec.h"
#include "actors/normalizer.h"
#include "core/error.h"
#include "core/log.h"
#include "envs/bridge/bridge.h"
#include "envs/registry.h"
#include "envs/spaces.h"
#include "learner/storage/same_numbers.h"
#include "net/model.h"
#include "net/part.h"
#include "results/external_net.h"

namespace starling::results {
namespace {

// The place of a plug-in is part of a run's configuration, and plug-ins move.
void CheckPluginIsThere(const std::string& env) {
  const std::string prefix = envs::kPluginPrefix;
  std::error_code ignored;
  if (!env.starts_with(prefix) || std::filesystem::exists(env.substr(prefix.size()), ignored)) {
    return;
  }
  throw UserError(fmt::format(
      "{} is not there any more; if it moved, give its place: --set env.name={}PATH", env, prefix));
}

void CheckDeviations(const Config& config, const ActionSpace& actions) {
  if (config.net.deviation_init == 1 || actions.box()) return;
  throw UserError(fmt::format("net.deviation_init = {}: the actions are choices, which have no "
                              "deviations; leave it out",
                              config.net.deviation_init),
                  "net.deviation_init");
}

// A memory goes through an unroll in order.
void CheckShuffle(const Config& config, const net::ModelSpec& spec) {
  if (config.updates.shuffle == Shuffle::kEnvs || !net::HasMemory(spec)) return;
  throw UserError(
      "updates.shuffle = \"samples\": the net remembers the steps before a sample, so a minibatch "
      "needs them all; use \"envs\"",
      "updates.shuffle");
}

// Running sums need every bit of their floats.
void CheckSums(const Config& config, const net::ParameterLayout& layout) {
  if (layout.trained() == layout.size()) return;
  const auto check = [](const char* key, NumberType type) {
    if (type != NumberType::kBf16) return;
    throw UserError(fmt::format("{} = \"bf16\": the running statistics of normalised observations "
                                "and rewards travel with them and would lose their digits; use "
                                "\"f32\"",
                                key),
                    key);
  };
  check("wire.weights", config.wire.weights);
  check("wire.gradient", config.wire.gradient);
}

FoundCheckpoint Find(const std::filesystem::path& target) {
  if (std::filesystem::is_regular_file(target) || learner::HoldsCheckpointParts(target)) {
    try {
      return {target, learner::ReadCheckpoint(target)};
    } catch (const std::runtime_error& error) {
      throw UserError(error.what());
    }
  }
  if (!std::filesystem::is_directory(target)) {
    throw UserError(target.string() + " is neither a run directory nor a checkpoint");
  }
  // A run directory, or its checkpoints directory.
  const bool inner = !learner::ListCheckpoints(target).empty();
  const std::filesystem::path dir = inner ? target : target / "checkpoints";
  learner::LastGoodResult last = learner::LastGood(dir);
  for (const std::string& why : last.rejected) LogWarn("{}", why);
  if (!last.checkpoint) throw UserError("no good checkpoint in " + dir.string());
  return {last.path, *std::move(last.checkpoint)};
}

// Throws UserError unless `found` holds a net of this configuration for `env`.
void CheckHolds(const FoundCheckpoint& found, const Config& config, const envs::EnvSpec& env,
                bool other_settings) {
  if (LayoutOf(config, env).fingerprint() == found.checkpoint.layout.fingerprint()) return;
  throw UserError(found.path.string() +
                  (other_settings ? " holds a net for another environment than that of --set"
                                  : " holds another net than its configuration describes: was it "
                                    "written by another version of Starling?"));
}

Config ConfigIn(const FoundCheckpoint& found, const std::vector<std::string>& overrides) {
  Config config = ParseConfig(found.checkpoint.config,
                              "the configuration in " + found.path.string(), overrides);
  if (config.net.external()) {
    throw UserError(
        fmt::format("{} holds an external net (net.kind), which no part of Starling can compute: "
                    "it is for your "
                    "own programs, as a safetensors file (docs/external-nets.md)",
                    found.path.string()));
  }
  learner::CheckSameNumbers(config, found.checkpoint, found.path.string());
  return config;
}

envs::EnvSpec AskEnv(const Config& config) {
  CheckPluginIsThere(config.env.name);
  return envs::SpecOf(config.env);
}

FoundCheckpoint FindAndSay(const std::filesystem::path& target) {
  FoundCheckpoint found = FindCheckpoint(target);
  if (found.path != target) LogInfo("taking {}", found.path.string());
  return found;
}

}  // namespace

net::ParameterLayout LayoutOf(const Config& config, const envs::EnvSpec& env) {
  const auto backend = net::MakeReferenceBackend<float>();  // computes nothing
  CheckDeviations(config, env.actions);
  const net::ModelSpec spec = actors::ModelSpecOf(config, env);
  CheckShuffle(config, spec);
  net::CutIntoStages(spec, static_cast<int>(config.net.stages));  // throws if it cannot be cut
  net::ParameterLayout layout = net::MakeModel<float>(spec, *backend, {})->layout();
  layout = actors::WithSums(std::move(layout), config, env);
  CheckSums(config, layout);
  return layout;
}

net::ParameterLayout LayoutOf(const Config& config) {
  if (config.net.external()) return ReadExternalNet(config.net.initial).layout;
  return LayoutOf(config, envs::SpecOf(config.env));
}

FoundCheckpoint FindCheckpoint(const std::filesystem::path& target) {
  if (target.empty()) throw UserError("the path of the run directory or checkpoint is empty");
  try {
    return Find(target);
  } catch (const std::filesystem::filesystem_error& error) {
    throw UserError(fmt::format("{} cannot be read: {}", target.string(), error.code().message()));
  }
}

Trained LoadTrained(const std::filesystem::path& target,
                    const std::vector<std::string>& overrides) {
  FoundCheckpoint found = FindAndSay(target);
  Config config = ConfigIn(found, overrides);
  CheckHolds(found, config, AskEnv(config), !overrides.empty());
  return {std::move(config), std::move(found.checkpoint)};
}

TrainedPolicy LoadPolicy(const std::filesystem::path& target,
                         const std::vector<std::string>& overrides) {
  FoundCheckpoint found = FindAndSay(target);
  Config config = ConfigIn(found, overrides);
  const std::string& spaces = found.checkpoint.spaces;
  envs::EnvSpec env;
  if (spaces.empty() || !overrides.empty()) {
    env = AskEnv(config);
  } else {
    try {
      env = envs::ReadSpaces(spaces, config.env);
    } catch (const std::runtime_error& error) {
      throw UserError(found.path.string() + ": " + error.what());
    }
  }
  CheckHolds(found, config, env, !overrides.empty());
  return {std::move(config), std::move(env), std::move(found.path), std::move(found.checkpoint)};
}

}  // namespace starling::results
