// B copies of a game side by side: the one implementation of VecEnv (envs/env.h) for bundled games.
//
// Env i draws from its own stream, StreamId{seed, slot, incarnation, i, Purpose::kEnv}, in this
// order: one Uniform() for the sticky action at the start of every step, then what the game's Step
// draws, then, if the episode ended, what its Reset draws. So an env's future depends on its seed,
// its index and its own actions alone.
//
// Sticky actions: with probability EnvOptions::sticky_actions a step plays the action played in the
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
#include "core/random.h"
#include "envs/chance.h"
#include "envs/env.h"
#include "envs/game.h"

namespace starling::envs {

template <Game G>
class VecGame final : public VecEnv {
 public:
  VecGame(int num_envs, const EnvSeed& seed, const EnvOptions& options)
      : spec_(G::Spec()), sticky_(options.sticky_actions) {
    CHECK(num_envs >= 1, "num_envs = {}", num_envs);
    CHECK(sticky_ >= 0 && sticky_ <= 1, "sticky_actions = {}", sticky_);
    envs_.reserve(static_cast<std::size_t>(num_envs));
    for (std::uint32_t i = 0; i < static_cast<std::uint32_t>(num_envs); ++i) {
      envs_.push_back({RandomStream({seed.seed, seed.slot, seed.incarnation, i, Purpose::kEnv})});
    }
  }

  const EnvSpec& spec() const override { return spec_; }
  int size() const override { return static_cast<int>(envs_.size()); }

  // Episodes under way are abandoned without an EpisodeEnd.
  void Reset(std::span<float> observations) override {
    CHECK(observations.size() == envs_.size() * row());
    for (std::size_t i = 0; i < envs_.size(); ++i) {
      envs_[i].Restart();
      envs_[i].game.Observe(&observations[i * row()]);
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
      const Outcome outcome = env.Play(actions[i], sticky_);
      rewards[i] = outcome.reward;
      terminals[i] = outcome.terminal ? 1 : 0;
      if (outcome.terminal) {
        episodes_.push_back({static_cast<int>(i), env.episode_return, env.length});
        env.Restart();
      }
      env.game.Observe(&observations[i * row()]);
    }
  }

  void TakeEpisodes(std::vector<EpisodeEnd>& out) override {
    out.insert(out.end(), episodes_.begin(), episodes_.end());
    episodes_.clear();
  }

  std::unique_ptr<VecEnv> Clone() const override { return std::make_unique<VecGame>(*this); }

 private:
  struct One {
    RandomStream stream;
    G game{};
    int last_action = 0;
    double episode_return = 0;
    std::int64_t length = 0;

    void Restart() {
      RandomChance chance(stream);
      game.Reset(chance);
      episode_return = 0;
      length = 0;
    }

    Outcome Play(int asked, double sticky) {
      RandomChance chance(stream);
      last_action = StickyAction(asked, last_action, sticky, chance);
      const Outcome outcome = game.Step(last_action, chance);
      episode_return += outcome.reward;
      ++length;
      return outcome;
    }
  };

  std::size_t row() const { return static_cast<std::size_t>(spec_.obs_size()); }

  EnvSpec spec_;
  double sticky_;
  std::vector<One> envs_;
  std::vector<EpisodeEnd> episodes_;  // not yet taken
};

}  // namespace starling::envs
