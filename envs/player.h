// One env: a game, its stream, and the actions it is asked for. Compiles for a GPU as it is.
#pragma once

#include <array>
#include <cstddef>

#include "core/random.h"
#include "envs/chance.h"
#include "envs/game.h"

namespace starling::envs {

template <Game G>
struct Player {
  RandomStream stream;
  double sticky = 0;
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
      constexpr auto kActions = G::kMinimalActions;  // of its own: a GPU does not see that of G
      if (minimal) asked = kActions[static_cast<std::size_t>(asked)];
    }
    last_action = StickyAction(asked, last_action, sticky, chance);
    return game.Step(last_action, chance);
  }
};

}  // namespace starling::envs
