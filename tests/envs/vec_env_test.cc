#include "envs/vec_env.h"

#include <gmock/gmock.h>

#include <array>
#include <cmath>
#include <limits>

#include "envs/games/minatar_asterix.h"
#include "envs/games/minatar_breakout.h"
#include "tests/envs/env_bench.h"

namespace starling::envs {
namespace {

// A game whose observation is its history: (number drawn at reset, steps so far, action played).
// The reward is the action; an episode ends after 3 + drawn % 2 steps.
struct Probe {
  int drawn = 0, steps = 0, played = -1;

  static EnvSpec Spec() {
    return {.name = "probe",
            .channels = 3,
            .actions = ActionSpace::Choice(4),
            .action_names = {"a", "b", "c", "d"},
            .low = -1,
            .high = 1000};
  }
  template <Chance C>
  void Reset(C& chance) {
    *this = {.drawn = chance.Below(1000)};
  }
  template <Chance C>
  Outcome Step(int action, C&) {
    played = action;
    return {static_cast<float>(action), ++steps == 3 + drawn % 2};
  }
  template <class State>
  void Fields(State& state) {
    state(drawn);
    state(steps);
    state(played);
  }
  void Observe(float* out) const {
    out[0] = static_cast<float>(drawn);
    out[1] = static_cast<float>(steps);
    out[2] = static_cast<float>(played);
  }
};

EnvBench Bench(int num_envs, const EnvSeed& seed, double sticky) {
  return EnvBench(
      std::make_unique<VecGame<Probe>>(num_envs, seed, EnvConfig{.sticky_actions = sticky}));
}

// The documented order of draws, redone by hand from the documented stream.
TEST(VecGame, DrawsTheStickyActionThenTheGamesThenTheResets) {
  const EnvSeed seed{.seed = 11, .slot = 2, .life = 5};
  const double sticky = 0.4;
  EnvBench bench = Bench(3, seed, sticky);
  for (std::uint32_t i = 0; i < 3; ++i) {
    RandomStream stream({11, 2, 5, i, Purpose::kEnv});
    EnvBench again = Bench(3, seed, sticky);
    int drawn = static_cast<int>(stream.Below(1000)), steps = 0, last = 0, repeats = 0;
    for (int step = 0; step < 200; ++step) {
      const int asked = step % 4;
      std::fill(again.actions.begin(), again.actions.end(), asked);
      ASSERT_EQ(again.seen[3 * i], static_cast<float>(drawn));
      again.Step();
      const bool repeat = stream.UniformDouble() < sticky;
      repeats += repeat;
      last = repeat ? last : asked;  // across resets too
      ASSERT_EQ(again.rewards[i], static_cast<float>(last)) << "step " << step;
      const bool over = ++steps == 3 + drawn % 2;
      ASSERT_EQ(again.ends[i], over ? 1 : 0);
      if (!over) continue;
      drawn = static_cast<int>(stream.Below(1000));
      steps = 0;
      ASSERT_EQ(again.seen[3 * i + 1], 0) << "the first picture of the next episode";
    }
    EXPECT_GT(repeats, 40);  // 80 expected
  }
}

TEST(VecGame, TheLastActionOutlivesAReset) {
  const EnvSeed seed{.seed = 1};
  EnvBench bench = Bench(1, seed, 0.5);
  RandomStream stream({1, 0, 0, 0, Purpose::kEnv});
  stream.Below(1000);
  int last = 0, repeats = 0;
  for (int i = 0; i < 40; ++i) {
    const int asked = 1 + i % 3;
    bench.Step({asked});
    const bool repeat = stream.UniformDouble() < 0.5;
    repeats += repeat;
    last = repeat ? last : asked;
    ASSERT_EQ(bench.seen[2], static_cast<float>(last)) << i;
    bench.env->Reset(bench.seen);  // in the middle of the episode
    stream.Below(1000);
  }
  EXPECT_GT(repeats, 8);
}

// Shows the action it played, and as its reward the sum of the numbers. An episode has three steps.
template <class Number>
struct Echo {
  using Action = std::array<Number, 2>;
  int steps = 0;
  Action played{};

  template <Chance C>
  void Reset(C&) {
    *this = {};
  }
  template <Chance C>
  Outcome Step(const Action& action, C&) {
    played = action;
    return {static_cast<float>(action[0] + action[1]), ++steps == 3};
  }
  template <class State>
  void Fields(State& state) {
    state(steps, 0, 2);
    state(played);
  }
  void Observe(float* out) const {
    for (const Number number : played) *out++ = static_cast<float>(number);
  }
};

struct EchoBox : Echo<float> {
  static constexpr Action kLow = {-2, 0}, kHigh = {6, std::numeric_limits<float>::infinity()};
  static EnvSpec Spec() {
    return {.name = "box",
            .channels = 2,
            .actions = ActionSpace::Box({kLow.begin(), kLow.end()}, {kHigh.begin(), kHigh.end()}),
            .action_names = {}};
  }
};

// A value may not be chosen twice in a row.
struct EchoChoices : Echo<int> {
  static EnvSpec Spec() {
    EnvSpec spec{.name = "choices",
                 .channels = 2,
                 .actions = ActionSpace::Choices({2, 3}),
                 .action_names = {}};
    spec.actions.masked = true;
    return spec;
  }
  void Mask(float* out) const {
    for (int value = 0; value < 2; ++value) *out++ = value == played[0] ? 0.0f : 1.0f;
    for (int value = 0; value < 3; ++value) *out++ = value == played[1] ? 0.0f : 1.0f;
  }
};

template <Game G>
EnvBench BenchOf(int num_envs, const EnvConfig& config) {
  return EnvBench(std::make_unique<VecGame<G>>(num_envs, EnvSeed{.seed = 1}, config));
}

std::vector<std::int32_t> WordsOf(const std::vector<float>& numbers) {
  std::vector<std::int32_t> words;
  for (const float number : numbers) words.push_back(WordOf(number));
  return words;
}

TEST(VecGame, ABoxGameSeesPointsBetweenItsBounds) {
  EnvBench clip = BenchOf<EchoBox>(2, {.sticky_actions = 0});
  clip.Step(WordsOf({0.5f, 7, -3, -1}));
  EXPECT_THAT(clip.seen, testing::ElementsAre(4, 7, -2, 0));
  EXPECT_THAT(clip.rewards, testing::ElementsAre(11, -2));
  const EnvConfig tanh{.sticky_actions = 0, .action_bounds = ActionBounds::kTanh};
  EnvBench squashed = BenchOf<EchoBox>(1, tanh);
  EXPECT_EQ(squashed.env->spec().actions.bounds, ActionBounds::kTanh);
  squashed.Step(WordsOf({0.5f, 7}));
  EXPECT_FLOAT_EQ(squashed.seen[0], 2 + 4 * std::tanh(0.5f));
  EXPECT_EQ(squashed.seen[1], 7);
}

// The wrappers above have brought its numbers between the bounds.
TEST(GameFrames, PlaysThePointAsItIs) {
  GameFrames<EchoBox> frames(1, {.seed = 1}, {.sticky_actions = 0});
  frames.Advance(std::vector<std::int32_t>{FrameEnvs::kReset, 0});
  frames.Advance(WordsOf({0.5f, 7}));
  EXPECT_THAT(frames.floats(0), testing::ElementsAre(0.5f, 7));
}

TEST(VecGame, SeveralChoicesAreWordsSideBySide) {
  EnvBench bench = BenchOf<EchoChoices>(2, {.sticky_actions = 0});
  bench.Step({1, 2, 0, 1});
  EXPECT_THAT(bench.rewards, testing::ElementsAre(3, 1));
}

// Of a fresh episode, of a step, and of the episode after an end.
TEST(VecGame, TheMaskFollowsTheObservation) {
  const std::vector<float> fresh = {0, 0, 0, 1, 0, 1, 1}, played = {1, 2, 1, 0, 1, 1, 0};
  EnvBench bench = BenchOf<EchoChoices>(1, {.sticky_actions = 0});
  GameFrames<EchoChoices> frames(1, {.seed = 1}, {.sticky_actions = 0});
  frames.Advance(std::vector<std::int32_t>{FrameEnvs::kReset, 0});
  EXPECT_EQ(bench.seen, fresh);
  EXPECT_THAT(frames.floats(0), testing::ElementsAreArray(fresh));
  bench.Step({1, 2});
  frames.Advance(std::vector<std::int32_t>{1, 2});
  EXPECT_EQ(bench.seen, played);
  EXPECT_THAT(frames.floats(0), testing::ElementsAreArray(played));
  bench.Step();
  bench.Step();
  EXPECT_EQ(bench.ends[0], 1);
  EXPECT_EQ(bench.seen, fresh);
}

// Both numbers are repeated, or none.
TEST(VecGame, AStickyActionIsTheWholeOfTheLast) {
  EnvBench bench = BenchOf<EchoBox>(1, {.sticky_actions = 0.5});
  RandomStream stream({1, 0, 0, 0, Purpose::kEnv});
  std::vector<float> last = {0, 0};  // 0 of the game, though a policy's 0 is the middle, 2
  int repeats = 0;
  for (int step = 1; step <= 60; ++step) {
    bench.Step(WordsOf({0, static_cast<float>(step)}));
    const bool repeat = stream.UniformDouble() < 0.5;
    repeats += repeat;
    if (!repeat) last = {2, static_cast<float>(step)};
    ASSERT_EQ(bench.rewards[0], last[0] + last[1]) << step;
  }
  EXPECT_GT(repeats, 15);
}

TEST(VecGame, AMaskedGameIsNotStickyByItself) {
  EXPECT_EQ(MakePlayers<EchoChoices>(1, {}, {})[0].sticky, 0);
  EXPECT_EQ(MakePlayers<EchoBox>(1, {}, {})[0].sticky, 0.1);
}

template <Game G>
void ExpectLastActionRefused(void (*forge)(ActionOf<G>& last)) {
  const ActionSpace actions = G::Spec().actions;
  Player<G> player, other;
  const auto fields = [&](Player<G>& its, StateBytes state) { its.Fields(state, actions); };
  std::vector<std::byte> bytes;
  fields(player, StateBytes(bytes));
  fields(other, StateBytes(std::span<const std::byte>(bytes)));
  forge(player.last_action);
  bytes.clear();
  StateBytes to(bytes);
  EXPECT_THROW(
      {
        player.Fields(to, actions);
        fields(other, StateBytes(std::span<const std::byte>(bytes)));
      },
      StateError);
}

TEST(VecGame, AStateHasALastActionThatTheGameCanPlay) {
  ExpectLastActionRefused<EchoBox>([](auto& last) { last[0] = 6.5f; });
  ExpectLastActionRefused<EchoBox>([](auto& last) { last[1] = std::nanf(""); });
  ExpectLastActionRefused<EchoBox>([](auto& last) { last[1] = INFINITY; });
  ExpectLastActionRefused<EchoChoices>([](auto& last) { last[0] = 2; });
  ExpectLastActionRefused<EchoChoices>([](auto& last) { last[1] = -1; });
  ExpectLastActionRefused<Probe>([](auto& last) { last = 4; });
}

TEST(VecGameDeathTest, RefusesActionsThatAreNone) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EnvBench box = BenchOf<EchoBox>(2, {}), choices = BenchOf<EchoChoices>(2, {});
  EXPECT_DEATH(box.Step(WordsOf({0, 0, std::nanf(""), 0})), "action -?nan of env 1");
  EXPECT_DEATH(choices.Step({1, 2, 2, 0}), "action 2 of env 1, not in .0, 2.");
  EXPECT_DEATH(choices.Step({1, 2}), "2 words of actions");
}

// A game whose Spec says something else than its Step.
struct Wrong : EchoChoices {
  static EnvSpec Spec() { return {.name = "wrong", .channels = 2, .action_names = {}}; }
};

TEST(VecGameDeathTest, RefusesAGameWhoseSpecHasOtherActions) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_DEATH(SpecWith<Wrong>({}), "wrong: its actions are not those of its Step");
}

TEST(VecGameDeathTest, RefusesBuffersOfAnotherSize) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EnvBench bench = Bench(2, {}, 0.0);
  bench.rewards.resize(3);
  EXPECT_DEATH(bench.Step(), "3 rewards");
  EXPECT_DEATH(bench.env->Reset(bench.rewards), "CHECK");
  EXPECT_DEATH(Bench(0, {}, 0.0), "num_envs = 0");
  EXPECT_DEATH(Bench(1, {}, 1.5), "sticky_actions = 1.5");
}

TEST(VecGameOptions, MinimalActionsAreThoseThatDoSomething) {
  const EnvConfig minimal{.sticky_actions = 0, .action_set = ActionSet::kMinimal};
  const auto bench = [](const EnvConfig& config) {
    return EnvBench(std::make_unique<VecGame<MinatarBreakout>>(1, EnvSeed{.seed = 1}, config));
  };
  EnvBench few = bench(minimal), full = bench({.sticky_actions = 0});
  EXPECT_EQ(few.env->spec().actions.values(), 3);
  EXPECT_THAT(few.env->spec().action_names, testing::ElementsAre("noop", "left", "right"));
  EXPECT_EQ(full.env->spec().actions.values(), 6);
  few.Step({2});
  full.Step({MinatarBreakout::kRight});
  EXPECT_EQ(few.seen, full.seen);
}

TEST(VecGameOptions, RampingIsPassedOn) {
  EXPECT_TRUE(MakePlayers<MinatarAsterix>(1, {}, {})[0].game.ramping);
  EXPECT_FALSE(MakePlayers<MinatarAsterix>(1, {}, {.ramping = false})[0].game.ramping);
}

}  // namespace
}  // namespace starling::envs
