// The situations of minatar/space_invaders (rarities.h).
#pragma once

#include <bit>

#include "envs/games/minatar_space_invaders.h"
#include "tests/envs/cross_check/rarities.h"

namespace starling::envs::cross_check {

template <>
struct Rarities<MinatarSpaceInvaders> {
  using G = MinatarSpaceInvaders;
  static constexpr std::size_t kDepth = 40;
  static constexpr Names kNames{
      "base 12; base 11; base 10; base 9; base 8; base 7; base 6; a wave cleared at base 6; a "
      "wave cleared; a wave cleared in the last step; a wave cleared with bullets of theirs in "
      "the air; a new wave comes onto a bullet of ours; a wave cleared while heading right; "
      "two hits in one step; a hit as their gun fires; points in the last step; aliens drop; "
      "aliens drop from row 9; a hit as aliens drop from row 9; an alien comes to us; we drive "
      "to an alien; a bullet of theirs ends it; we leave a cell as a bullet comes; two columns "
      "equally near; bullets pass each other; an alien steps onto a bullet"};

  static std::uint64_t Seen(const G& before, const G& after, int, const Outcome& outcome) {
    Bits seen;
    seen.Add(kNames["base 12"] + static_cast<std::size_t>(G::kFirstBase - after.base));
    const int count = Count(before);
    const bool cleared =
        outcome.reward > 0 && Count(after) > count - static_cast<int>(outcome.reward);
    const bool moves = before.move_timer == 0;
    const unsigned here = 1u << after.cannon;
    seen.Add(kNames["a wave cleared"], cleared);
    seen.Add(kNames["a wave cleared at base 6"], cleared && before.base == G::kLastBase);
    seen.Add(kNames["a wave cleared in the last step"], cleared && outcome.terminal);
    seen.Add(kNames["a wave cleared while heading right"], cleared && after.heading > 0);
    seen.Add(kNames["two hits in one step"], outcome.reward > 1);
    seen.Add(kNames["a hit as their gun fires"], outcome.reward > 0 && before.enemy_gun_timer == 0);
    seen.Add(kNames["points in the last step"], outcome.terminal && outcome.reward > 0);
    seen.Add(kNames["aliens drop"], after.heading != before.heading);
    const bool dropped_out = after.heading != before.heading && before.aliens[9] != 0;
    seen.Add(kNames["aliens drop from row 9"], dropped_out);
    seen.Add(kNames["a hit as aliens drop from row 9"], dropped_out && outcome.reward > 0);
    seen.Add(kNames["we drive to an alien"], (before.aliens[9] & here) != 0);
    seen.Add(kNames["an alien comes to us"],
             moves && (before.aliens[9] & here) == 0 && (after.aliens[9] & here) != 0);
    seen.Add(kNames["a bullet of theirs ends it"], (before.enemy_bullets[8] & here) != 0);
    seen.Add(kNames["we leave a cell as a bullet comes"],
             (before.enemy_bullets[8] & 1u << before.cannon) != 0 && before.cannon != after.cannon);
    seen.Add(kNames["two columns equally near"],
             before.enemy_gun_timer == 0 && EquallyNear(before, after.cannon));
    bool flying = false, over = false, pass = false;
    for (int row = 0; row < G::kSide; ++row) {
      flying |= after.enemy_bullets[row] != 0;
      over |= (after.aliens[row] & after.bullets[row]) != 0;
      pass |= row > 0 && ((before.bullets[row] &
                           (before.enemy_bullets[row - 1] | before.enemy_bullets[row])) != 0);
    }
    seen.Add(kNames["a wave cleared with bullets of theirs in the air"], cleared && flying);
    seen.Add(kNames["a new wave comes onto a bullet of ours"], cleared && over);
    seen.Add(kNames["bullets pass each other"], pass);
    seen.Add(kNames["an alien steps onto a bullet"], moves && outcome.reward > 0);
    return seen.all();
  }

  // Tastes: for clearing waves, or to let the aliens come down: all of them, or the last few.
  static double Liking(const G&, const G& later, const Tastes& tastes) {
    int lowest = 0;
    for (int row = 0; row < G::kSide; ++row) {
      if (later.aliens[row] != 0) lowest = row;
    }
    const int count = Count(later);
    if (tastes[0] < 0.5) return -0.1 * count - 0.3 * lowest;
    if (tastes[0] < 0.7) return 0.1 * count + 0.3 * lowest;
    return 0.5 * lowest - (count < kFew ? 3 * (kFew - count) : 0.2 * (count - kFew));
  }

 private:
  static constexpr int kFew = 4;

  static int Count(const G& game) {
    int count = 0;
    for (const G::Row row : game.aliens) count += std::popcount(row);
    return count;
  }

  static bool EquallyNear(const G& game, int cannon) {
    unsigned columns = 0;
    for (const G::Row row : game.aliens) columns |= row;
    for (int distance = 1; distance < G::kSide; ++distance) {
      const bool left = cannon >= distance && (columns >> (cannon - distance) & 1) != 0;
      const bool right = (columns >> (cannon + distance) & 1) != 0;
      if (left || right || (columns >> cannon & 1) != 0)
        return left && right && (columns >> cannon & 1) == 0;
    }
    return false;
  }
};

}  // namespace starling::envs::cross_check
