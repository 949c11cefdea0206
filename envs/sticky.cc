#include "envs/sticky.h"

#include <nlohmann/json.hpp>
#include <string>

#include "envs/bridge/bridge.h"
#include "envs/chance.h"

namespace starling::envs {
namespace {

constexpr double kGames = 0.1;
constexpr double kAle = 0.25;  // Machado et al., "Revisiting the Arcade Learning Environment"

}  // namespace

double StickyChance(const EnvConfig& config) {
  if (config.sticky_actions >= 0) return config.sticky_actions;
  if (config.name.starts_with(kPluginPrefix)) return 0;
  if (!config.name.starts_with(kGymPrefix)) return kGames;
  // ALE's own sticky actions replace ours.
  const auto options = nlohmann::json::parse(config.options, nullptr, false);
  const bool ale_does_it = options.contains("repeat_action_probability");
  return config.name.starts_with(std::string(kGymPrefix) + "ALE/") && !ale_does_it ? kAle : 0;
}

StickyActions::StickyActions(int num_envs, const EnvSeed& seed, double probability)
    : probability_(probability) {
  for (int i = 0; i < num_envs; ++i) {
    envs_.push_back({RandomStream(seed.Stream(envs_.size(), Purpose::kSticky))});
  }
}

void StickyActions::Play(int i, std::int32_t asked, std::span<std::int32_t> frames) {
  EnvState& env = envs_[i];
  for (std::int32_t& frame : frames) {
    RandomChance chance(env.stream);
    env.last = StickyAction(asked, env.last, probability_, chance);
    frame = env.last;
  }
}

void StickyActions::Fields(StateBytes& state, int num_actions) {
  for (EnvState& env : envs_) {
    state(env.stream);
    state(env.last, 0, num_actions - 1);
  }
}

}  // namespace starling::envs
