// One env: a game, its stream, and the actions it is asked for. Compiles for a GPU as it is.
#pragma once

#include <cstdint>

#include "core/random.h"
#include "envs/chance.h"
#include "envs/game.h"

namespace starling::envs {

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
      if (minimal) asked = At(kActions, asked);
    }
    last_action = StickyAction(asked, last_action, sticky, chance);
    return game.Step(last_action, chance);
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
};

}  // namespace starling::envs
