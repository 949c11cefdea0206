#include "envs/registry.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/error.h"
#include "core/text.h"
#include "envs/bridge/bridge.h"
#include "envs/games/games.h"
#include "envs/vec_env.h"
#include "envs/wrappers/wrapped.h"

namespace starling::envs {
namespace {

struct Entry {
  const char* name;
  FrameSpec (*spec)(const EnvConfig& config);
  std::unique_ptr<VecEnv> (*make)(const EnvConfig& config, int num_envs, const EnvSeed& seed);
  std::unique_ptr<FrameEnvs> (*frames)(const EnvConfig& config, int num_envs, const EnvSeed& seed,
                                       const WhileWaiting& while_waiting);
  bool ramps = false;
};

template <Game G>
constexpr bool kRamps = requires(G game) {
  game.ramping;
};

template <Game G>
constexpr Entry EntryOf(const char* name) {
  return {.name = name,
          .spec = [](const EnvConfig& config) -> FrameSpec {
            return {.env = SpecWith<G>(config), .saves = true};
          },
          .make = [](const EnvConfig& config, int num_envs,
                     const EnvSeed& seed) -> std::unique_ptr<VecEnv> {
            return std::make_unique<VecGame<G>>(num_envs, seed, config);
          },
          .frames = [](const EnvConfig& config, int num_envs, const EnvSeed& seed,
                       const WhileWaiting&) -> std::unique_ptr<FrameEnvs> {
            return std::make_unique<GameFrames<G>>(num_envs, seed, config);
          },
          .ramps = kRamps<G>};
}

#define STARLING_GAME(G, name) EntryOf<G>(name),
constexpr Entry kEnvs[] = {STARLING_GAMES(STARLING_GAME)};
#undef STARLING_GAME

// Families without a VecEnv of their own: they always go through the wrappers.
constexpr Entry kGym = {kGymPrefix, GymSpec, nullptr, MakeGymFrames};
constexpr Entry kAle = {kAlePrefix, AleSpec, nullptr, MakeAleFrames};
constexpr Entry kPlugin = {kPluginPrefix, PluginSpec, nullptr, MakePluginFrames};

constexpr const Entry* kFamilies[] = {&kGym, &kAle, &kPlugin};

// Returns nullptr if `name` begins with the prefix of none.
const Entry* FamilyOf(const std::string& name) {
  for (const Entry* family : kFamilies) {
    if (name.starts_with(family->name)) return family;
  }
  return nullptr;
}

const Entry& Find(const std::string& name) {
  if (const Entry* const family = FamilyOf(name)) return *family;
  for (const Entry& entry : kEnvs) {
    if (name == entry.name) return entry;
  }
  const std::vector<std::string> names = EnvNames();
  throw UserError(fmt::format("there is no env \"{}\"{} (the envs: {})", name,
                              DidYouMean(name, names), Listed(names)));
}

// Throws the sentence about a key of `config` that does not fit the env, if it is `wrong`.
void Refuse(const EnvConfig& config, bool wrong, const char* key, const char* why) {
  if (!wrong) return;
  const std::string name = std::string("env.") + key;
  throw UserError(fmt::format("{}: {} {}; leave it out", name, config.name, why), name);
}

// Refuses every key that does not fit the actions.
void CheckFitsActions(const ActionSpace& actions, const EnvConfig& config) {
  const auto refuse = [&](bool wrong, const char* key, const char* why) {
    Refuse(config, wrong, key, why);
  };
  const bool tanh = config.action_bounds == ActionBounds::kTanh;
  refuse(tanh && !actions.box(), "action_bounds", "has no box of actions to bound");
  refuse(tanh && !(std::ranges::all_of(actions.low, Limits) &&
                   std::ranges::all_of(actions.high, Limits)),
         "action_bounds", "has actions without a bound, and tanh needs all of them");
  const bool masked = actions.masked;
  refuse(masked && config.stack > 1, "stack", "masks actions, and a mask belongs to one frame");
  refuse(masked && config.pixels, "pixels", "masks actions, and pixels show no mask");
  refuse(masked && config.max_pool, "max_pool",
         "masks actions, and the mask of the frame before is out of date");
  refuse(masked && config.repeat > 1, "repeat",
         "masks actions, and a repeated one may be forbidden");
  refuse(masked && config.noop_max > 0, "noop_max",
         "masks actions, and action 0 may be a forbidden one");
  refuse(masked && config.sticky_actions > 0, "sticky_actions",
         "masks actions, and a repeated one may be forbidden");
}

// Refuses every key that takes an observation for one array.
void CheckFitsEntries(const EnvSpec& env, const EnvConfig& config) {
  const bool several = !env.entries.empty();
  constexpr const char* kWhy = "observes several arrays, and this is for one picture";
  Refuse(config, several && config.stack > 1, "stack", kWhy);
  Refuse(config, several && config.pixels, "pixels", kWhy);
  Refuse(config, several && config.max_pool, "max_pool", kWhy);
}

// Refuses every key that has no effect on the env, or cannot have it.
void CheckFits(const Entry& entry, const FrameSpec& raw, const EnvConfig& config) {
  const EnvConfig standard;
  const bool python = &entry == &kGym || &entry == &kAle, plugin = &entry == &kPlugin;
  const auto refuse = [&](bool wrong, const char* key, const char* why) {
    Refuse(config, wrong, key, why);
  };
  refuse(config.life_loss_ends && !raw.lives, "life_loss_ends", "has no lives to lose");
  refuse(config.action_set != standard.action_set && (python || plugin), "action_set",
         "is not a bundled game; it has only one action set");
  refuse(!config.ramping && !entry.ramps, "ramping", "has no difficulty ramp");
  refuse(!config.options.empty() && !python, "options",
         "takes none; only Gymnasium's envs and \"ale:\" have options");
  refuse(config.isolate && !plugin, "isolate", "is not a plug-in");
  CheckFitsActions(raw.env.actions, config);
  CheckFitsEntries(raw.env, config);
}

}  // namespace

std::vector<std::string> EnvNames() {
  std::vector<std::string> names;
  for (const Entry& entry : kEnvs) names.emplace_back(entry.name);
  return names;
}

bool IsForeign(const std::string& name) { return FamilyOf(name) != nullptr; }

bool Ramps(const std::string& name) { return Find(name).ramps; }

EnvSpec SpecOf(const EnvConfig& config) {
  const FrameSpec raw = Find(config.name).spec(config);
  CheckFits(Find(config.name), raw, config);
  return WrappedSpec(raw, config);
}

std::unique_ptr<VecEnv> MakeVecEnv(const EnvConfig& config, int num_envs, const EnvSeed& seed,
                                   const WhileWaiting& while_waiting) {
  const Entry& entry = Find(config.name);
  if (entry.make != nullptr && FirstWrapper(config) == nullptr) {
    CheckFits(entry, entry.spec(config), config);
    return entry.make(config, num_envs, seed);
  }
  auto frames = entry.frames(config, num_envs, seed, while_waiting);
  CheckFits(entry, frames->spec(), config);
  return std::make_unique<WrappedEnv>(std::move(frames), seed, config, while_waiting);
}

std::unique_ptr<FrameEnvs> MakeFrames(const EnvConfig& config, int num_envs, const EnvSeed& seed) {
  const Entry& entry = Find(config.name);
  auto frames = entry.frames(config, num_envs, seed, {});
  CheckFits(entry, frames->spec(), config);
  return frames;
}

std::string WhyNotSaved(const EnvConfig& config) {
  return WhyNotSaved(Find(config.name).spec(config));
}

std::string WhyNotSaved(const FrameSpec& spec) {
  if (spec.saves) return "";
  const std::string& name = spec.env.name;
  if (name.starts_with(kGymPrefix)) {
    return fmt::format("env.name: {} is played by Gymnasium, whose envs cannot be saved", name);
  }
  if (name.starts_with(kAlePrefix)) {
    return fmt::format("env.name: {} is played by ale-py, whose saved states lack the picture",
                       name);
  }
  return fmt::format(
      "env.name: {} cannot be saved: it has no functions save and restore (envs/plugin.h; in C++ "
      "the member Fields)",
      name);
}

std::string WhyNotRepeated(const EnvConfig& config) {
  const Entry* const family = FamilyOf(config.name);
  if (family == nullptr) return "";
  if (family == &kPlugin && config.isolate) {
    return "env.isolate: a process that dies or takes too long costs an episode, and no journal "
           "holds which";
  }
  if (family == &kPlugin) {
    const std::string why = WhyNotSaved(config);
    return why.empty() ? "" : why + ", so nothing says what its steps depend on";
  }
  return fmt::format(
      "env.name: the random numbers of {} are not Starling's; only bundled games and plug-ins can "
      "be replayed",
      config.name);
}

std::string WhyNotOnGpu(const EnvConfig& config) {
  for (const auto& [prefix, player] :
       {std::pair(kGymPrefix, "Gymnasium"), {kAlePrefix, "ale-py"}}) {
    if (!config.name.starts_with(prefix)) continue;
    return fmt::format(
        "env.name: {} is played by {}, on a CPU; only bundled games can be played on a GPU",
        config.name, player);
  }
  if (config.name.starts_with(kPluginPrefix)) {
    return fmt::format(
        "env.name: {} is a library for a CPU; only bundled games can be played on a GPU",
        config.name);
  }
  if (config.step_ms > 0) {
    return "env.step_ms: is a pace that only envs on a CPU can keep: a GPU plays a whole unroll at "
           "once; leave it out";
  }
  const char* const wrapper = FirstWrapper(config);
  return wrapper == nullptr ? ""
                            : fmt::format("env.{}: works only on a CPU; leave it out", wrapper);
}

}  // namespace starling::envs
