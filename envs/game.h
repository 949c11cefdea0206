// A game: plain copyable state, a reset, a step and a picture of itself. And its player.
//
//   static EnvSpec Spec();                           host only
//   constexpr void Reset(Chance&);                   a fresh episode
//   constexpr Outcome Step(int action, Chance&);     action in [0, count), episode not over
//   constexpr void Observe(float* out) const;        writes all of (H, W, C), C order
//   constexpr void Fields(State& state);             every member but options: core/state_bytes.h
//
// and optionally:
//
//   using Action = std::array<int, n>;      Step takes a value of each of n choices; or
//   using Action = std::array<float, n>;    a point of a box, whose bounds contain 0:
//   static constexpr std::array<float, n> kLow, kHigh;
//   constexpr void Mask(float* out) const;  of choices whose Spec() says `masked`: writes 1 for
//                                           each value that is allowed now, else 0
//   static constexpr std::array<int, n> kMinimalActions;   the ints with an effect, ascending;
//                                                          not together with Mask
//   bool ramping = true;                                   false: never harder; Reset keeps it
//
// Reset, Step and Observe allocate nothing, make no virtual call and keep everything in plain
// members and arrays. They are constexpr to enforce this: a compiler that can run a game can also
// put it on a GPU. Action 0 must be harmless to repeat: it is the "last action" before the first
// (sticky actions).
#pragma once

#include <array>
#include <bit>
#include <cmath>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <span>
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

template <class G>
struct ActionType {
  using Type = int;
};
template <class G>
requires requires { typename G::Action; }
struct ActionType<G> {
  using Type = typename G::Action;
};
template <class G>
using ActionOf = typename ActionType<G>::Type;

template <class T>
concept Game = std::is_trivially_copyable_v<T> && std::default_initializable<T> &&
    requires(T game, const T& same, const ActionOf<T>& action, RandomChance& chance, float* out,
             AnyState& state) {
  { T::Spec() } -> std::same_as<EnvSpec>;
  { game.Reset(chance) } -> std::same_as<void>;
  { game.Step(action, chance) } -> std::same_as<Outcome>;
  { same.Observe(out) } -> std::same_as<void>;
  { game.Fields(state) } -> std::same_as<void>;
};

// Words of an action: ActionSpace::width().
template <Game G>
inline constexpr std::size_t kActionWidth = sizeof(ActionOf<G>) / sizeof(std::int32_t);
template <Game G>
using ActionWords = std::array<std::int32_t, kActionWidth<G>>;
template <Game G>
inline constexpr bool kHasBox = std::is_same_v<ActionOf<G>, std::array<float, kActionWidth<G>>>;
template <Game G>
inline constexpr bool kHasMask = requires(const G& game, float* out) {
  game.Mask(out);
};

// The action of these words, whose numbers are not changed.
template <Game G>
constexpr ActionOf<G> ActionFrom(const std::int32_t* words) {
  ActionWords<G> action{};
  for (std::size_t k = 0; k < action.size(); ++k) action[k] = words[k];
  return std::bit_cast<ActionOf<G>>(action);
}

// The numbers of an action, one after the other.
inline std::span<int> NumbersOf(int& action) { return {&action, 1}; }
template <class T, std::size_t n>
std::span<T> NumbersOf(std::array<T, n>& action) {
  return action;
}

// Writes a row of observations: the picture, of `obs_size` values, and the mask, if there is one.
template <Game G>
constexpr void ShowTo(float* row, int obs_size, const G& game) {
  game.Observe(row);
  if constexpr (kHasMask<G>) game.Mask(row + obs_size);
}

// Whether action 0 is one, as the last action before the first must be.
template <Game G>
constexpr bool ZeroIsAnAction() {
  if constexpr (kHasBox<G>) {
    for (std::size_t k = 0; k < kActionWidth<G>; ++k) {
      if (G::kLow[k] > 0 || G::kHigh[k] < 0) return false;
    }
  }
  return true;
}

// One env: a game, its stream, and the actions it is asked for. Compiles for a GPU as it is.
template <Game G>
struct Player {
  using Action = ActionOf<G>;
  static constexpr bool kHasMinimal = requires { G::kMinimalActions; };
  static_assert(ZeroIsAnAction<G>());
  static_assert(!kHasMinimal || (std::is_same_v<Action, int> && !kHasMask<G>));

  RandomStream stream;
  double sticky = 0;                          // probability of a sticky action
  bool minimal = false;                       // actions are indices into G::kMinimalActions
  ActionBounds bounds = ActionBounds::kClip;  // of a box
  G game{};
  Action last_action{};

  // A policy's action, a point of the whole space, between the bounds. Choices stay as they are.
  constexpr Action Bounded(Action action) const {
    if constexpr (kHasBox<G>) {
      constexpr auto kLow = G::kLow, kHigh = G::kHigh;  // as kActions below
      for (std::size_t k = 0; k < action.size(); ++k) {
        action[k] = IntoBounds(action[k], kLow[k], kHigh[k], bounds);
      }
    }
    return action;
  }

  constexpr void Restart() {
    RandomChance chance(stream);
    game.Reset(chance);
  }

  // REQUIRES: `asked` is between the bounds.
  constexpr Outcome Play(Action asked) {
    RandomChance chance(stream);
    if constexpr (kHasMinimal) {
      constexpr auto kActions = G::kMinimalActions;  // a local copy: a GPU cannot index that of G
      if (minimal) asked = kActions[asked];
    }
    last_action = StickyAction(asked, last_action, sticky, chance);
    return game.Step(last_action, chance);
  }

  // `actions`: those of the whole game. The options are not a part of the state.
  template <class State>
  void Fields(State& state, const ActionSpace& actions) {
    state(stream);
    std::size_t k = 0;
    for (auto& number : NumbersOf(last_action)) {
      if constexpr (kHasBox<G>) {
        state(number);
        const bool within = number >= actions.low[k] && number <= actions.high[k];
        if (!within || !std::isfinite(number)) {
          throw StateError("a saved state holds a last action out of bounds: it is damaged");
        }
      } else {
        state(number, 0, actions.counts[k] - 1);
      }
      ++k;
    }
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

  // `asked`: as a policy drew it.
  constexpr Outcome Play(const ActionOf<G>& asked) {
    const Outcome outcome = player.Play(player.Bounded(asked));
    episode_return += outcome.reward;
    ++length;
    return outcome;
  }

  template <class State>
  void Fields(State& state, const ActionSpace& actions) {
    player.Fields(state, actions);
    state(episode_return);
    state(length, 0, kLongestEpisode);
  }
};

}  // namespace starling::envs
