// Games on a device equal those on the host, bit for bit: over loops everywhere, and over a GPU
// where there is one.
#include "envs/cuda/device_game.h"

#include <gmock/gmock.h>

#include <cstring>
#include <numeric>
#include <string>

#include "core/error.h"
#include "envs/games/games.h"
#include "envs/registry.h"
#include "tests/envs/env_bench.h"
#include "tests/envs/on_loops.h"
#include "tests/envs/state_fixture.h"

namespace starling::envs {
namespace {

using Make = std::unique_ptr<VecEnv> (*)(const EnvConfig& config, int num_envs, const EnvSeed& seed,
                                         int steps, Gpu& gpu);

#define STARLING_GAME(G, name) {name, MakeOnLoops<G>},
const std::pair<const char*, Make> kOnLoops[] = {STARLING_GAMES(STARLING_GAME)};
#undef STARLING_GAME

Make OnLoopsOf(const std::string& name) {
  for (const auto& [game, make] : kOnLoops) {
    if (name == game) return make;
  }
  CHECK(false, "{} has no line in the test's table", name);
}

constexpr int kTakeEvery = 97;  // the most steps between two takings of episodes
constexpr int kSteps = 2600;    // an episode of Freeway is 2501
constexpr EnvSeed kGameSeed{.seed = 5, .slot = 1, .life = 2};

template <class T, class U>
bool SameBits(const T& a, const U& b) {
  return a.size() == b.size() &&
         std::memcmp(a.data(), b.data(), a.size() * sizeof(a.data()[0])) == 0;
}

// The same env on the host, and a random policy for both.
struct Pair {
  Pair(const EnvConfig& config, int num_envs, Gpu& gpu, Make make)
      : there(gpu, make(config, num_envs, kGameSeed, kTakeEvery, gpu)),
        here(MakeVecEnv(config, num_envs, kGameSeed)) {}

  void Step() {
    for (std::size_t i = 0; i < here.envs(); ++i) here.DrawAction(i, draws);
    std::ranges::copy(here.actions, there.actions.span().begin());
    there.Step();
    here.Step();
  }

  bool Same() const {
    return SameBits(there.seen, here.seen) && SameBits(there.rewards, here.rewards) &&
           SameBits(there.terminals, here.ends);
  }

  // How many there were.
  std::size_t TakeBoth() {
    std::vector<EpisodeEnd> ours(1), wanted;  // to be appended to
    there.env->QueueEpisodes();
    there.gpu.memory().Wait();
    const std::uint64_t untold_before = there.env->untold();
    there.env->TakeEpisodes(ours);
    here.env->TakeEpisodes(wanted);
    const std::uint64_t untold = there.env->untold() - untold_before;
    EXPECT_EQ(untold, std::max<std::size_t>(wanted.size(), kKeptEpisodes) - kKeptEpisodes);
    EXPECT_THAT(std::span(ours).subspan(1),
                testing::ElementsAreArray(std::span(wanted).subspan(untold)));
    return wanted.size();
  }

  OnGpuBench there;
  EnvBench here;
  RandomStream draws{{.seed = 3, .purpose = Purpose::kTest}};
};

void ExpectTheSamePlay(const EnvConfig& config, int num_envs, Gpu& gpu, Make make) {
  SCOPED_TRACE(fmt::format("{}, {} actions, sticky {}, ramping {}", config.name,
                           NameOf(config.action_set), config.sticky_actions, config.ramping));
  Pair pair(config, num_envs, gpu, make);
  EXPECT_EQ(pair.there.env->spec().action_names, pair.here.env->spec().action_names);
  EXPECT_EQ(pair.there.env->spec().actions, pair.here.env->spec().actions);
  ASSERT_TRUE(SameBits(pair.there.seen, pair.here.seen)) << "the first picture";
  std::size_t ended = 0;
  int until_taken = kTakeEvery;
  for (int step = 0; step < kSteps; ++step) {
    pair.Step();
    ASSERT_TRUE(pair.Same()) << "step " << step;
    if (--until_taken > 0) continue;
    ended += pair.TakeBoth();
    until_taken = 1 + static_cast<int>(pair.draws.Below(kTakeEvery));
  }
  ended += pair.TakeBoth();
  EXPECT_GE(ended, pair.there.envs()) << "too few episodes to have shown anything";
}

// A state is the same on both sides, and goes on on either.
void ExpectTheSameStates(const EnvConfig& config, int num_envs, Gpu& gpu, Make make) {
  Pair pair(config, num_envs, gpu, make);
  for (int step = 0; step < kTakeEvery; ++step) pair.Step();
  const State state = Saved(*pair.here.env);
  EXPECT_EQ(Saved(*pair.there.env), state);
  pair.TakeBoth();

  Pair fresh(config, num_envs, gpu, make);
  fresh.there.recording = 1;
  fresh.draws = pair.draws;
  fresh.Step();
  fresh.there.env->Restore(state);
  fresh.here.env->Restore(Saved(*fresh.there.env));
  fresh.here.seen = pair.here.seen;
  EXPECT_EQ(Saved(*fresh.here.env), state);
  fresh.TakeBoth();
  fresh.draws = pair.draws;
  for (int step = 0; step < kTakeEvery; ++step) {
    pair.Step();
    fresh.Step();
    ASSERT_TRUE(fresh.Same() && SameBits(fresh.here.seen, pair.here.seen)) << "step " << step;
  }
}

std::vector<EnvConfig> AllWays(const std::string& name) {
  std::vector<EnvConfig> all;
  for (const ActionSet actions : {ActionSet::kFull, ActionSet::kMinimal}) {
    for (const double sticky : {-1.0, 0.0, 0.6}) {
      if (sticky > 0 && SpecOf({.name = name}).actions.masked) continue;
      all.push_back({.name = name, .sticky_actions = sticky, .action_set = actions});
      if (!Ramps(name)) continue;
      all.push_back(all.back());
      all.back().ramping = false;
    }
  }
  return all;
}

class EveryGame : public ::testing::TestWithParam<std::string> {};

TEST_P(EveryGame, PlaysOverLoopsAsOnTheHost) {
  for (const EnvConfig& config : AllWays(GetParam())) {
    FakeGpu gpu;
    ExpectTheSamePlay(config, 3, gpu, OnLoopsOf(GetParam()));
    EXPECT_EQ(gpu.recordings(), 1);
  }
}

TEST_P(EveryGame, HasTheStateOfTheHost) {
  FakeGpu gpu;
  ExpectTheSameStates({.name = GetParam()}, 3, gpu, OnLoopsOf(GetParam()));
  if (FindGpus().gpus.empty()) return;
  const auto real = OpenGpu(0);
  ExpectTheSameStates({.name = GetParam()}, 67, *real, MakeGpuEnv);
}

TEST_P(EveryGame, PlaysOnAGpuAsOnTheHost) {
  if (FindGpus().gpus.empty()) GTEST_SKIP() << FindGpus().why_none;
  for (const EnvConfig& config : AllWays(GetParam())) {
    const auto gpu = OpenGpu(0);
    ExpectTheSamePlay(config, 67, *gpu, MakeGpuEnv);  // the last block is not full
  }
}

// Nothing is played for this: it is the table of games that is looked at.
TEST_P(EveryGame, CanBeMadeOnAGpu) {
  if (!BuiltWithCuda()) GTEST_SKIP() << FindGpus().why_none;
  FakeGpu gpu;
  const EnvConfig config{.name = GetParam(), .action_set = ActionSet::kMinimal};
  const auto env = MakeGpuEnv(config, 4, kGameSeed, 5, gpu);
  EXPECT_EQ(env->size(), 4);
  EXPECT_EQ(env->spec().name, GetParam());
  EXPECT_EQ(env->spec().action_names, SpecOf(config).action_names);
}

INSTANTIATE_TEST_SUITE_P(Games, EveryGame, ::testing::ValuesIn(EnvNames()), NameOfTest);

TEST(DeviceGame, AResetAbandonsEpisodesAndKeepsThoseThatEnded) {
  FakeGpu gpu;
  Pair pair({.name = "catch"}, 4, gpu, MakeOnLoops<Catch>);
  for (int step = 0; step < 13; ++step) pair.Step();
  pair.there.env->Reset(pair.there.seen_there.span());
  pair.there.ReadBack();
  pair.here.env->Reset(pair.here.seen);
  EXPECT_TRUE(pair.Same());
  for (int step = 0; step < 13; ++step) pair.Step();
  EXPECT_TRUE(pair.Same());
  EXPECT_EQ(pair.TakeBoth(), 8u);
  EXPECT_EQ(pair.TakeBoth(), 0u) << "once";
}

// Some hundred episodes at once, in a table of many chunks, taken after few and after many steps.
TEST(DeviceGame, OfManyEpisodesTheNewestAreTold) {
  FakeGpu gpu;
  Pair catches({.name = "catch"}, 150, gpu, MakeOnLoops<Catch>);  // they end at the same step
  Pair breakouts({.name = "minatar/breakout"}, 70, gpu, MakeOnLoops<MinatarBreakout>);
  breakouts.there.recording = 1;
  for (Pair* const pair : {&catches, &breakouts}) {
    std::size_t most = 0;
    for (const int steps : {kTakeEvery, 1, 2, 30, 0, kTakeEvery}) {
      for (int step = 0; step < steps; ++step) pair->Step();
      most = std::max(most, pair->TakeBoth());
    }
    EXPECT_GT(most, 2 * kKeptEpisodes);
  }
}

TEST(DeviceGame, OfThreeLotsTheNewestTwoAreLeft) {
  FakeGpu gpu;
  Pair pair({.name = "catch"}, 2, gpu, MakeOnLoops<Catch>);
  std::vector<EpisodeEnd> ended;
  for (int lot = 0; lot < 3; ++lot) {
    for (int step = 0; step < 9; ++step) pair.Step();
    pair.there.env->QueueEpisodes();
    if (lot > 0) continue;
    pair.here.env->TakeEpisodes(ended);
    EXPECT_EQ(ended.size(), 2u) << "the episodes of the lot that is lost";
  }
  gpu.memory().Wait();
  std::vector<EpisodeEnd> ours, wanted;
  pair.here.env->TakeEpisodes(wanted);
  for (int lot = 0; lot < 3; ++lot) pair.there.env->TakeEpisodes(ours);
  EXPECT_EQ(wanted.size(), 4u);
  EXPECT_EQ(ours, wanted);
}

TEST(DeviceGame, EpisodesThatWereQueuedAreInTheState) {
  FakeGpu gpu;
  Pair pair({.name = "catch"}, 4, gpu, MakeOnLoops<Catch>);
  for (int step = 0; step < 13; ++step) pair.Step();
  pair.there.env->QueueEpisodes();
  gpu.memory().Wait();
  for (int step = 0; step < 13; ++step) pair.Step();
  EXPECT_EQ(Saved(*pair.there.env), Saved(*pair.here.env));
  EXPECT_EQ(pair.TakeBoth(), 8u);
}

TEST(DeviceGame, AnActionOutOfRangeIsPlayedAsTheNearest) {
  FakeGpu gpu;
  Pair pair({.name = "minatar/breakout", .sticky_actions = 0, .action_set = ActionSet::kMinimal}, 2,
            gpu, MakeOnLoops<MinatarBreakout>);
  for (int step = 0; step < 4; ++step) {
    pair.there.actions.span()[0] = -1;
    pair.there.actions.span()[1] = 3;
    pair.there.Step();
    pair.here.Step({0, 2});
    ASSERT_TRUE(pair.Same()) << step;
  }
}

TEST(DeviceGame, EachOfSeveralChoicesOutOfRangeIsPlayedAsTheNearest) {
  FakeGpu gpu;
  Pair pair({.name = "control/steer", .sticky_actions = 0}, 2, gpu, MakeOnLoops<ControlSteer>);
  for (int step = 0; step < 4; ++step) {
    std::ranges::copy(std::array{-7, 1, 0, 3}, pair.there.actions.span().begin());
    pair.there.Step();
    pair.here.Step({0, 1, 0, 2});
    ASSERT_TRUE(pair.Same()) << step;
  }
}

TEST(DeviceGame, APointOutsideOfTheBoxIsPlayedWithin) {
  FakeGpu gpu;
  for (const ActionBounds bounds : {ActionBounds::kClip, ActionBounds::kTanh}) {
    Pair pair({.name = "control/reach", .sticky_actions = 0, .action_bounds = bounds}, 1, gpu,
              MakeOnLoops<ControlReach>);
    const std::vector<std::int32_t> far = {WordOf(-9e9f), WordOf(0.6f)};
    std::ranges::copy(far, pair.there.actions.span().begin());
    pair.there.Step();
    pair.here.Step(far);
    EXPECT_TRUE(pair.Same());
    // Pushes of -20 and 12; or of tanh(0.6) * 20 = 10.7, which is rounded.
    EXPECT_EQ(pair.here.seen[2], -0.2f);
    EXPECT_EQ(pair.here.seen[3], bounds == ActionBounds::kClip ? 0.12f : 0.11f);
  }
}

TEST(DeviceGame, TooLittleMemoryIsTheOperatorsToMend) {
  FakeGpu gpu(1 << 20);
  EXPECT_THROW(MakeOnLoops<MinatarBreakout>({}, 1 << 14, kGameSeed, 1, gpu), UserError);
}

TEST(DeviceGameDeathTest, RefusesWhatItWasNotMadeFor) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  FakeGpu gpu;
  Pair pair({.name = "dummy"}, 2, gpu, MakeOnLoops<Dummy>);
  EXPECT_DEATH(pair.there.env->Reset(pair.there.rewards_there.span()), "CHECK");
  EXPECT_DEATH(pair.there.env->Step(pair.there.actions_there.span(), {}, {}, {}), "0 rewards");
  for (int step = 0; step <= kTakeEvery; ++step) pair.Step();
  pair.there.env->QueueEpisodes();
  gpu.memory().Wait();
  std::vector<EpisodeEnd> ended;
  EXPECT_DEATH(pair.there.env->TakeEpisodes(ended), "98 steps since episodes were queued");
  EXPECT_DEATH(MakeOnLoops<Dummy>({}, 1, kGameSeed, 0, gpu), "steps = 0");
}

TEST(GpuEnv, RefusesWhatMakeVecEnvRefusesAndWrappers) {
  FakeGpu gpu;
  EXPECT_THROW(MakeGpuEnv({.name = "catch", .stack = 4}, 1, kGameSeed, 1, gpu), UserError);
  EXPECT_THROW(MakeGpuEnv({.name = "catch", .ramping = false}, 1, kGameSeed, 1, gpu), UserError);
  EXPECT_THROW(MakeGpuEnv({.name = "cathc"}, 1, kGameSeed, 1, gpu), UserError);
}

// One of several lanes; the other lanes have not run yet.
struct LaneOf {
  int its_index, its_count;
  int index() const { return its_index; }
  int count() const { return its_count; }
  void Sync() const {}
};

TEST(Table, LanesTogetherCarryAllOfASeatAndItsRow) {
  constexpr int kLanes = 32, kRow = 600;
  using Games = Seat<MinatarSpaceInvaders>;
  Games seat{.player = MakePlayers<MinatarSpaceInvaders>(1, kGameSeed, {})[0], .length = 7};
  seat.player.game.heading = 1;
  std::vector<std::byte> scratch(Table<MinatarSpaceInvaders>::Bytes(kRow));
  const Table<MinatarSpaceInvaders> table(scratch.data());
  // 1. All lanes carry in: the seat is whole.
  for (int lane = 0; lane < kLanes; ++lane) table.CarryIn(seat, LaneOf{lane, kLanes});
  EXPECT_EQ(table.seat().player.stream, seat.player.stream);
  EXPECT_EQ(table.seat().player.game, seat.player.game);
  EXPECT_EQ(table.seat().length, 7);

  // 2. All lanes carry out: seat and row are whole.
  std::iota(table.row(), table.row() + kRow, 1.0f);
  Games back;
  std::vector<float> observation(kRow + 1);
  for (int lane = 0; lane < kLanes; ++lane) {
    table.CarryOut(kRow, LaneOf{lane, kLanes}, back, observation.data());
  }
  EXPECT_EQ(back.player.game, seat.player.game);
  EXPECT_EQ(back.length, 7);
  for (int k = 0; k < kRow; ++k) ASSERT_EQ(observation[static_cast<std::size_t>(k)], k + 1);
  EXPECT_EQ(observation.back(), 0) << "no further";
}

}  // namespace
}  // namespace starling::envs
