// B copies of a game side by side: VecEnv (envs/env.h) for bundled games without wrappers. With them,
// Wrapped over GameFrames plays the same episodes.
//
// Env i draws from its own stream, StreamId{seed, slot, incarnation, i, Purpose::kEnv}, in this
// order: one Uniform() for the sticky action at the start of every step, then what the game's Step
// draws, then, if the episode ended, what its Reset draws. So an env's future depends on its seed,
// its index and its own actions alone.
//
// Sticky actions: with probability env.sticky_actions a step plays the action played in the
// step before instead of the one asked for. That last action starts as 0 and outlives a reset. The
// draw is made even when the probability is 0.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "core/check.h"
#include "core/config/config.h"
#include "core/random.h"
#include "envs/env.h"
#include "envs/game.h"
#include "envs/player.h"
#include "envs/sticky.h"

namespace starling::envs {

// The spec of a game as `config` wants it: with all of its actions, or those that do something.
template <Game G>
EnvSpec SpecWith(const EnvConfig& config) {
  EnvSpec spec = G::Spec();
  if constexpr (requires { G::kMinimalActions; }) {
    if (config.action_set == "minimal") {
      std::vector<std::string> names;
      for (const int action : G::kMinimalActions) {
        names.push_back(spec.action_names[static_cast<std::size_t>(action)]);
      }
      spec.action_names = std::move(names);
      spec.num_actions = static_cast<int>(spec.action_names.size());
    }
  }
  return spec;
}

template <Game G>
std::vector<Player<G>> MakePlayers(int num_envs, const EnvSeed& seed, const EnvConfig& config) {
  const double sticky = StickyChance(config);
  CHECK(num_envs >= 1, "num_envs = {}", num_envs);
  CHECK(sticky <= 1, "sticky_actions = {}", sticky);
  std::vector<Player<G>> players;
  players.reserve(static_cast<std::size_t>(num_envs));
  for (std::uint32_t i = 0; i < static_cast<std::uint32_t>(num_envs); ++i) {
    players.push_back(
        {.stream = RandomStream({seed.seed, seed.slot, seed.incarnation, i, Purpose::kEnv}),
         .sticky = sticky,
         .minimal = config.action_set == "minimal"});
    if constexpr (requires(G game) { game.ramping; }) players.back().game.ramping = config.ramping;
  }
  return players;
}

template <Game G>
class VecGame final : public VecEnv {
 public:
  VecGame(int num_envs, const EnvSeed& seed, const EnvConfig& config) : spec_(SpecWith<G>(config)) {
    for (Player<G>& player : MakePlayers<G>(num_envs, seed, config)) envs_.push_back({player});
  }

  const EnvSpec& spec() const override { return spec_; }
  int size() const override { return static_cast<int>(envs_.size()); }

  // Episodes under way are abandoned without an EpisodeEnd.
  void Reset(std::span<float> observations) override {
    CHECK(observations.size() == envs_.size() * row());
    for (std::size_t i = 0; i < envs_.size(); ++i) {
      envs_[i].Restart();
      envs_[i].player.game.Observe(&observations[i * row()]);
    }
  }

  void Step(std::span<const std::int32_t> actions, std::span<float> observations,
            std::span<float> rewards, std::span<std::uint8_t> terminals) override {
    CHECK(actions.size() == envs_.size() && observations.size() == envs_.size() * row() &&
              rewards.size() == envs_.size() && terminals.size() == envs_.size(),
          "{} actions, {} observed values, {} rewards, {} terminals for {} envs", actions.size(),
          observations.size(), rewards.size(), terminals.size(), envs_.size());
    for (std::size_t i = 0; i < envs_.size(); ++i) {
      CHECK(actions[i] >= 0 && actions[i] < spec_.num_actions,
            "action {} of env {}, not in [0, {})", actions[i], i, spec_.num_actions);
      One& env = envs_[i];
      const Outcome outcome = env.player.Play(actions[i]);
      env.episode_return += static_cast<double>(outcome.reward);
      ++env.length;
      rewards[i] = outcome.reward;
      terminals[i] = static_cast<std::uint8_t>(outcome.terminal ? End::kTerminated : End::kRunning);
      if (outcome.terminal) {
        episodes_.push_back({static_cast<int>(i), env.episode_return, env.length});
        env.Restart();
      }
      env.player.game.Observe(&observations[i * row()]);
    }
  }

  void TakeEpisodes(std::vector<EpisodeEnd>& out) override {
    out.insert(out.end(), episodes_.begin(), episodes_.end());
    episodes_.clear();
  }

  std::unique_ptr<VecEnv> Clone() const override { return std::make_unique<VecGame>(*this); }

 private:
  struct One {
    Player<G> player;
    double episode_return = 0;
    std::int64_t length = 0;

    void Restart() {
      player.Restart();
      episode_return = 0;
      length = 0;
    }
  };

  std::size_t row() const { return static_cast<std::size_t>(spec_.obs_size()); }

  EnvSpec spec_;
  std::vector<One> envs_;
  std::vector<EpisodeEnd> episodes_;  // not yet taken
};

}  // namespace starling::envs
