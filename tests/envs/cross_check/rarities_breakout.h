// The situations of minatar/breakout (rarities.h).
#pragma once

#include <bit>

#include "envs/games/minatar_breakout.h"
#include "tests/envs/cross_check/rarities.h"

namespace starling::envs::cross_check {

template <>
struct Rarities<MinatarBreakout> {
  using G = MinatarBreakout;
  static constexpr std::size_t kDepth = 40;
  static constexpr Names kNames{
      "the wall is cleared; the wall comes back; the ball is lost as the wall comes back; a "
      "second brick is passed through; turned back both ways; saved in a corner; lost in a "
      "corner; a brick hit along a side wall; a brick hit from above; a brick in row 1 hit "
      "from row 0; the top met while struck"};

  static std::uint64_t Seen(const G& before, const G& after, int, const Outcome& outcome) {
    Bits seen;
    const bool none = Left(before) == 0;
    const bool wall = before.ball_column + before.column_step < 0 ||
                      before.ball_column + before.column_step >= G::kSide;
    const bool low = before.ball_row + before.row_step == G::kPaddleRow;
    seen.Add(kNames["the wall is cleared"], !none && Left(after) == 0);
    seen.Add(kNames["the wall comes back"], none && Left(after) > 0);
    seen.Add(kNames["the ball is lost as the wall comes back"], none && outcome.terminal);
    seen.Add(kNames["a second brick is passed through"],
             before.struck && after.struck && outcome.reward == 0);
    seen.Add(kNames["turned back both ways"],
             low && !wall && !outcome.terminal && after.column_step != before.column_step);
    seen.Add(kNames["saved in a corner"], low && wall && !outcome.terminal);
    seen.Add(kNames["lost in a corner"], low && wall && outcome.terminal);
    seen.Add(kNames["a brick hit along a side wall"], wall && outcome.reward > 0);
    seen.Add(kNames["a brick hit from above"], before.row_step > 0 && outcome.reward > 0);
    seen.Add(kNames["a brick in row 1 hit from row 0"], before.ball_row == 0 && outcome.reward > 0);
    seen.Add(kNames["the top met while struck"],
             before.ball_row == 0 && before.row_step < 0 && before.struck);
    return seen.all();
  }

  static double Liking(const G&, const G& later, const Tastes& tastes) {
    return tastes[0] * later.paddle;
  }

 private:
  static int Left(const G& game) {
    int bricks = 0;
    for (const std::uint16_t row : game.bricks) bricks += std::popcount(row);
    return bricks;
  }
};

}  // namespace starling::envs::cross_check
