// A game: plain copyable state, a reset, a step and a picture of itself. And its player.
//
//   static EnvSpec Spec();                           host only
//   constexpr void Reset(Chance&);                   a fresh episode
//   constexpr Outcome Step(int action, Chance&);     action in [0, num_actions), episode not over
//   constexpr void Observe(float* out) const;        writes all of (H, W, C), C order
//   constexpr void Fields(State& state);             every member but options: core/state_bytes.h
//
// and optionally:
//
//   static constexpr std::array<int, n> kMinimalActions;   those with an effect, ascending
//   bool ramping = true;                                   false: never harder; Reset keeps it
//
// Reset, Step and Observe allocate nothing, make no virtual call and keep everything in plain
// members and arrays. They are constexpr to enforce this: a compiler that can run a game can also
// put it on a GPU. Action 0 must be harmless to repeat: it is the "last action" before the first
// (sticky actions).
#pragma once

#include <concepts>
#include <cstdint>
#include <type_traits>

#include "core/random.h"
#include "envs/chance.h"
#include "envs/env.h"

namespace starling::envs {

struct Outcome {
  float reward = 0;
  bool terminal = false;
  constexpr End end() const { return terminal ? End::kTerminated : End::kRunning; }
  friend constexpr bool operator==(const Outcome&, const Outcome&) = default;
};

// Stands for any State of Game::Fields.
struct AnyState {
  template <class... Args>
  constexpr void operator()(Args&&...) {}
};

template <class T>
concept Game = std::is_trivially_copyable_v<T> && std::default_initializable<T> &&
    requires(T game, const T& same, int action, RandomChance& chance, float* out, AnyState& state) {
  { T::Spec() } -> std::same_as<EnvSpec>;
  { game.Reset(chance) } -> std::same_as<void>;
  { game.Step(action, chance) } -> std::same_as<Outcome>;
  { same.Observe(out) } -> std::same_as<void>;
  { game.Fields(state) } -> std::same_as<void>;
};

// One env: a game, its stream, and the actions it is asked for. Compiles for a GPU as it is.
template <Game G>
struct Player {
  RandomStream stream;
  double sticky = 0;     // probability of a sticky action
  bool minimal = false;  // actions are indices into G::kMinimalActions
  G game{};
  int last_action = 0;

  constexpr void Restart() {
    RandomChance chance(stream);
    game.Reset(chance);
  }

  constexpr Outcome Play(int asked) {
    RandomChance chance(stream);
    if constexpr (requires { G::kMinimalActions; }) {
      constexpr auto kActions = G::kMinimalActions;  // a local copy: a GPU cannot index that of G
      if (minimal) asked = kActions[asked];
    }
    last_action = StickyAction(asked, last_action, sticky, chance);
    return game.Step(last_action, chance);
  }

  // `actions`: those of the whole game. The options are not a part of the state.
  template <class State>
  constexpr void Fields(State& state, int actions) {
    state(stream);
    state(last_action, 0, actions - 1);
    state(game);
  }
};

// A player and the episode under way.
template <Game G>
struct Seat {
  Player<G> player;
  double episode_return = 0;
  std::int64_t length = 0;

  constexpr void Restart() {
    player.Restart();
    episode_return = 0;
    length = 0;
  }

  constexpr Outcome Play(int asked) {
    const Outcome outcome = player.Play(asked);
    episode_return += outcome.reward;
    ++length;
    return outcome;
  }

  template <class State>
  constexpr void Fields(State& state, int actions) {
    player.Fields(state, actions);
    state(episode_return);
    state(length, 0, kLongestEpisode);
  }
};

}  // namespace starling::envs
