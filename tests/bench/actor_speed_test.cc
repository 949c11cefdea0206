#include "bench/actor_speed.h"

#include <gmock/gmock.h>

#include <set>

namespace starling::bench {
namespace {

TEST(ActorSpeedTest, ItsConfigurationIsTheBenchs) {
  const Config file = LoadConfig(std::filesystem::path(STARLING_SOURCE_DIR) / "bench/minatar.toml"),
               ours = MinatarConfig();
  EXPECT_EQ(ours.env, file.env);
  EXPECT_EQ(ours.net, file.net);
  EXPECT_EQ(ours.loss, file.loss);
  EXPECT_EQ(ours.optimizer, file.optimizer);
  EXPECT_EQ(ours.actors.envs_per_actor, file.actors.envs_per_actor);
  EXPECT_EQ(ours.actors.unroll, file.actors.unroll);
}

TEST(ActorSpeedTest, OneOnTheProcessorTellsWhereItsTimeGoes) {
  ActorCase one = CaseOnProcessor();
  one.config.actors.envs_per_actor = 4;
  const ActorSpeed speed = MeasureActor(one.config, 0.05);
  EXPECT_GT(speed.least, 0);
  EXPECT_LE(speed.least, speed.steps_per_second);
  EXPECT_LE(speed.steps_per_second, speed.most);
  EXPECT_GT(speed.act, 0);
  EXPECT_GT(speed.gradient, 0);
  EXPECT_LE(speed.act + speed.gradient, 1);
  EXPECT_GE(speed.steps, 5u * 4 * 5);  // an unroll in every part
  EXPECT_EQ(speed.where, "");
}

TEST(ActorSpeedTest, EveryCaseIsSomethingElse) {
  std::set<std::string> keys;
  for (const bool staged : {false, true}) {
    for (const ActorCase& one : staged ? CasesStaged(false) : CasesOnGpu(false)) {
      EXPECT_TRUE(keys.insert(one.key).second) << one.key;
      EXPECT_EQ(one.config.actors.backend, "cuda");
      EXPECT_EQ(one.config.actors.env_device, staged ? "cpu" : "cuda");
    }
  }
  EXPECT_EQ(keys.size(), 12u);
  EXPECT_TRUE(keys.contains("gpu_16384x32"));
}

}  // namespace
}  // namespace starling::bench
