#include "bench/actor_speed.h"

#include <gmock/gmock.h>

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

}  // namespace
}  // namespace starling::bench
