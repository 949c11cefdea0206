// The situations of minatar/freeway (rarities.h).
#pragma once

#include "envs/games/minatar_freeway.h"
#include "tests/envs/cross_check/rarities.h"

namespace starling::envs::cross_check {

template <>
struct Rarities<MinatarFreeway> {
  using G = MinatarFreeway;
  static constexpr std::size_t kDepth = 36;
  static constexpr Names kNames{
      "arrived; arrived in the last step; hit; hit in the last step; hit by going to a car; "
      "stepped away from a car that comes; down in row 9; went to a car that drives on"};

  static std::uint64_t Seen(const G& before, const G& after, int action, const Outcome& outcome) {
    Bits seen;
    const bool arrived = outcome.reward > 0, last = outcome.terminal;
    const bool acts = before.chicken_timer == 0 && (action == G::kUp || action == G::kDown);
    const int went = before.chicken_row + (!acts ? 0 : action == G::kUp ? -1 : 1);
    const bool hit = !arrived && went < G::kStartRow && after.chicken_row == G::kStartRow;
    seen.Add(kNames["arrived"], arrived);
    seen.Add(kNames["arrived in the last step"], arrived && last);
    seen.Add(kNames["hit"], hit);
    seen.Add(kNames["hit in the last step"], hit && last);
    const int car = went - G::kFirstCarRow;
    const bool under = hit && before.columns[car] == G::kChickenColumn;
    seen.Add(kNames["hit by going to a car"], under);
    seen.Add(kNames["went to a car that drives on"], under && before.timers[car] == 0);
    seen.Add(kNames["down in row 9"],
             acts && before.chicken_row == G::kStartRow && action == G::kDown);
    const int was = before.chicken_row - G::kFirstCarRow;
    seen.Add(kNames["stepped away from a car that comes"],
             acts && was < G::kCars && after.columns[was] == G::kChickenColumn);
    return seen.all();
  }

  static double Liking(const G&, const G& later, const Tastes& tastes) {
    return -tastes[0] * later.chicken_row;
  }
};

}  // namespace starling::envs::cross_check
