#include "envs/paced.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>

#include "envs/registry.h"
#include "tests/envs/env_bench.h"

namespace starling::envs {
namespace {

using testing::Each;
using testing::ElementsAre;

constexpr EnvSeed kPaceSeed{.seed = 7, .slot = 3, .life = 2};
constexpr std::int64_t kMs = 1'000'000;

std::vector<std::int64_t> Draws(Pace pace, int steps) {
  std::vector<std::int64_t> times;
  for (int i = 0; i < steps; ++i) times.push_back(pace.NextStepNs());
  return times;
}

EnvConfig At(double step_ms, double jitter = 0) {
  return {.name = "catch", .step_ms = step_ms, .step_jitter = jitter};
}

TEST(PaceTest, WithoutJitterEveryStepTakesTheSame) {
  EXPECT_THAT(Draws(Pace(At(2.5), 3, kPaceSeed), 10), Each(2'500'000));
  EXPECT_THAT(Draws(Pace(At(0), 3, kPaceSeed), 10), Each(0));
}

TEST(PaceTest, JitterIsDrawnOnceAnUnroll) {
  RandomStream stream({7, 3, 2, 0, Purpose::kPace});
  const auto drawn = [&] { return std::llround(2 * kMs * (0.8 + 0.4 * stream.UniformDouble())); };
  const std::int64_t first = drawn(), second = drawn(), third = drawn();
  const auto times = Draws(Pace(At(2, 0.2), 3, kPaceSeed), 9);
  const std::int64_t expected[] = {first,  first, first, second, second,
                                   second, third, third, third};
  for (std::size_t i = 0; i < times.size(); ++i) {
    EXPECT_LE(std::abs(times[i] - expected[i]), 1) << i;  // ns: rounding
  }
}

TEST(PaceTest, IsReproducibleAndEveryActorsOwn) {
  const auto once = Draws(Pace(At(2, 0.5), 5, kPaceSeed), 50);
  EXPECT_EQ(Draws(Pace(At(2, 0.5), 5, kPaceSeed), 50), once);
  EXPECT_NE(Draws(Pace(At(2, 0.5), 5, {.seed = 8, .slot = 3, .life = 2}), 50), once);
  EXPECT_NE(Draws(Pace(At(2, 0.5), 5, {.seed = 7, .slot = 4, .life = 2}), 50), once);
  EXPECT_NE(Draws(Pace(At(2, 0.5), 5, {.seed = 7, .slot = 3, .life = 3}), 50), once);
}

// Time passes by sleeping, and by games that take some.
struct FakeTime {
  std::int64_t now = 5'000 * kMs;
  std::int64_t late = 0;  // by which a sleeper is woken too late
  std::vector<std::int64_t> slept_until{};
};

class FakeSleeper final : public Sleeper {
 public:
  explicit FakeSleeper(FakeTime& time) : time_(time) {}
  std::int64_t NowNs() const override { return time_.now; }
  void SleepUntilNs(std::int64_t ns) override {
    time_.slept_until.push_back(ns);
    time_.now = std::max(time_.now, ns + time_.late);
  }

 private:
  FakeTime& time_;
};

std::shared_ptr<PacedSimulator> SimulatorIn(FakeTime& time) {
  return std::make_shared<PacedSimulator>(std::make_unique<FakeSleeper>(time));
}

std::unique_ptr<VecEnv> Slowed(const EnvConfig& config, FakeTime& time, std::int64_t unroll = 20,
                               WhileWaiting while_waiting = {}) {
  return std::make_unique<Paced>(MakeVecEnv(config, 1, kPaceSeed), Pace(config, unroll, kPaceSeed),
                                 SimulatorIn(time), std::move(while_waiting));
}

TEST(PacedTest, AStepEndsItsTimeAfterItBegan) {
  FakeTime time;
  EnvBench player(Slowed(At(2), time));
  EXPECT_THAT(time.slept_until, ElementsAre()) << "a reset takes no time";
  player.Step();
  EXPECT_EQ(time.now, 5'002 * kMs);
  time.now += 3 * kMs;  // its actor thinks
  player.Step();
  EXPECT_EQ(time.now, 5'007 * kMs) << "that is not made up for by a shorter step";
}

TEST(PacedTest, ASleeperThatWakesLateIsNotSentToSleepAgainNorSpared) {
  FakeTime time{.late = kMs / 2};
  EnvBench player(Slowed(At(2), time));
  player.Step();
  player.Step();
  EXPECT_THAT(time.slept_until, ElementsAre(5'002 * kMs, 5'004 * kMs + kMs / 2));
}

// Plays for some time by itself.
class Slow final : public VecEnv {
 public:
  Slow(FakeTime& time, std::int64_t takes) : time_(time), takes_(takes) {}
  const EnvSpec& spec() const override { return env_->spec(); }
  int size() const override { return 1; }
  void Reset(std::span<float> observations) override { env_->Reset(observations); }
  void StepAsync(std::span<const std::int32_t> actions) override { env_->StepAsync(actions); }
  void StepWait(std::span<float> observations, std::span<float> rewards,
                std::span<std::uint8_t> terminals) override {
    env_->StepWait(observations, rewards, terminals);
    time_.now += takes_;
  }
  void TakeEpisodes(std::vector<EpisodeEnd>& out) override { env_->TakeEpisodes(out); }

 private:
  FakeTime& time_;
  std::int64_t takes_;
  std::unique_ptr<VecEnv> env_ = MakeVecEnv({.name = "catch"}, 1, kPaceSeed);
};

TEST(PacedTest, WhatTheGameTakesItselfIsPartOfTheStep) {
  for (const int takes_ms : {1, 3}) {  // a game slower than its pace is not held up further
    FakeTime time;
    EnvBench player(std::make_unique<Paced>(std::make_unique<Slow>(time, takes_ms * kMs),
                                            Pace(At(2), 20, kPaceSeed), SimulatorIn(time)));
    player.Step();
    EXPECT_EQ(time.now, (5'000 + std::max(2, takes_ms)) * kMs);
  }
}

TEST(PacedTest, LongStepsLetTheirActorGiveSignsOfLife) {
  FakeTime time;
  int calls = 0;
  EnvBench player(Slowed(At(350), time, 20, [&](std::int64_t) { ++calls; }));
  player.Step();
  EXPECT_EQ(time.now, 5'350 * kMs);
  EXPECT_EQ(calls, 3);
}

// A step of 2 ms, of which the actor thinks 1 ms and the game takes 0.5 ms itself.
TEST(PacedTest, WaitingIsTheTimeItSleeps) {
  FakeTime time;
  EnvBench player(std::make_unique<Paced>(std::make_unique<Slow>(time, kMs / 2),
                                          Pace(At(2), 20, kPaceSeed), SimulatorIn(time)));
  player.env->StepAsync(player.actions);
  time.now += kMs;
  player.env->StepWait(player.seen, player.rewards, player.ends);
  EXPECT_EQ(time.now, 5'002 * kMs);
  EXPECT_EQ(player.env->waited_ns(), kMs / 2);
}

// Two halves of 1 ms each, and 0.9 ms of thought for the next step of each. It is free while the
// other half plays: five steps of both take five times 2 ms behind the first thought.
TEST(PacedTest, ASimulatorPlaysOneGroupWhileTheActorThinksAboutTheOther) {
  FakeTime time;
  const auto simulator = SimulatorIn(time);
  const auto half = [&] {
    return EnvBench(std::make_unique<Paced>(MakeVecEnv(At(0), 1, kPaceSeed),
                                            Pace(At(1), 20, kPaceSeed), simulator));
  };
  EnvBench groups[] = {half(), half()};
  for (int turn = 0; turn < 12; ++turn) {
    EnvBench& group = groups[turn % 2];
    if (turn >= 2) group.env->StepWait(group.seen, group.rewards, group.ends);
    if (turn >= 10) continue;
    time.now += 9 * kMs / 10;
    group.env->StepAsync(group.actions);
  }
  EXPECT_EQ(time.now, 5'000 * kMs + 9 * kMs / 10 + 5 * 2 * kMs);
}

// The pace changes the time, and nothing else.
TEST(PacedTest, WhatIsPlayedIsTheSameBitForBit) {
  for (const char* name : {"catch", "minatar/breakout"}) {
    EnvConfig config = At(2, 0.2);
    config.name = name;
    config.time_limit = 30;
    FakeTime time;
    EnvBench paced(Slowed(config, time, 5)), free(MakeVecEnv(config, 1, kPaceSeed));
    std::vector<EpisodeEnd> paced_ends, free_ends;
    for (int i = 0; i < 500; ++i) {
      paced.Step({i % 3});
      free.Step({i % 3});
      ASSERT_EQ(paced.seen, free.seen) << name << i;
      ASSERT_EQ(paced.rewards, free.rewards) << name << i;
      ASSERT_EQ(paced.ends, free.ends) << name << i;
      ASSERT_EQ(paced.env->truncated().size(), free.env->truncated().size()) << name << i;
    }
    paced.env->TakeEpisodes(paced_ends);
    free.env->TakeEpisodes(free_ends);
    EXPECT_EQ(paced_ends, free_ends);
    EXPECT_GT(paced_ends.size(), 2u);
  }
}

TEST(SteadySleeperTest, WakesNoEarlierThanAsked) {
  SteadySleeper sleeper;
  const std::int64_t until = sleeper.NowNs() + kMs / 10;
  sleeper.SleepUntilNs(until);
  EXPECT_GE(sleeper.NowNs(), until);
  sleeper.SleepUntilNs(until - kMs);  // has passed
}

}  // namespace
}  // namespace starling::envs
