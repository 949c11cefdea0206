#include "results/trained.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "actors/normalizer.h"
#include "actors/rollout.h"
#include "core/error.h"
#include "core/instructions.h"
#include "core/log.h"
#include "core/text.h"
#include "envs/bridge/bridge.h"
#include "envs/registry.h"
#include "learner/storage/journal_reader.h"
#include "learner/storage/start.h"
#include "net/model.h"
#include "net/part.h"

namespace starling::results {
namespace {

// "conv1.weight (3, 3, 4, 16)"
std::string Describe(const std::vector<net::Parameter>& parameters, std::size_t at) {
  if (at >= parameters.size()) return "nothing more";
  const net::Parameter& parameter = parameters[at];
  std::string shape;
  for (const std::int64_t size : parameter.shape) {
    shape += fmt::format("{}{}", shape.empty() ? "" : ", ", size);
  }
  return fmt::format("{} ({})", parameter.name, shape);
}

// Returns the first parameter that differs between two layouts, in both.
std::string Difference(const net::ParameterLayout& theirs, const net::ParameterLayout& ours) {
  const auto& a = theirs.parameters();
  const auto& b = ours.parameters();
  const auto same = [](const net::Parameter& x, const net::Parameter& y) {
    return x.name == y.name && x.shape == y.shape;
  };
  const auto differ = std::ranges::mismatch(a, b, same);
  const auto at = static_cast<std::size_t>(differ.in1 - a.begin());
  return fmt::format("{} where this configuration's has {}", Describe(a, at), Describe(b, at));
}

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

}  // namespace

net::ParameterLayout LayoutOf(const Config& config) {
  const auto backend = net::MakeReferenceBackend<float>();  // computes nothing
  const envs::EnvSpec env = envs::SpecOf(config.env);
  CheckDeviations(config, env.actions);
  const net::ModelSpec spec = actors::ModelSpecOf(config, env);
  CheckShuffle(config, spec);
  net::CutIntoStages(spec, static_cast<int>(config.net.stages));  // throws if it cannot be cut
  net::ParameterLayout layout = net::MakeModel<float>(spec, *backend, {})->layout();
  layout = actors::WithSums(std::move(layout), config, env);
  CheckSums(config, layout);
  return layout;
}

std::string WhyNotExact(const Config& config) {
  if (config.checkpoint.exact == Exactness::kFalse) return "checkpoint.exact = false";
  if (config.learner.apply == ApplyMode::kHogwild) return "learner.apply = \"hogwild\"";
  return envs::WhyNotSaved(config.env);
}

std::string WhyNotReplayed(const Config& config) {
  if (config.learner.apply == ApplyMode::kHogwild) {
    return "its weights were applied by learner.apply = \"hogwild\", whose threads overwrite each "
           "other in an order that no journal holds";
  }
  if (config.learner.shards > 1) {
    return fmt::format(
        "learner.shards = {}, and an actor's slices of the weights may be of different versions, "
        "which the journal does not hold",
        config.learner.shards);
  }
  if (envs::IsForeign(config.env.name)) {
    return fmt::format(
        "the random numbers of {} are not Starling's; only bundled envs can be "
        "replayed",
        config.env.name);
  }
  const Instructions asked = config.actors.instructions;
  if (config.actors.backend != DeviceChoice::kCuda && !Runs(asked)) {
    return fmt::format("its actors computed with actors.instructions = \"{}\", and {}",
                       NameOf(asked), WhyNotRun(asked));
  }
  return "";
}

std::string WayToACheckpoint(const std::filesystem::path& run_dir) {
  const Config config = LoadConfig(run_dir / "config.toml");
  if (config.checkpoint.exact == Exactness::kFalse || !WhyNotReplayed(config).empty()) return "";
  const std::filesystem::path journal = run_dir / "journal";
  try {
    const bool whole = learner::LineOf(journal).front().header.after.offset == 0;
    if (!whole || learner::TailOf(journal, {}).updates == 0) return "";
  } catch (const std::runtime_error&) {
    return "";
  }
  return fmt::format("; its journal may make one: starling replay {} --from-checkpoint --write",
                     ShellQuoted(run_dir.string()));
}

learner::InitialNet InitialNetOf(const Config& config) {
  learner::InitialNet net = InitialNetToResume(config);
  net.initial = config.run.init_from.empty()
                    ? net::InitialParameters(net.layout, config.run.seed, config.net.init,
                                             config.net.deviation_init)
                    : LoadFirstWeights(config).checkpoint.weights;
  return net;
}

learner::InitialNet InitialNetToResume(const Config& config) { return {LayoutOf(config), {}}; }

FoundCheckpoint FindCheckpoint(const std::filesystem::path& target) {
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

Trained LoadTrained(const std::filesystem::path& target,
                    const std::vector<std::string>& overrides) {
  auto [path, checkpoint] = FindCheckpoint(target);
  if (path != target) LogInfo("taking {}", path.string());
  Config config =
      ParseConfig(checkpoint.config, "the configuration in " + path.string(), overrides);
  CheckPluginIsThere(config.env.name);
  learner::CheckSameNumbers(config, checkpoint, path.string());
  if (LayoutOf(config).fingerprint() != checkpoint.layout.fingerprint()) {
    throw UserError(overrides.empty()
                        ? target.string() +
                              " holds another net than its configuration describes: "
                              "was it written by another version of Starling?"
                        : target.string() +
                              " holds a net for another environment than that of --set");
  }
  return {std::move(config), std::move(checkpoint)};
}

FoundCheckpoint LoadFirstWeights(const Config& config) {
  FoundCheckpoint found = FindCheckpoint(config.run.init_from);
  learner::CheckSameNumbers(config, found.checkpoint, found.path.string());
  const net::ParameterLayout ours = LayoutOf(config);
  if (found.checkpoint.layout.fingerprint() != ours.fingerprint()) {
    throw UserError(fmt::format("{} cannot be started from: its net has {}", found.path.string(),
                                Difference(found.checkpoint.layout, ours)));
  }
  return found;
}

void ResolveInitFrom(Config& config) {
  if (config.run.init_from.empty()) return;
  config.run.init_from = std::filesystem::canonical(LoadFirstWeights(config).path);
}

}  // namespace starling::results
