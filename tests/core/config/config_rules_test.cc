#include "core/config/config_rules.h"

#include <gtest/gtest.h>
#include <sched.h>

#include <string>
#include <thread>
#include <vector>

#include "core/gpu.h"

namespace starling {
namespace {

TEST(ConfigRules, UsableCoresFollowTheAffinityMask) {
  EXPECT_GE(UsableCores(), 1);
  std::int64_t pinned = 0;
  std::thread([&] {  // the mask is a thread's own: this one's ends with it
    cpu_set_t mask;
    ASSERT_EQ(sched_getaffinity(0, sizeof mask, &mask), 0);
    int first = 0;
    while (!CPU_ISSET(first, &mask)) ++first;
    CPU_ZERO(&mask);
    CPU_SET(first, &mask);
    ASSERT_EQ(sched_setaffinity(0, sizeof mask, &mask), 0);
    pinned = UsableCores();
  })
      .join();
  EXPECT_EQ(pinned, 1);
}

// Half a set of keys would be an open door, or a closed one.
TEST(ConfigRules, KeysAreWholeAndForTcp) {
  const auto contradictions = [](const char* endpoint, const char* secret, const char* allowed) {
    Config config;
    config.wire.endpoint = endpoint;
    config.wire.secret = secret;
    config.wire.allowed = allowed;
    ResolveAuto(config, "x.toml", 2);
    std::vector<std::vector<std::string>> keys;
    for (const Contradiction& found : FindContradictions(config)) keys.push_back(found.keys);
    return keys;
  };
  using Keys = std::vector<std::vector<std::string>>;
  EXPECT_EQ(contradictions("tcp://*:1", "s", "a"), Keys());
  EXPECT_EQ(contradictions("tcp://127.0.0.1:1", "", ""), Keys());
  EXPECT_EQ(contradictions("tcp://*:1", "s", ""), (Keys{{"wire.secret", "wire.allowed"}}));
  EXPECT_EQ(contradictions("tcp://*:1", "", "a"), (Keys{{"wire.secret", "wire.allowed"}}));
  EXPECT_EQ(contradictions("auto", "s", "a"), (Keys{{"wire.secret", "wire.endpoint"}}));
  EXPECT_EQ(contradictions("ipc://x", "s", "a"), (Keys{{"wire.secret", "wire.endpoint"}}));
}

TEST(ConfigRules, AnUnrollMayGiveManyGradients) {
  const Config once = ParseConfig("", "x.toml", {"actors.count=2"});
  EXPECT_FALSE(once.reuses_data());
  const Config often =
      ParseConfig("", "x.toml", {"actors.count=2", "updates.epochs=3", "updates.minibatches=4"});
  EXPECT_TRUE(often.reuses_data());
  EXPECT_EQ(often.gradients_per_unroll(), 12);
  EXPECT_EQ(often.samples_per_gradient(), 32 * 5 / 4);
  EXPECT_EQ(often.samples_per_unroll(), 32 * 5);
  EXPECT_EQ(often.optimizer.lr_samples, 32 * 5 / 4);
  EXPECT_TRUE(ParseConfig("", "x.toml", {"loss.kind=ppo"}).reuses_data());
}

TEST(ConfigRules, AutoIsResolvedOnceAndWhatIsSetStays) {
  Config config;
  ResolveAuto(config, "dir/pong.toml", 6);
  EXPECT_EQ(config.run.name, "pong");
  EXPECT_EQ(config.run.dir, "runs/pong");
  EXPECT_EQ(config.actors.count, 6);
  EXPECT_EQ(config.updates.start_with, 6);
  const Config once = config;
  ResolveAuto(config, "other.toml", 2);
  EXPECT_EQ(config, once);
}

TEST(ConfigRules, NameAndDirectoryFollowEachOther) {
  Config config;
  config.run.name = "mine";
  ResolveAuto(config, "x.toml", 1);
  EXPECT_EQ(config.run.dir, "runs/mine");
}

Config On(DeviceChoice backend) {
  Config config;
  config.actors.backend = backend;
  return config;
}

TEST(ConfigRules, AnActorForEachCoreOnTheProcessor) {
  Config config = On(DeviceChoice::kCpu);
  EXPECT_EQ(ActorsThatFit(config), UsableCores());
  config.net.stages = 2;
  EXPECT_EQ(ActorsThatFit(config), std::max<std::int64_t>(UsableCores() / 2, 1));
  config.net.stages = 64 * UsableCores();
  EXPECT_EQ(ActorsThatFit(config), 1);
  config = On(DeviceChoice::kCuda);
  config.actors.count = 7;
  EXPECT_EQ(ActorsThatFit(config), 7) << "what is set stays";
}

TEST(ConfigRules, AnActorForEachGpu) {
  const auto gpus = static_cast<std::int64_t>(FindGpus().gpus.size());
  EXPECT_EQ(ActorsThatFit(On(DeviceChoice::kCuda)), gpus > 0 ? gpus : UsableCores());
  EXPECT_EQ(ActorsThatFit(On(DeviceChoice::kAuto)), UsableCores()) << "32 envs fill no GPU";
}

TEST(ConfigRules, AutoIsAGpuThatTheEnvironmentsFill) {
  GpuSearch one, none;
  one.gpus = {{.name = "A GPU"}};
  none.why_none = "no driver";
  const auto choose = [](const GpuSearch& found, DeviceChoice backend, std::int64_t envs,
                         std::int64_t groups = 1, NetKind kind = NetKind::kMinatar) {
    Config config = On(backend);
    config.actors.envs_per_actor = envs;
    config.actors.groups = groups;
    config.net.kind = kind;
    return ChooseBackend(config, found);
  };
  EXPECT_TRUE(choose(one, DeviceChoice::kAuto, 256).gpu);
  EXPECT_FALSE(choose(one, DeviceChoice::kAuto, 255).gpu);
  EXPECT_FALSE(choose(one, DeviceChoice::kAuto, 256, 2).gpu) << "128 at once";
  EXPECT_TRUE(choose(one, DeviceChoice::kAuto, 16, 1, NetKind::kAtari).gpu);
  EXPECT_FALSE(choose(one, DeviceChoice::kAuto, 16, 1, NetKind::kLayers).gpu);
  EXPECT_TRUE(choose(one, DeviceChoice::kCuda, 1).gpu);
  EXPECT_FALSE(choose(one, DeviceChoice::kCpu, 4096).gpu);
  EXPECT_FALSE(choose(none, DeviceChoice::kAuto, 4096).gpu);
  EXPECT_FALSE(choose(none, DeviceChoice::kCuda, 4096).gpu);

  EXPECT_EQ(choose(one, DeviceChoice::kAuto, 1024).why,
            "1024 environments at once fill a GPU: computing on it");
  EXPECT_EQ(choose(one, DeviceChoice::kAuto, 32).why,
            "32 environments at once do not fill a GPU (256 do): computing on the processor; "
            "actors.backend = \"cuda\" takes the GPU all the same");
  EXPECT_EQ(choose(none, DeviceChoice::kAuto, 32).why, "no driver; computing on the processor");
}

TEST(ConfigRules, AutoIsAGpuThatTheRunNeeds) {
  GpuSearch one, none;
  one.gpus = {{.name = "A GPU"}};
  Config games = On(DeviceChoice::kAuto), tf32 = games;
  games.actors.env_device = DeviceChoice::kCuda;
  tf32.net.precision = Precision::kTf32;
  for (const Config& config : {games, tf32}) {
    const BackendChoice choice = ChooseBackend(config, one);
    EXPECT_TRUE(choice.gpu);
    EXPECT_EQ(choice.why, "this run needs a GPU: computing on it");
    EXPECT_FALSE(ChooseBackend(config, none).gpu);
    EXPECT_TRUE(ChooseBackend(config, none).wished);
  }
  EXPECT_FALSE(ChooseBackend(On(DeviceChoice::kAuto), none).wished);
}

TEST(ConfigRules, AContradictionNamesItsFirstKeyAndCanBeMended) {
  const struct {
    const char* key;
    void (*contradict)(Config&);
    void (*mend)(Config&);
  } cases[] = {
      {"wire.address", [](Config& config) { config.wire.address = "node1"; },
       [](Config& config) { config.wire.endpoint = "tcp://*:0"; }},
      // Games on a GPU and a net on the processor.
      {"actors.env_device", [](Config& config) { config.actors.env_device = DeviceChoice::kCuda; },
       [](Config& config) { config.actors.backend = DeviceChoice::kAuto; }},
      // A pace that varies, and none.
      {"env.step_jitter", [](Config& config) { config.env.step_jitter = 0.2; },
       [](Config& config) { config.env.step_ms = 2; }},
      // No grant outlasts 20 steps of 8 ms at least.
      {"env.step_ms",
       [](Config& config) {
         config.env.step_ms = 10;
         config.env.step_jitter = 0.2;
         config.actors.unroll = 20;
         config.staleness.deadline_s = 0.16;
       },
       [](Config& config) { config.staleness.deadline_s = 0.161; }},
      // The mean of one advantage is that advantage.
      {"loss.normalize_advantage",
       [](Config& config) {
         config.loss.normalize_advantage = true;
         config.updates.shuffle = Shuffle::kSamples;
         config.updates.minibatches = config.samples_per_unroll();
       },
       [](Config& config) { config.updates.minibatches /= 2; }},
  };
  for (const auto& [key, contradict, mend] : cases) {
    Config config;
    ResolveAuto(config, "x.toml", 2);
    contradict(config);
    const auto found = FindContradictions(config);
    ASSERT_EQ(found.size(), 1u) << key;
    EXPECT_EQ(found[0].keys.front(), key);
    mend(config);
    EXPECT_TRUE(FindContradictions(config).empty()) << key;
  }
}

TEST(ConfigRules, NoMoreActorsThanAConfigMayAskFor) {
  Config config;
  ResolveAuto(config, "x.toml", 5000);
  EXPECT_EQ(config.actors.count, 1024);
}

TEST(ConfigRules, DefaultsDoNotContradictEachOtherOnAnyMachine) {
  for (const std::int64_t cores : {1, 2, 3, 64, 1024}) {
    Config config;
    ResolveAuto(config, "x.toml", cores);
    EXPECT_TRUE(FindContradictions(config).empty()) << cores;
  }
}

}  // namespace
}  // namespace starling
