#include "results/initial_net.h"

#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>
#include <utility>

#include "core/error.h"
#include "core/instructions.h"
#include "core/text.h"
#include "envs/registry.h"
#include "envs/spaces.h"
#include "learner/storage/journal_reader.h"
#include "learner/storage/same_numbers.h"
#include "net/model.h"
#include "results/external_net.h"

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

// Of a net that is not external, without weights.
learner::InitialNet KnownNetOf(const Config& config) {
  const envs::EnvSpec env = envs::SpecOf(config.env);
  return {LayoutOf(config, env), {}, envs::SpacesText(env)};
}

}  // namespace

std::string WhyNotExact(const Config& config) {
  if (config.checkpoint.exact == Exactness::kFalse) return "checkpoint.exact = false";
  if (config.learner.apply == ApplyMode::kHogwild) return "learner.apply = \"hogwild\"";
  if (config.net.external()) {
    return "net.kind = \"external\", the states of your own programs are not known here";
  }
  if (config.staleness.delayed()) {
    return fmt::format("staleness.delay = {}: gradients after a cut would be less stale",
                       config.staleness.delay);
  }
  return envs::WhyNotSaved(config.env);
}

std::string WhyNotReplayed(const Config& config) {
  if (config.net.external()) {
    return "net.kind = \"external\": its gradients were computed by your own programs, which no "
           "journal holds (the journal proves the staleness of each all the same)";
  }
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
  try {
    if (const std::string why = envs::WhyNotRepeated(config.env); !why.empty()) return why;
  } catch (const UserError& error) {
    return error.what();
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
  learner::InitialNet net;
  if (config.net.external()) {
    ExternalNet read = ReadExternalNet(config.net.initial);
    net = {std::move(read.layout), std::move(read.weights)};
  } else {
    net = KnownNetOf(config);
  }
  if (!config.run.init_from.empty()) {
    net.initial = LoadFirstWeights(config).checkpoint.weights;
  } else if (!config.net.external()) {
    net.initial = net::InitialParameters(net.layout, config.run.seed, config.net.init,
                                         config.net.deviation_init);
  }
  return net;
}

learner::InitialNet InitialNetToResume(const Config& config, const std::filesystem::path& run_dir) {
  if (config.net.external()) return {FindCheckpoint(run_dir).checkpoint.layout, {}};
  return KnownNetOf(config);
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

void ResolveFirstWeights(Config& config) {
  if (config.net.external()) {
    ReadExternalNet(config.net.initial);
    config.net.initial = std::filesystem::canonical(config.net.initial);
  }
  if (config.run.init_from.empty()) return;
  config.run.init_from = std::filesystem::canonical(LoadFirstWeights(config).path);
}

}  // namespace starling::results
