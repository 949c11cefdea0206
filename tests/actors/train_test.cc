// The loop of an actor on a GPU, over loops and with a client that follows a script.
#include "actors/train.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "core/random.h"
#include "envs/games/games.h"
#include "tests/actors/fake_replica.h"
#include "tests/envs/on_loops.h"

namespace starling::actors {
namespace {

using testing::ElementsAre;

// What it pushed.
struct Pushed {
  std::uint64_t grant = 0, base = 0;
  std::vector<float> gradient;
  RolloutEpisodes episodes;
  bool next_was_queued = false;
};

// The weights of a version.
void WeightsOf(std::uint64_t version, std::span<float> weights) {
  RandomStream random({.seed = 7, .slot = static_cast<std::uint32_t>(version)});
  for (float& weight : weights) weight = 0.1f * random.Normal();
}

// Has `grants` grants, the next one ahead as often as `ahead` says. The weights get a new version
// at every look.
class ScriptedClient {
 public:
  ScriptedClient(std::vector<bool> ahead, int grants, FakeGpu& gpu)
      : ahead_(std::move(ahead)), grants_(grants), gpu_(gpu) {}

  std::optional<wire::Grant> NextGrant() { return Take(); }
  std::optional<wire::Grant> GrantAhead(const wire::SnapshotMeta& held) {
    EXPECT_EQ(held.version, version_);
    const bool here = asked_ < ahead_.size() && ahead_[asked_];
    ++asked_;
    return here ? Take() : std::nullopt;
  }
  bool Refresh(std::uint64_t version, std::span<float> weights, wire::SnapshotMeta& meta) {
    meta.version = ++version_;
    EXPECT_GE(meta.version, version);
    meta.entropy = 0.02;
    WeightsOf(meta.version, weights);
    return true;
  }
  void Prefetch(const wire::SnapshotMeta&) {}
  std::span<float> NextGradientSpace() { return space_; }
  bool Push(const wire::Grant& grant, const wire::SnapshotMeta& meta, std::uint64_t played,
            const RolloutGradient& gradient, const RolloutEpisodes& episodes) {
    EXPECT_EQ(played, meta.version);
    EXPECT_GT(gradient.act_us, 0u);
    EXPECT_GT(gradient.gradient_us, 0u);
    pushed.push_back({.grant = grant.number,
                      .base = meta.version,
                      .gradient = space_,
                      .episodes = episodes,
                      .next_was_queued = gpu_.pending() > 0});
    return pushed.size() < most;
  }
  void Need(std::size_t floats) { space_.assign(floats, 0.0f); }

  std::vector<Pushed> pushed;
  std::size_t most = 1000;  // then it goes down

 private:
  std::optional<wire::Grant> Take() {
    if (taken_ == grants_) return std::nullopt;
    return wire::Grant{.number = static_cast<std::uint64_t>(++taken_)};
  }

  const std::vector<bool> ahead_;
  const int grants_;
  FakeGpu& gpu_;
  std::size_t asked_ = 0;
  int taken_ = 0;
  std::uint64_t version_ = 0;
  std::vector<float> space_;
};

// Settings of a run, and when its GPU works.
struct Case {
  std::string name;
  std::vector<std::string> settings{};
  FakeGpu::Pace pace = FakeGpu::Pace::kWhenWaitedFor;
};

class TrainTest : public testing::TestWithParam<Case> {
 protected:
  static Config ConfigOf(const Case& one) {
    std::vector<std::string> all = {"env.name=catch", "actors.envs_per_actor=60",
                                    "actors.unroll=20", "net.hidden=[]",
                                    "net.layers=[\"linear 8\", \"relu\"]"};
    all.insert(all.end(), one.settings.begin(), one.settings.end());
    return ParseConfig("", "test.toml", all);
  }

  static std::unique_ptr<Rollout> OnGpu(const Case& one, FakeGpu** gpu = nullptr) {
    const Config config = ConfigOf(one);
    auto fake = std::make_unique<FakeGpu>(FakeGpu::kNoLimit, one.pace);
    if (gpu != nullptr) *gpu = fake.get();
    EnvGroups groups = MakeGroups(config, {.seed = 1}, [&](int envs, const envs::EnvSeed& seed) {
      return envs::MakeOnLoops<envs::Catch>(config.env, envs, seed, 20, *fake);
    });
    return std::make_unique<Rollout>(config, 0, 0, ReplicaOn(std::move(fake)), std::move(groups));
  }

  static std::vector<Pushed> TrainWith(const Case& one, std::vector<bool> ahead, int grants) {
    FakeGpu* gpu = nullptr;
    const auto rollout = OnGpu(one, &gpu);
    EXPECT_TRUE(rollout->runs_ahead());
    ScriptedClient client(std::move(ahead), grants, *gpu);
    client.Need(rollout->layout().size());
    TrainAhead(client, *rollout);
    EXPECT_EQ(gpu->pending(), 0u);
    return client.pushed;
  }
};

TEST_F(TrainTest, AGradientIsSentWhileTheNextIsComputed) {
  const std::vector<Pushed> pushed = TrainWith({}, {true, true, false, true, true}, 6);
  std::vector<std::uint64_t> grants;
  std::vector<bool> queued;
  for (const Pushed& one : pushed) {
    grants.push_back(one.grant);
    queued.push_back(one.next_was_queued);
  }
  EXPECT_THAT(grants, ElementsAre(1, 2, 3, 4, 5, 6)) << "each is sent once, in their order";
  EXPECT_THAT(queued, ElementsAre(true, true, false, true, true, false));
}

TEST_F(TrainTest, ItEndsWithItsClientWhateverIsUnderWay) {
  for (const std::size_t most : {1, 2}) {
    FakeGpu* gpu = nullptr;
    const auto rollout = OnGpu({}, &gpu);
    ScriptedClient client({true, true, true}, 4, *gpu);
    client.Need(rollout->layout().size());
    client.most = most;
    TrainAhead(client, *rollout);
    EXPECT_EQ(client.pushed.size(), most);
    EXPECT_GT(gpu->pending(), 0u);
  }
}

// Every gradient is that of its own unroll and weights, with its own episodes.
TEST_P(TrainTest, AheadOrInTurnTheGradientsAreTheSame) {
  const std::vector<Pushed> pushed =
      TrainWith(GetParam(), {true, true, true, false, true, true, true}, 8);
  ASSERT_EQ(pushed.size(), 8u);
  const auto in_turn = OnGpu({.name = "", .settings = GetParam().settings});
  std::vector<float> gradient(in_turn->layout().size());
  std::uint64_t untold = 0;
  for (const Pushed& one : pushed) {
    SCOPED_TRACE(one.grant);
    WeightsOf(one.base, in_turn->weights());
    in_turn->Run(0.02, gradient);
    EXPECT_EQ(one.gradient, gradient);
    EXPECT_EQ(one.episodes, in_turn->TakeEpisodes());
    untold += one.episodes.untold;
    // Those of all groups: of the first and the last envs.
    const auto& ended = one.episodes.ended;
    EXPECT_TRUE(std::ranges::any_of(ended, [](const auto& end) { return end.env < 10; }));
    EXPECT_TRUE(std::ranges::any_of(ended, [](const auto& end) { return end.env >= 50; }));
  }
  EXPECT_GT(untold, 0u) << "some had more episodes than are told";
}

const std::vector<std::string> kManyWays = {
    "actors.groups=2", "net.layers=[\"linear 8\", \"tanh\", \"lstm 4\"]",
    "env.normalize_rewards=true", "wire.weights=bf16", "wire.gradient=bf16"};

INSTANTIATE_TEST_SUITE_P(All, TrainTest,
                         testing::Values(Case{"Late"}, Case{"AtOnce", {}, FakeGpu::Pace::kAtOnce},
                                         Case{"LateInManyWays", kManyWays},
                                         Case{"AtOnceInManyWays", kManyWays,
                                              FakeGpu::Pace::kAtOnce}),
                         [](const auto& test) { return test.param.name; });

}  // namespace
}  // namespace starling::actors
