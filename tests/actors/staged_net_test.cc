// A net in stages has the bits of the same blocks on one thread. It differs from a net in one part
// only in the order of sums.
#include "actors/staged_net.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "actors/rollout.h"
#include "core/error.h"
#include "tests/actors/fake_replica.h"
#include "tests/net/arrays.h"
#include "tests/net/gpu_fixture.h"
#include "tests/support/error_of.h"

namespace starling::actors {
namespace {

using net::testing::Here;
using net::testing::Normals;
using net::testing::RelativeError;
using net::testing::Send;

enum class Place { kProcessor, kLoopGpus };

constexpr net::Batch kBatch{.envs = 7, .steps = 6};
constexpr int kUnroll = 4, kActions = 3;
const std::vector<net::Block> kGroups = {{0, 0, 2}, {0, 2, 2}, {0, 4, 3}};

net::ModelSpec SpecOf(std::vector<std::string> layers) {
  net::ModelSpec spec{
      .kind = NetKind::kLayers, .hidden = {}, .actions = ActionSpace::Choice(kActions)};
  spec.channels = 9;
  spec.layers = std::move(layers);
  return spec;
}

const std::vector<std::string> kLstms = {"linear 16", "relu", "lstm 16", "lstm 8", "lstm 8"};

Replica MakeOne(Place place) {
  if (place == Place::kLoopGpus) return ReplicaOn(std::make_unique<FakeGpu>());
  Replica replica{.gpu = {}, .backend = net::MakeCpuBackend()};
  replica.next = [](int) { return Replica{.gpu = {}, .backend = net::MakeCpuBackend()}; };
  return replica;
}

// Two unrolls as an actor makes them, the second from the carried state. Returns their logits,
// values and gradients, and the state behind them.
struct Results {
  std::vector<float> numbers;
  std::vector<std::byte> state;
};

Results Drive(net::Model<float>& net, net::Backend<float>& backend) {
  RandomStream random({.seed = 5});
  const std::size_t size = net.layout().size();
  const int rows = kUnroll * kBatch.envs;
  Buffer<float> host(size, backend.memory().host_side());
  std::ranges::copy(Normals<float>(random, static_cast<int>(size), 0.3), host.data());
  const auto weights = net::testing::There<float>(backend, {host.data(), host.data() + size});
  Buffer<float> gradient(size, backend.memory());
  Results results;
  const auto keep = [&](std::span<const float> there) {
    const std::vector<float> here = Here(backend, there);
    results.numbers.insert(results.numbers.end(), here.begin(), here.end());
  };
  for (int unroll = 0; unroll < 2; ++unroll) {
    std::vector<std::uint8_t> resets(net.resets().size());
    for (std::uint8_t& reset : resets) reset = random.Below(5) == 0;
    Send(backend, Normals<float>(random, static_cast<int>(net.observations().size())),
         net.observations());
    Send(backend, resets, net.resets());
    net.TakeWeights(host.span());
    // 1. Forward, with as many blocks under way as an actor has; behind the unroll a spare one.
    std::vector<net::Block> open;
    const auto forward = [&](net::Block block, int step, int before) {
      if (open.size() == kGroups.size()) {
        net.Await(open.front());
        open.erase(open.begin());
      }
      block.step = step;
      net.Forward(weights.span(), block, before);
      open.push_back(block);
    };
    for (int step = 0; step <= kUnroll; ++step) {
      for (const net::Block& group : kGroups) forward(group, step, step - 1);
      forward(kGroups[1], kUnroll + 1, step);
    }
    for (const net::Block& block : open) net.Await(block);
    keep(net.logits());
    keep(net.values());
    // 2. Backward.
    const auto dlogits = net::testing::There(backend, Normals<float>(random, rows * kActions));
    const auto dvalues = net::testing::There(backend, Normals<float>(random, rows));
    net.Backward(weights.span(), kUnroll, dlogits.span(), dvalues.span(), gradient.span());
    keep(gradient.span());
    net.Carry(kUnroll - 1);
  }
  StateBytes fields(results.state);
  net.CarriedFields(fields);
  return results;
}

Results DriveStages(const net::ModelSpec& spec, int stages, Place place, Threads threads) {
  const Replica replica = MakeOne(place);
  StagedNet net(spec, stages, replica, kBatch, kGroups, threads);
  return Drive(net, *replica.backend);
}

class StagedNetTest : public ::testing::TestWithParam<Place> {};

TEST_P(StagedNetTest, ThreadsGiveTheBitsOfTheSameBlocksOnOneThread) {
  for (const auto& layers :
       {kLstms, {"linear 32", "relu", "linear 16", "layer_norm", "tanh", "linear 8"}}) {
    const Results expected = DriveStages(SpecOf(layers), 2, GetParam(), Threads::kCallers);
    for (const int stages : {2, 3, 4}) {
      SCOPED_TRACE(stages);
      for (const Threads threads : {Threads::kOneEach, Threads::kCallers}) {
        const Results found = DriveStages(SpecOf(layers), stages, GetParam(), threads);
        EXPECT_EQ(found.numbers, expected.numbers);
        EXPECT_EQ(found.state, expected.state);
      }
    }
  }
}

// Products of fewer rows may add up in another order.
TEST_P(StagedNetTest, ComputesWhatANetInOnePartComputes) {
  const net::ModelSpec spec = SpecOf(kLstms);
  const Replica replica = MakeOne(GetParam());
  const auto whole = net::MakeModel<float>(spec, *replica.backend, kBatch);
  StagedNet staged(spec, 3, replica, kBatch, kGroups);
  EXPECT_EQ(staged.layout().fingerprint(), whole->layout().fingerprint());
  EXPECT_EQ(staged.carried().size(), 6u);
  const Results expected = Drive(*whole, *replica.backend);
  const Results found = Drive(staged, *replica.backend);
  EXPECT_LE(RelativeError(found.numbers, expected.numbers), 1e-5);
  EXPECT_EQ(found.state.size(), expected.state.size());
}

INSTANTIATE_TEST_SUITE_P(All, StagedNetTest, ::testing::Values(Place::kProcessor, Place::kLoopGpus),
                         [](const auto& test) {
                           return test.param == Place::kProcessor ? "Processor" : "LoopGpus";
                         });

TEST(StagedNet, AStageThatCannotBeMadeIsASentence) {
  Replica replica = MakeOne(Place::kLoopGpus);
  replica.next = [](int stage) {
    return ReplicaOn(std::make_unique<FakeGpu>(stage == 2 ? 1000 : FakeGpu::kNoLimit));
  };
  EXPECT_THAT(ErrorOf([&] { StagedNet(SpecOf(kLstms), 4, replica, kBatch, kGroups); }),
              testing::HasSubstr("its memory is full"));
  EXPECT_THAT(ErrorOf([&] { StagedNet(SpecOf({"lstm 4"}), 2, replica, kBatch, kGroups); }),
              testing::HasSubstr("net.stages = 2: this net has 1 layer"));
}

// ---- in an actor

Config StagesOf(std::vector<std::string> settings, int stages, int groups) {
  settings.insert(settings.begin(), {"actors.envs_per_actor=5", "net.hidden=[]"});
  settings.push_back("net.stages=" + std::to_string(stages));
  settings.push_back("actors.groups=" + std::to_string(groups));
  return ParseConfig("", "test.toml", settings);
}

// Of six unrolls: gradients and losses, and the envs and returns of episodes that ended.
std::vector<double> PlayStages(const Config& config) {
  Rollout rollout(config, 2, 1);
  RandomStream random({.seed = 7});
  for (float& weight : rollout.weights()) weight = 0.1f * random.Normal();
  std::vector<double> played;
  std::vector<float> gradient(rollout.layout().size());
  for (int round = 0; round < 6; ++round) {
    const RolloutGradient done = rollout.Run(0.02, gradient);
    played.insert(played.end(), gradient.begin(), gradient.end());
    played.insert(played.end(), {done.norm, done.loss.policy_loss, done.loss.value_loss});
    for (const auto& end : rollout.TakeEpisodes().ended) {
      played.insert(played.end(), {static_cast<double>(end.env), end.episode_return});
    }
    for (std::size_t i = 0; i < gradient.size(); ++i) rollout.weights()[i] -= 0.01f * gradient[i];
  }
  return played;
}

TEST(StagedRollout, PlaysTheGamesOfOneStageAndMakesItsGradients) {
  const std::vector<std::string> games[] = {
      {"env.sticky_actions=0.3", "actors.unroll=9",
       "net.layers=[\"conv 4 3x3\", \"relu\", \"linear 24\", \"relu\", \"linear 9\"]"},
      {"env.name=memory/recall", "net.layers=[\"linear 12\", \"relu\", \"lstm 8\", \"lstm 8\"]",
       "actors.unroll=7"},
      {"env.name=dummy", "net.kind=mlp", "net.hidden=[24, 16, 8]", "env.time_limit=3",
       "env.noop_max=2"},
  };
  for (const auto& settings : games) {
    SCOPED_TRACE(settings[0]);
    const std::vector<double> whole = PlayStages(StagesOf(settings, 1, 3));
    const std::vector<double> two = PlayStages(StagesOf(settings, 2, 3));
    ASSERT_EQ(two.size(), whole.size());
    EXPECT_LE(RelativeError(two, whole), 1e-4);
    EXPECT_EQ(PlayStages(StagesOf(settings, 3, 3)), two);
  }
}

// An env that cannot be played any more, in its third step.
class Failing final : public envs::VecEnv {
 public:
  const envs::EnvSpec& spec() const override { return spec_; }
  int size() const override { return 64; }
  void Reset(std::span<float>) override {}
  void StepAsync(std::span<const std::int32_t>) override {}
  void StepWait(std::span<float>, std::span<float>, std::span<std::uint8_t>) override {
    if (++steps_ == 3) throw UserError("the env cannot be played");
  }
  void TakeEpisodes(std::vector<envs::EpisodeEnd>&) override {}

 private:
  const envs::EnvSpec spec_{
      .name = "failing", .actions = ActionSpace::Choice(2), .action_names = {"a", "b"}};
  int steps_ = 0;
};

// The stages that are still at work read the weights until they are done.
TEST(StagedRollout, AnErrorWithBlocksUnderWayIsASentence) {
  const Config config =
      ParseConfig("", "test.toml",
                  {"net.kind=mlp", "net.hidden=[256, 256, 256]", "net.stages=3", "actors.groups=3",
                   "actors.envs_per_actor=192", "actors.unroll=9"});
  for (int round = 0; round < 5; ++round) {
    EnvGroups groups;
    for (int group = 0; group < 3; ++group) groups.push_back(std::make_unique<Failing>());
    EXPECT_EQ(ErrorOf([&] {
                Rollout rollout(config, 0, 1, MakeReplica(config, 0), std::move(groups));
                std::vector<float> gradient(rollout.layout().size());
                rollout.Run(0.01, gradient);
              }),
              "the env cannot be played");
  }
}

// starling-actor --envs leaves fewer groups than stages.
TEST(StagedRollout, WithFewerGroupsThanStagesIsOnlySlower) {
  Config config = StagesOf({"env.name=catch", "net.kind=mlp", "net.hidden=[24, 16, 8]"}, 3, 3);
  const auto alone = [&](int stages) {
    Config one = config;
    one.net.stages = stages;
    one.actors.envs_per_actor = 1;
    return PlayStages(one);
  };
  EXPECT_EQ(alone(3), alone(2));
}

}  // namespace
}  // namespace starling::actors
