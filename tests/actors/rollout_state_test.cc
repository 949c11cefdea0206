// A rollout restored from bytes computes the gradients of the one that was never interrupted, bit
// for bit.
#include <gmock/gmock.h>

#include <cstring>

#include "actors/rollout.h"
#include "envs/games/memory_recall.h"
#include "envs/registry.h"
#include "net/cpu/gemm.h"
#include "tests/actors/fake_replica.h"
#include "tests/envs/on_loops.h"
#include "tests/support/error_of.h"
#include "tests/support/fake_gpu.h"

namespace starling::actors {
namespace {

constexpr int kRuns = 7;  // before the state is saved, and after

enum class Device { kProcessor, kGpu, kGpuWithGames };

struct Saving {
  std::string name;
  std::vector<std::string> settings;
  Device device = Device::kProcessor;
};

void PrintTo(const Saving& one, std::ostream* out) { *out << one.name; }

// An actor of one: every gradient changes its weights.
class Trainer {
 public:
  Trainer(const Saving& one, std::uint32_t slot, std::uint32_t life)
      : config_(ConfigOf(one)), rollout_(Make(one.device, slot, life)) {
    RandomStream random(StreamId{.seed = 7});
    for (float& weight : rollout_->weights()) weight = 0.1f * random.Normal();
    gradient_.resize(rollout_->layout().size());
  }

  // The gradients of `runs` unrolls, then the episodes that were taken, env by env. Those of the
  // last unroll are left for the state, unless `to_the_end`.
  std::vector<double> Run(int runs, bool to_the_end = false) {
    std::vector<double> all;
    std::vector<envs::EpisodeEnd> ended;
    const auto take = [&] {
      for (const envs::EpisodeEnd& end : rollout_->TakeEpisodes().ended) ended.push_back(end);
    };
    for (int run = 0; run < runs; ++run) {
      rollout_->Act();
      for (int use = 0; use < config_.gradients_per_unroll(); ++use) {
        rollout_->Gradient(static_cast<std::uint64_t>(use), 0.02, gradient_);
        for (std::size_t i = 0; i < gradient_.size(); ++i) {
          rollout_->weights()[i] -= 0.1f * gradient_[i];
        }
        all.insert(all.end(), gradient_.begin(), gradient_.end());
      }
      if (run + 1 < runs) take();
    }
    for (int lot = 0; to_the_end && lot < 2; ++lot) take();
    std::ranges::stable_sort(ended, {}, &envs::EpisodeEnd::env);
    for (const envs::EpisodeEnd& end : ended) {
      all.insert(all.end(), {double(end.env), end.episode_return, double(end.length)});
    }
    return all;
  }

  std::vector<std::byte> Saved() {
    std::vector<std::byte> state;
    rollout_->Save(state);
    return state;
  }

  void GoOnFrom(Trainer& other) {
    rollout_->Restore(other.Saved());
    std::ranges::copy(other.rollout_->weights(), rollout_->weights().begin());
  }

  Rollout& rollout() { return *rollout_; }

 private:
  static Config ConfigOf(const Saving& one) {
    std::vector<std::string> all = {"actors.envs_per_actor=3", "actors.unroll=5",
                                    "net.hidden=[24]"};
    all.insert(all.end(), one.settings.begin(), one.settings.end());
    return ParseConfig("", "test.toml", all);
  }

  std::unique_ptr<Rollout> Make(Device device, std::uint32_t slot, std::uint32_t life) const {
    if (device == Device::kProcessor) return std::make_unique<Rollout>(config_, slot, life);
    auto gpu = std::make_unique<FakeGpu>();
    const envs::EnvSeed seed{config_.run.seed, slot, life};
    EnvGroups groups = MakeGroups(
        config_, seed,
        [&](int envs, const envs::EnvSeed& of_group) -> std::unique_ptr<envs::VecEnv> {
          if (device == Device::kGpuWithGames) {
            return envs::MakeOnLoops<envs::MemoryRecall>(config_.env, envs, of_group, 50, *gpu);
          }
          return std::make_unique<DeviceEnv>(envs::MakeVecEnv(config_.env, envs, of_group),
                                             gpu->memory());
        });
    return std::make_unique<Rollout>(config_, slot, life, ReplicaOn(std::move(gpu)),
                                     std::move(groups));
  }

  const Config config_;
  const std::unique_ptr<Rollout> rollout_;
  std::vector<float> gradient_;
};

class RolloutState : public ::testing::TestWithParam<Saving> {
  void SetUp() override {
    if (GetParam().name == "Bf16" && !net::cpu::HasBf16Products()) {
      GTEST_SKIP() << "this processor has no bf16 products";
    }
  }
};

TEST_P(RolloutState, GoesOnToTheSameBits) {
  Trainer whole(GetParam(), 2, 1), first(GetParam(), 2, 1), second(GetParam(), 2, 9);
  whole.Run(kRuns);
  first.Run(kRuns);
  second.Run(2);  // of another life
  second.GoOnFrom(first);
  EXPECT_EQ(second.rollout().life(), 1u);
  EXPECT_EQ(second.Saved(), first.Saved());
  const std::vector<double> expected = whole.Run(kRuns, true);
  EXPECT_TRUE(second.Run(kRuns, true) == expected);
  EXPECT_TRUE(first.Run(kRuns, true) == expected) << "Save changed it";
  EXPECT_EQ(second.Saved(), whole.Saved());
}

TEST_P(RolloutState, OfTheBeginningIsAStateToo) {
  Trainer whole(GetParam(), 2, 1), first(GetParam(), 2, 1), second(GetParam(), 2, 9);
  second.GoOnFrom(first);
  EXPECT_TRUE(second.Run(kRuns) == whole.Run(kRuns));
}

TEST_P(RolloutState, ANewLifeIsAnother) {
  EXPECT_FALSE(Trainer(GetParam(), 2, 1).Run(2) == Trainer(GetParam(), 2, 2).Run(2));
}

const std::vector<std::string> kSamplesAgain = {"loss.kind=ppo", "updates.epochs=2",
                                                "updates.minibatches=5", "updates.shuffle=samples"};

std::vector<std::string> Again(std::vector<std::string> settings) {
  settings.insert(settings.end(), {"loss.kind=ppo", "updates.epochs=2", "updates.minibatches=3"});
  return settings;
}

const std::vector<std::string> kNormalized = {"env.name=dummy",
                                              "net.kind=mlp",
                                              "net.hidden=[9, 9]",
                                              "env.time_limit=6",
                                              "env.normalize_rewards=true",
                                              "env.normalize_observations=true"};

const std::vector<std::string> kRecall = {"env.name=memory/recall",
                                          "net.layers=[\"linear 12\", "
                                          "\"relu\", \"lstm 8\", \"gru 4\"]",
                                          "net.hidden=[]"};

std::vector<std::string> WithCritic(std::vector<std::string> settings) {
  settings.emplace_back("net.critic=separate");
  return settings;
}

// Groups of one env and of two.
std::vector<std::string> InGroups(std::vector<std::string> settings) {
  settings.emplace_back("actors.groups=2");
  return settings;
}
// The memory is in the second.
std::vector<std::string> InStages(std::vector<std::string> settings) {
  settings = InGroups(std::move(settings));
  settings.emplace_back("net.stages=2");
  return settings;
}

INSTANTIATE_TEST_SUITE_P(
    All, RolloutState,
    ::testing::Values(
        Saving{"Breakout", {"env.sticky_actions=0.3"}},
        Saving{"Wrapped",
               {"env.name=minatar/asterix", "env.stack=3", "env.noop_max=4", "env.repeat=2",
                "env.max_pool=true", "env.time_limit=6", "env.reward_clip=0.5",
                "env.sticky_actions=0.25"}},
        Saving{"Pixels",
               {"env.name=minatar/freeway", "env.pixels=true", "env.stack=4", "net.kind=atari",
                "net.hidden=[16]"}},
        Saving{"Memory", kRecall}, Saving{"Critic", WithCritic(kRecall)},
        Saving{"Again", Again({"env.sticky_actions=0.3"})}, Saving{"SamplesAgain", kSamplesAgain},
        Saving{"MemoryAgain", Again(kRecall)}, Saving{"GpuAgain", Again(kRecall), Device::kGpu},
        Saving{"Paced",
               {"env.name=catch", "env.step_ms=1000", "env.step_jitter=0.5",
                "staleness.deadline_s=3600"}},
        Saving{"Bf16", {"net.precision=bf16", "net.hidden=[160]"}},
        Saving{"Plugin",
               {std::string("env.name=plugin:") + STARLING_GLIDER, "env.sticky_actions=0.3"}},
        // Some envs are truncated in a step, others are not: only their rows of final states count.
        Saving{"Truncated",
               {std::string("env.name=plugin:") + STARLING_DOORS, "net.kind=mlp", "net.hidden=[64]",
                "actors.envs_per_actor=8", "actors.unroll=3"}},
        Saving{"Isolated",
               {std::string("env.name=plugin:") + STARLING_GLIDER, "env.isolate=true",
                "env.per_process=2"}},
        Saving{"Normalized", kNormalized}, Saving{"NormalizedAgain", Again(kNormalized)},
        Saving{"NormalizedStages", InStages(kNormalized)},
        Saving{"GpuNormalized", kNormalized, Device::kGpu},
        Saving{"NormalizedPictures",
               {"env.name=catch", "env.stack=2", "env.time_limit=4",
                "env.normalize_observations=true"}},
        Saving{"Groups", InGroups({"env.name=catch", "env.time_limit=4", "env.step_ms=9"})},
        Saving{"IsolatedGroups",
               InGroups({std::string("env.name=plugin:") + STARLING_GLIDER, "env.isolate=true"})},
        Saving{"Stages", InStages(kRecall)},
        Saving{"StagesTimeLimit", InStages({"env.name=catch", "env.time_limit=4"})},
        Saving{"GpuStages", InStages(kRecall), Device::kGpu},
        Saving{"GpuStagesWithGames", InStages(kRecall), Device::kGpuWithGames},
        Saving{"GpuGroups", InGroups(kRecall), Device::kGpu},
        Saving{"GpuGroupsWithGames", InGroups(kRecall), Device::kGpuWithGames},
        Saving{"GpuMemory", kRecall, Device::kGpu},
        Saving{
            "GpuTimeLimit", {"env.name=dummy", "net.kind=mlp", "env.time_limit=3"}, Device::kGpu},
        Saving{"GpuWithGames", kRecall, Device::kGpuWithGames}),
    [](const auto& test) { return test.param.name; });

// The streams of actions are a rollout's own: these envs have the same life.
TEST(RolloutLife, ANewOneChangesTheActions) {
  const auto gradient_of = [](std::uint32_t life) {
    const Config config = ParseConfig("", "test.toml", {"env.name=catch"});
    Replica replica = MakeReplica(config, 0);
    EnvGroups groups = MakeEnvs(config, replica, {}, {});
    Rollout rollout(config, 0, life, std::move(replica), std::move(groups));
    std::vector<float> gradient(rollout.layout().size());
    std::ranges::fill(rollout.weights(), 0.01f);
    rollout.Run(0.01, gradient);
    return gradient;
  };
  EXPECT_EQ(gradient_of(3), gradient_of(3));
  EXPECT_NE(gradient_of(3), gradient_of(4));
}

TEST(RolloutStateOfAnother, IsRefusedWithTheDifference) {
  Trainer catching({"", {"env.name=catch"}}, 0, 0),
      more({"", {"env.name=catch", "actors.unroll=6"}}, 0, 0),
      grouped({"", InGroups({"env.name=catch"})}, 0, 0);
  Trainer memory({"", kRecall}, 0, 0), dummy({"", {"env.name=dummy", "net.kind=mlp"}}, 0, 0);
  EXPECT_THAT(ErrorOf<StateError>([&] { more.rollout().Restore(catching.Saved()); }),
              testing::HasSubstr("has actors.unroll = 5, here it is 6"));
  EXPECT_THAT(ErrorOf<StateError>([&] { grouped.rollout().Restore(catching.Saved()); }),
              testing::HasSubstr("has actors.groups = 1, here it is 2"));
  EXPECT_THAT(ErrorOf<StateError>([&] { memory.rollout().Restore(catching.Saved()); }),
              testing::HasSubstr("has observed values = 50, here it is 6"));
  auto state = dummy.Saved();
  state.pop_back();
  EXPECT_THAT(ErrorOf<StateError>([&] { dummy.rollout().Restore(state); }),
              testing::HasSubstr("is damaged"));
}

}  // namespace
}  // namespace starling::actors
