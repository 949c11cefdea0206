// Unrolls on a GPU made of loops: the same samples and the same gradient as on the processor, with
// the games on the host or on the GPU, recorded or not. The same on a real GPU where there is one.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <functional>

#include "actors/replica.h"
#include "actors/rollout.h"
#include "envs/games/catch.h"
#include "envs/games/dummy.h"
#include "envs/games/memory_recall.h"
#include "envs/games/minatar_breakout.h"
#include "envs/registry.h"
#include "tests/actors/fake_replica.h"
#include "tests/envs/env_bench.h"
#include "tests/envs/on_loops.h"
#include "tests/net/arrays.h"
#include "tests/support/error_of.h"
#include "tests/support/fake_gpu.h"

namespace starling::actors {
namespace {

constexpr std::uint32_t kSlot = 3, kIncarnation = 2;

enum class Games { kStaged, kOnTheGpu };

struct Case {
  std::string name;
  Games games;
  std::vector<std::string> settings;
};

void PrintTo(const Case& one, std::ostream* out) { *out << one.name; }

class GpuRolloutTest : public ::testing::TestWithParam<Case> {
 protected:
  static Config ConfigOf(const std::vector<std::string>& settings) {
    std::vector<std::string> all = {"actors.envs_per_actor=4", "actors.unroll=3",
                                    "net.hidden=[24]"};
    all.insert(all.end(), settings.begin(), settings.end());
    return ParseConfig("", "test.toml", all);
  }

  static std::unique_ptr<envs::VecEnv> GamesOn(FakeGpu& gpu, const Config& config, int envs,
                                               const envs::EnvSeed& seed) {
    const auto make = config.env.name == "catch"   ? envs::MakeOnLoops<envs::Catch>
                      : config.env.name == "dummy" ? envs::MakeOnLoops<envs::Dummy>
                      : config.env.name == "memory/recall"
                          ? envs::MakeOnLoops<envs::MemoryRecall>
                          : envs::MakeOnLoops<envs::MinatarBreakout>;
    return make(config.env, envs, seed, static_cast<int>(config.actors.unroll), gpu);
  }

  // A rollout on the GPU. Sets `gpu`, if given, to that GPU.
  static std::unique_ptr<Rollout> OnGpu(const Config& config, Games games, FakeGpu** gpu = nullptr,
                                        std::size_t limit = FakeGpu::kNoLimit,
                                        std::function<void()> between_steps = {}) {
    auto fake = std::make_unique<FakeGpu>(limit);
    if (gpu != nullptr) *gpu = fake.get();
    const envs::EnvSeed seed{config.run.seed, kSlot, kIncarnation};
    EnvGroups groups =
        MakeGroups(config, seed,
                   [&](int envs, const envs::EnvSeed& of_group) -> std::unique_ptr<envs::VecEnv> {
                     if (games == Games::kOnTheGpu) return GamesOn(*fake, config, envs, of_group);
                     return std::make_unique<DeviceEnv>(
                         envs::MakeVecEnv(config.env, envs, of_group), fake->memory());
                   });
    return std::make_unique<Rollout>(config, kSlot, kIncarnation, ReplicaOn(std::move(fake)),
                                     std::move(groups), std::move(between_steps));
  }
};

// Weights of some run, other ones in every round.
void DrawWeights(int round, std::span<float> weights) {
  RandomStream random({.seed = 7, .slot = static_cast<std::uint32_t>(round)});
  for (float& weight : weights) weight = 0.1f * random.Normal();
}

// Six unrolls, side by side, each with all of its gradients.
void ExpectSame(const Config& config, Rollout& host, Rollout& gpu) {
  ASSERT_EQ(gpu.layout().fingerprint(), host.layout().fingerprint());
  std::vector<float> expected(host.layout().size()), found(expected.size(), 9.0f);
  for (int round = 0; round < 6; ++round) {
    SCOPED_TRACE(round);
    DrawWeights(round, host.weights());
    DrawWeights(round, gpu.weights());
    host.Act();
    gpu.Act();
    for (int use = 0; use < config.gradients_per_unroll(); ++use) {
      if (host.recomputes()) DrawWeights(100 * use + round, host.weights());
      if (gpu.recomputes()) DrawWeights(100 * use + round, gpu.weights());
      const auto number = static_cast<std::uint64_t>(use);
      const RolloutGradient a = host.Gradient(number, 0.02, expected),
                            b = gpu.Gradient(number, 0.02, found);
      EXPECT_LE(net::testing::RelativeError(found, expected), 1e-4);
      EXPECT_NEAR(b.norm, a.norm, 1e-4 * (1 + a.norm));
      EXPECT_NEAR(b.loss.policy_loss, a.loss.policy_loss,
                  1e-4 * (1 + std::abs(a.loss.policy_loss)));
      EXPECT_NEAR(b.loss.value_loss, a.loss.value_loss, 1e-4 * (1 + a.loss.value_loss));
      EXPECT_NEAR(b.loss.entropy, a.loss.entropy, 1e-4);
      EXPECT_NEAR(b.loss.kl, a.loss.kl, 1e-4 * (1 + a.loss.kl));
      EXPECT_EQ(b.samples, a.samples);
    }
    EXPECT_EQ(gpu.TakeEpisodes(), host.TakeEpisodes());
  }
}

TEST_P(GpuRolloutTest, ItsGradientsAreThoseOfTheProcessor) {
  const Config config = ConfigOf(GetParam().settings);
  Rollout host(config, kSlot, kIncarnation);
  FakeGpu* fake = nullptr;
  const auto gpu = OnGpu(config, GetParam().games, &fake);
  ExpectSame(config, host, *gpu);
  EXPECT_GT(fake->replays(), 0) << "nothing was recorded";
}

TEST_P(GpuRolloutTest, OnARealGpuToo) {
  if (FindGpus().gpus.empty()) GTEST_SKIP() << FindGpus().why_none;
  Config config = ConfigOf(GetParam().settings);
  Rollout host(config, kSlot, kIncarnation);
  config.actors.backend = DeviceChoice::kCuda;
  config.actors.env_device =
      GetParam().games == Games::kOnTheGpu ? DeviceChoice::kCuda : DeviceChoice::kCpu;
  Rollout gpu(config, kSlot, kIncarnation);
  ASSERT_TRUE(gpu.on_gpu());
  ExpectSame(config, host, gpu);
}

const std::vector<std::string> kMemory = {
    "env.name=memory/recall", "env.sticky_actions=0",
    "net.layers=[\"linear 12\", \"layer_norm\", \"tanh\", \"lstm 8\"]", "net.hidden=[]",
    "actors.unroll=7"};

const std::vector<std::string> kAgain = {"loss.kind=ppo", "loss.value_clip=0.2",
                                         "loss.proximal=grant", "updates.epochs=2",
                                         "updates.minibatches=2"};

const std::vector<std::string> kNormalized = {"env.name=dummy", "net.kind=mlp",
                                              "env.normalize_observations=true",
                                              "env.normalize_rewards=true"};

std::vector<std::string> Plus(std::vector<std::string> settings,
                              const std::vector<std::string>& more) {
  settings.insert(settings.end(), more.begin(), more.end());
  return settings;
}

std::vector<std::string> InStages(std::vector<std::string> settings, int stages) {
  settings.push_back("actors.groups=" + std::to_string(stages));
  settings.push_back("net.stages=" + std::to_string(stages));
  return settings;
}

INSTANTIATE_TEST_SUITE_P(
    All, GpuRolloutTest,
    ::testing::Values(
        Case{"Breakout", Games::kOnTheGpu, {"actors.unroll=9"}},
        Case{"BreakoutStaged", Games::kStaged, {}}, Case{"Memory", Games::kOnTheGpu, kMemory},
        Case{"MemoryStaged", Games::kStaged, kMemory},
        Case{"TimeLimit", Games::kStaged, {"env.name=dummy", "net.kind=mlp", "env.time_limit=3"}},
        Case{"Groups",
             Games::kStaged,
             {"env.name=dummy", "net.kind=mlp", "env.time_limit=3", "actors.groups=3"}},
        Case{"Stages", Games::kStaged, InStages(kMemory, 2)},
        Case{"StagesWithGames", Games::kOnTheGpu, InStages(kMemory, 3)},
        Case{"StagesTimeLimit", Games::kStaged,
             InStages({"env.name=dummy", "net.kind=mlp", "net.hidden=[8, 8]", "env.time_limit=3"},
                      2)},
        Case{"GroupsWithGames", Games::kOnTheGpu, {"actors.unroll=9", "actors.groups=2"}},
        Case{"SumsAndSmallClip",
             Games::kOnTheGpu,
             {"env.name=catch", "loss.reduction=sum", "optimizer.clip_norm=0.05"}},
        Case{"Again", Games::kOnTheGpu,
             Plus(kAgain, {"actors.unroll=9", "loss.normalize_advantage=true"})},
        Case{"SamplesAgain", Games::kOnTheGpu,
             Plus(kAgain, {"updates.shuffle=samples", "updates.minibatches=6"})},
        Case{"MemoryAgain", Games::kStaged, Plus(kAgain, kMemory)},
        Case{"Normalized", Games::kOnTheGpu, kNormalized},
        Case{"NormalizedInGroups", Games::kStaged,
             Plus({"env.time_limit=3", "actors.groups=3"}, kNormalized)},
        Case{"NormalizedAgain", Games::kOnTheGpu, Plus(kAgain, kNormalized)},
        Case{"NormalizedPictures",
             Games::kOnTheGpu,
             {"env.normalize_observations=true", "actors.unroll=9"}},
        Case{"NormalizedPicturesInStages", Games::kStaged,
             InStages({"env.normalize_observations=true"}, 2)},
        Case{"ResidualGruAndCritic",
             Games::kOnTheGpu,
             {"actors.unroll=3", "net.critic=separate", "net.hidden=[]",
              "net.layers=[\"conv 16 3x3 same\", \"max_pool 3x3/2 same\", \"residual 3x3\", "
              "\"relu\", \"linear 24\", \"relu\", \"gru 8\"]"}},
        Case{"AtariNet",
             Games::kStaged,
             {"env.name=arcade/pong", "env.stack=4", "net.kind=atari", "actors.envs_per_actor=1",
              "actors.unroll=2"}}),
    [](const auto& test) { return test.param.name; });

TEST_F(GpuRolloutTest, AnUnrollOnTheGpuIsTwoGraphs) {
  FakeGpu* gpu = nullptr;
  const auto rollout = OnGpu(ConfigOf({}), Games::kOnTheGpu, &gpu);
  std::vector<float> gradient(rollout->layout().size());
  for (int round = 0; round < 5; ++round) rollout->Run(0.01, gradient);
  EXPECT_EQ(gpu->recordings(), 2) << "the unroll and its gradient";
  EXPECT_EQ(gpu->replays(), 2 * 4) << "all but the first round";
}

TEST_F(GpuRolloutTest, AnUnrollOnTheGpuIsWaitedForOnce) {
  FakeGpu* gpu = nullptr;
  const auto rollout = OnGpu(ConfigOf({}), Games::kOnTheGpu, &gpu);
  std::vector<float> gradient(rollout->layout().size());
  for (int round = 0; round < 2; ++round) rollout->Run(0.01, gradient);
  const int before = gpu->waits();
  const RolloutGradient last = rollout->Run(0.01, gradient);
  rollout->TakeEpisodes();
  EXPECT_EQ(gpu->waits(), before + 1);
  EXPECT_EQ(last.act_us, 6 * FakeGpu::kNsOfWork / 1000)
      << "the weights, the recorded unroll, and four pieces for its episodes";
}

// Recorded or not: the same numbers.
TEST_F(GpuRolloutTest, AnUnrollThatIsTooLongToRecordIsAsGood) {
  const std::vector<std::string> settings = {"env.name=dummy", "net.kind=mlp", "net.hidden=[4]",
                                             "actors.envs_per_actor=2", "actors.unroll=513"};
  const Config config = ConfigOf(settings);
  FakeGpu* fake = nullptr;
  const auto gpu = OnGpu(config, Games::kOnTheGpu, &fake);
  Rollout host(config, kSlot, kIncarnation);
  ExpectSame(config, host, *gpu);
  EXPECT_EQ(fake->recordings(), 0);
}

TEST_F(GpuRolloutTest, WhatDoesNotFitIsSaidInASentence) {
  EXPECT_THAT(ErrorOf([&] { OnGpu(ConfigOf({}), Games::kStaged, nullptr, 50'000); }),
              ::testing::HasSubstr("its memory is full: make actors.envs_per_actor"));
}

TEST_F(GpuRolloutTest, BetweenStepsItBeats) {
  int beats = 0;
  const auto rollout = OnGpu(ConfigOf({"env.name=catch"}), Games::kStaged, nullptr,
                             FakeGpu::kNoLimit, [&] { ++beats; });
  rollout->Act();
  EXPECT_EQ(beats, 3);
}

}  // namespace
}  // namespace starling::actors
