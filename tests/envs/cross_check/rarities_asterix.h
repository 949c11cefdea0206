// The situations of minatar/asterix (rarities.h).
#pragma once

#include <bit>

#include "envs/games/minatar_asterix.h"
#include "tests/envs/cross_check/rarities.h"

namespace starling::envs::cross_check {

template <>
struct Rarities<MinatarAsterix> {
  using G = MinatarAsterix;
  static constexpr std::size_t kDepth = 16;
  static constexpr Names kNames{
      "ramp 1; ramp 2; ramp 3; ramp 4; ramp 5; ramp 6; ramp 7; ramp 8; ramp 9; all rows full; "
      "an entry with no free row; an entry into the last free row; an entry while an entity "
      "leaves; an entity enters on us; we go to gold; gold comes to us; we go to an enemy; an "
      "enemy comes to us; a move on every step"};

  static std::uint64_t Seen(const G& before, const G& after, int, const Outcome& outcome) {
    Bits seen;
    const int ramp = G::kEntryPeriod - after.entry_period;
    if (ramp > 0) seen.Add(kNames["ramp 1"] + static_cast<std::size_t>(ramp) - 1);
    const bool enters = before.entry_timer == 0, moves = before.move_timer == 0;
    seen.Add(kNames["all rows full"], after.present == 0xff);
    seen.Add(kNames["an entry with no free row"], enters && before.present == 0xff);
    seen.Add(kNames["an entry into the last free row"],
             enters && std::popcount(before.present) == 7);
    seen.Add(kNames["a move on every step"], after.move_period == 1);
    const int slot = after.player_row - G::kFirstRow;
    const bool here = (before.present >> slot & 1) != 0;
    const bool walked = here && before.columns[slot] == after.player_column;
    if (outcome.reward > 0) seen.Add(walked ? kNames["we go to gold"] : kNames["gold comes to us"]);
    if (outcome.terminal)
      seen.Add(walked ? kNames["we go to an enemy"] : kNames["an enemy comes to us"]);
    seen.Add(kNames["an entity enters on us"],
             enters && !here && (outcome.reward > 0 || outcome.terminal));
    if (!enters || !moves) return seen.all();
    for (int i = 0; i < G::kRows; ++i) {
      const bool rightward = (before.rightward >> i & 1) != 0;
      seen.Add(
          kNames["an entry while an entity leaves"],
          (before.present >> i & 1) != 0 && before.columns[i] == (rightward ? G::kSide - 1 : 0));
    }
    return seen.all();
  }

  static double Liking(const G&, const G& later, const Tastes& tastes) {
    return tastes[0] * later.player_row + tastes[1] * later.player_column -
           0.3 * tastes[2] * later.player_row;
  }
};

}  // namespace starling::envs::cross_check
