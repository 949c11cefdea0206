#include "envs/sticky.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <string>

#include "envs/bridge/bridge.h"
#include "envs/chance.h"
#include "envs/frames.h"

namespace starling::envs {
namespace {

constexpr double kGames = 0.1;
constexpr double kAle = 0.25;  // Machado et al., "Revisiting the Arcade Learning Environment"

}  // namespace

double StickyChance(const EnvConfig& config) {
  if (config.sticky_actions >= 0) return config.sticky_actions;
  if (config.name.starts_with(kPluginPrefix)) return 0;
  if (config.name.starts_with(kAlePrefix)) return kAle;
  if (!config.name.starts_with(kGymPrefix)) return kGames;
  // ALE's own sticky actions replace ours.
  const auto options = nlohmann::json::parse(config.options, nullptr, false);
  const bool ale_does_it = options.contains("repeat_action_probability");
  return config.name.starts_with(std::string(kGymPrefix) + "ALE/") && !ale_does_it ? kAle : 0;
}

StickyActions::StickyActions(int num_envs, const EnvSeed& seed, double probability,
                             const ActionSpace& actions)
    : actions_(actions), probability_(probability) {
  for (int i = 0; i < num_envs; ++i) {
    envs_.push_back({.stream = RandomStream(seed.Stream(envs_.size(), Purpose::kSticky)),
                     .last = RestingAction(actions)});
  }
}

void StickyActions::Draw(int i, std::span<const std::int32_t> asked,
                         std::span<std::int32_t> frames) const {
  RandomStream stream = envs_[i].stream;  // a copy: Played takes the draws
  RandomChance chance(stream);
  std::span<const std::int32_t> last = envs_[i].last;
  for (; !frames.empty(); frames = frames.subspan(asked.size())) {
    std::ranges::copy(StickyAction(asked, last, probability_, chance), frames.begin());
    last = frames.first(asked.size());
  }
}

void StickyActions::Played(int i, std::span<const std::int32_t> frames) {
  if (probability_ == 0) return;  // its stream is of no use to others
  EnvState& env = envs_[i];
  for (; !frames.empty(); frames = frames.subspan(env.last.size())) {
    RandomChance(env.stream).Uniform();  // the draw of this frame
    std::ranges::copy(frames.first(env.last.size()), env.last.begin());
  }
}

void StickyActions::Fields(StateBytes& state) {
  for (EnvState& env : envs_) {
    state(env.stream);
    ActionFields(state, env.last);
  }
}

void StickyActions::ActionFields(StateBytes& state, std::vector<std::int32_t>& action) const {
  for (std::size_t k = 0; k < action.size(); ++k) {
    if (!actions_.box()) {
      state(action[k], 0, actions_.counts[k] - 1);
      continue;
    }
    state(action[k]);
    const float number = FloatOf(action[k]);
    if (!std::isfinite(number) || number < actions_.low[k] || number > actions_.high[k]) {
      throw StateError("the state has a last action that is out of bounds");
    }
  }
}

}  // namespace starling::envs
