// B copies of a game side by side: VecGame is a VecEnv (envs/env.h) without wrappers; WrappedEnv
// over GameFrames plays the same episodes with wrappers.
//
// Env i draws from its own stream (EnvSeed::Stream, Purpose::kEnv) in this order: one Uniform() for
// the sticky action at the start of every step, then the draws of the game's Step, then, if the
// episode ended, those of its Reset. So an env's future depends only on its seed, its index and its
// own actions.
//
// Sticky actions: with probability env.sticky_actions a step plays the action of the step before,
// as a whole, instead of the requested one. That last action starts as 0 and survives a reset. The
// draw is made even when the probability is 0. "auto" is 0 for a game with a mask.
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
#include "envs/frames.h"
#include "envs/game.h"
#include "envs/sticky.h"

namespace starling::envs {

inline bool UsesMinimalActions(const EnvConfig& config) {
  return config.action_set == ActionSet::kMinimal;
}

// The spec of a game under env.action_set, all of its actions or only those with an effect, and
// under env.action_bounds.
template <Game G>
EnvSpec SpecWith(const EnvConfig& config) {
  EnvSpec spec = G::Spec();
  CHECK(spec.actions.width() == static_cast<int>(kActionWidth<G>) &&
            spec.actions.box() == kHasBox<G> && spec.actions.masked == kHasMask<G>,
        "{}: its actions are not those of its Step", spec.name);
  if (spec.actions.box()) spec.actions.bounds = config.action_bounds;
  if constexpr (requires { G::kMinimalActions; }) {
    if (UsesMinimalActions(config)) {
      std::vector<std::string> names;
      for (const int action : G::kMinimalActions) names.push_back(spec.action_names[action]);
      spec.action_names = std::move(names);
      spec.actions = ActionSpace::Choice(static_cast<int>(spec.action_names.size()));
    }
  }
  return spec;
}

template <Game G>
std::vector<Player<G>> MakePlayers(int num_envs, const EnvSeed& seed, const EnvConfig& config) {
  // A repeated action may be forbidden by now.
  const bool never = kHasMask<G> && config.sticky_actions < 0;
  const double sticky = never ? 0 : StickyChance(config);
  CHECK(num_envs >= 1, "num_envs = {}", num_envs);
  CHECK(sticky <= 1, "sticky_actions = {}", sticky);
  std::vector<Player<G>> players;
  for (int i = 0; i < num_envs; ++i) {
    players.push_back({.stream = RandomStream(seed.Stream(players.size(), Purpose::kEnv)),
                       .sticky = sticky,
                       .minimal = UsesMinimalActions(config),
                       .bounds = config.action_bounds});
    if constexpr (requires(G game) { game.ramping; }) players.back().game.ramping = config.ramping;
  }
  return players;
}

// The fields of games side by side, the same on the host and on a GPU.
template <Game G>
void GameFields(StateBytes& state, std::span<Seat<G>> seats, std::vector<EpisodeEnd>& episodes) {
  const EnvSpec spec = G::Spec();
  state.Tag("game");
  state.Same(spec.name, "env.name");
  state.Same(seats.size(), "envs");
  for (Seat<G>& seat : seats) seat.Fields(state, spec.actions);
  EpisodeFields(state, episodes, static_cast<int>(seats.size()));
}

template <Game G>
class VecGame final : public VecEnv {
 public:
  VecGame(int num_envs, const EnvSeed& seed, const EnvConfig& config) : spec_(SpecWith<G>(config)) {
    for (Player<G>& player : MakePlayers<G>(num_envs, seed, config)) seats_.push_back({player});
  }

  const EnvSpec& spec() const override { return spec_; }
  int size() const override { return static_cast<int>(seats_.size()); }

  // Abandons episodes under way, without an EpisodeEnd.
  void Reset(std::span<float> observations) override {
    CHECK(observations.size() == seats_.size() * spec_.row());
    float* row = observations.data();
    for (Seat<G>& seat : seats_) {
      seat.Restart();
      Show(row, spec_.obs_size(), seat.player.game);
      row += spec_.row();
    }
  }

  // The games are played in StepWait.
  void StepAsync(std::span<const std::int32_t> actions) override { actions_ = actions; }

  void StepWait(std::span<float> observations, std::span<float> rewards,
                std::span<std::uint8_t> terminals) override {
    constexpr std::size_t kWidth = kActionWidth<G>;
    CHECK(actions_.size() == seats_.size() * kWidth && rewards.size() == seats_.size() &&
              terminals.size() == seats_.size() &&
              observations.size() == seats_.size() * spec_.row(),
          "{} words of actions, {} observed values, {} rewards, {} terminals for {} envs",
          actions_.size(), observations.size(), rewards.size(), terminals.size(), seats_.size());
    CheckActions(spec_.actions, actions_, 0);
    const int obs_size = spec_.obs_size();
    const std::size_t width = spec_.row();
    float* row = observations.data();
    for (int i = 0; i < size(); ++i, row += width) {
      Seat<G>& seat = seats_[i];
      const Outcome outcome = seat.Play(ActionFrom<G>(&actions_[i * kWidth]));
      rewards[i] = outcome.reward;
      terminals[i] = static_cast<std::uint8_t>(outcome.end());
      // An episode that ended is reported and reset before anything is observed.
      if (outcome.terminal) {
        episodes_.push_back({i, seat.episode_return, seat.length});
        seat.Restart();
      }
      Show(row, obs_size, seat.player.game);
    }
  }

  void TakeEpisodes(std::vector<EpisodeEnd>& out) override {
    out.insert(out.end(), episodes_.begin(), episodes_.end());
    episodes_.clear();
  }

  std::string WhyNotSaved() const override { return ""; }
  void Fields(StateBytes& state) override { GameFields<G>(state, seats_, episodes_); }

 private:
  // Not inlined: step and picture of some games are slower as one function (Freeway's by 8 %).
  [[gnu::noinline]] static void Show(float* row, int obs_size, const G& game) {
    ShowTo(row, obs_size, game);
  }

  EnvSpec spec_;
  std::vector<Seat<G>> seats_;
  std::span<const std::int32_t> actions_;  // of the step under way
  std::vector<EpisodeEnd> episodes_;       // not yet taken
};

// The game below the wrappers: the same envs, with the same draws.
template <Game G>
class GameFrames final : public FramesHere {
 public:
  GameFrames(int num_envs, const EnvSeed& seed, const EnvConfig& config)
      : FramesHere(num_envs, {.env = SpecWith<G>(config), .saves = true}, config),
        players_(MakePlayers<G>(num_envs, seed, config)) {}

  // The newest frame is a picture of the game.
  void Fields(StateBytes& state) override {
    state.Tag("game");
    state.Same(G::Spec().name, "env.name");
    for (int i = 0; i < size(); ++i) {
      players_[i].Fields(state, G::Spec().actions);
      if (state.reading()) Show(i);
    }
    FramesHere::Fields(state);
  }

 private:
  void Show(int i) { ShowTo(NextFrame(i).data(), spec().env.obs_size(), players_[i].game); }

  FrameResult Obey(int i, std::span<const std::int32_t> command, int frames) override {
    Player<G>& player = players_[i];
    if (command[0] == kReset) {
      player.Restart();
      Show(i);
      return {};
    }
    const ActionOf<G> asked = ActionFrom<G>(command.data());  // between the bounds already
    return PlayRepeated(repeat(), frames, 0, [&]() -> FrameResult {
      const Outcome outcome = player.Play(asked);
      Show(i);
      return {.reward = outcome.reward, .end = outcome.end()};
    });
  }

  std::vector<Player<G>> players_;
};

}  // namespace starling::envs
