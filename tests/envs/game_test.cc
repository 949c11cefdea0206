// Games run at compile time, so they allocate nothing that they keep, call nothing virtual and read
// nothing that they did not write: they stay fit for a GPU.
#include "envs/game.h"

#include <gmock/gmock.h>

#include <set>

#include "envs/games/games.h"

namespace starling::envs {
namespace {

// A chance that counts through the possible draws.
struct CountingChance {
  unsigned count = 0;
  constexpr double Uniform() { return static_cast<double>(count++ % 8) / 8; }
  constexpr int Below(int n) { return static_cast<int>(count++ % static_cast<unsigned>(n)); }
  constexpr int Between(int low, int high) { return low + Below(high - low); }
};
static_assert(Chance<CountingChance> && Chance<RandomChance> && Chance<ScriptedChance>);

// The n-th action of a game, in turns.
template <Game G>
constexpr ActionOf<G> ActionNo(int n) {
  if constexpr (kHasBox<G>) {
    return {static_cast<float>(n % 3 - 1), static_cast<float>(n % 5 - 2) / 2};
  } else if constexpr (kActionWidth<G> == 2) {
    return {n % G::kValues, n / G::kValues % G::kValues};
  } else {
    return n % G::kNumActions;
  }
}

// The largest value ever observed in `steps` steps; low - 1 if a value lies below `low`.
template <Game G, int kObserved, int kMask = 0>
constexpr float LargestObserved(int steps, float low = 0) {
  CountingChance chance;
  G game{};
  game.Reset(chance);
  float largest = 0;
  for (int step = 0; step < steps; ++step) {
    if (game.Step(ActionNo<G>(step / 3), chance).terminal) game.Reset(chance);
    float seen[kObserved + kMask] = {};
    ShowTo(seen, kObserved, game);
    for (const float value : seen) {
      if (value < low) return low - 1;
      if (value > largest) largest = value;
    }
  }
  return largest;
}

static_assert(LargestObserved<Dummy, 3>(20) == 1);
static_assert(LargestObserved<Catch, 50>(20) == 1);
static_assert(LargestObserved<ClassicCartpole, 4>(30, -2) > 0.1f);
static_assert(LargestObserved<ControlReach, 7>(120, -1) == 1);
static_assert(LargestObserved<ControlSteer, 7, 6>(120, -1) == 1);
static_assert(LargestObserved<GridCourier, 103>(120) == 1);
static_assert(LargestObserved<MemoryRecall, 6>(20) == 1);
static_assert(LargestObserved<ArcadePong, 84 * 84>(12) == 1);
static_assert(LargestObserved<MinatarAsterix, 400>(30) == 1);
static_assert(LargestObserved<MinatarBreakout, 400>(30) == 1);
static_assert(LargestObserved<MinatarFreeway, 700>(30) == 1);
static_assert(LargestObserved<MinatarSeaquest, 1000>(30) == 1);
static_assert(LargestObserved<MinatarSpaceInvaders, 600>(30) == 1);

template <class G>
class AnyGame : public testing::Test {};
using Games = testing::Types<Dummy, Catch, ClassicCartpole, ControlReach, ControlSteer,
                             MemoryRecall, ArcadePong, MinatarBreakout, MinatarAsterix,
                             MinatarFreeway, MinatarSeaquest, MinatarSpaceInvaders>;
TYPED_TEST_SUITE(AnyGame, Games);

// Only whether it ramps, an option, outlives an episode.
TYPED_TEST(AnyGame, ResetLeavesNothingOfTheEpisodeBefore) {
  for (int steps = 0; steps < 30; ++steps) {
    CountingChance chance;
    TypeParam used{}, fresh{};
    if constexpr (requires { used.ramping; }) used.ramping = fresh.ramping = steps % 2 == 0;
    used.Reset(chance);
    for (int step = 0; step < steps; ++step) {
      if (used.Step(ActionNo<TypeParam>(1 + step % 2), chance).terminal) break;
    }
    CountingChance again, same;
    used.Reset(again);
    fresh.Reset(same);
    ASSERT_EQ(used, fresh) << "after " << steps << " steps";
    if constexpr (requires { used.ramping; }) {
      EXPECT_EQ(used.ramping, steps % 2 == 0);
    }
  }
}

// Each action is taken from every position of a play, and compared with doing nothing there.
TYPED_TEST(AnyGame, MinimalActionsAreThoseWithAnEffect) {
  if constexpr (requires { TypeParam::kMinimalActions; }) {
    std::set<int> useful = {TypeParam::kNoop};
    CountingChance chance;
    TypeParam game{};
    game.Reset(chance);
    for (int step = 0; step < 500; ++step) {
      const auto after = [&](int action) {
        TypeParam acted = game;
        CountingChance draws = chance;
        acted.Step(action, draws);
        return acted;
      };
      for (int action = 0; action < TypeParam::kNumActions; ++action) {
        if (after(action) != after(TypeParam::kNoop)) useful.insert(action);
      }
      if (game.Step(step / 3 % TypeParam::kNumActions, chance).terminal) game.Reset(chance);
    }
    EXPECT_THAT(useful, testing::ElementsAreArray(TypeParam::kMinimalActions));
  }
}

}  // namespace
}  // namespace starling::envs
