// The device that an actor computes on.
#include "actors/replica.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "actors/actor.h"
#include "core/instructions.h"
#include "envs/paced.h"
#include "tests/support/error_of.h"

namespace starling::actors {
namespace {

Config ConfigOf(const std::vector<std::string>& settings) {
  return ParseConfig("", "test.toml", settings);
}

TEST(ReplicaTest, SlotsTakeGpusInTurn) {
  EXPECT_EQ(GpuOf(0, 3), 0);
  EXPECT_EQ(GpuOf(2, 3), 2);
  EXPECT_EQ(GpuOf(3, 3), 0);
  EXPECT_EQ(GpuOf(7, 1), 0);
  // Two stages each: slot 0 has GPUs 0 and 1, slot 1 has 2 and 3, slot 2 has 0 and 1 again.
  EXPECT_EQ(GpuOf(1, 4, 0, 2), 2);
  EXPECT_EQ(GpuOf(1, 4, 1, 2), 3);
  EXPECT_EQ(GpuOf(2, 4, 1, 2), 1);
}

TEST(ReplicaTest, AProcessorIsAskedForNoGpu) {
  EXPECT_FALSE(UsesGpu(ConfigOf({})));
  const Replica replica = MakeReplica(ConfigOf({}), 0);
  EXPECT_EQ(replica.gpu, nullptr);
  EXPECT_TRUE(replica.backend->memory().on_host());
}

TEST(ReplicaTest, WithoutAGpuAutoIsTheProcessorAndCudaIsRefused) {
  if (!FindGpus().gpus.empty()) GTEST_SKIP() << "there is a GPU";
  EXPECT_FALSE(UsesGpu(ConfigOf({"actors.backend=auto", "actors.count=1"})));
  const std::string refusal = ErrorOf([] {
    UsesGpu(ConfigOf({"actors.backend=cuda", "actors.count=1"}));
  });
  EXPECT_THAT(refusal, testing::StartsWith("actors.backend = \"cuda\": "));
  EXPECT_THAT(refusal, testing::HasSubstr(FindGpus().why_none));
  // The processor computes in f32 where the run says tf32.
  EXPECT_NO_THROW(
      MakeReplica(ConfigOf({"actors.backend=auto", "actors.count=1", "net.precision=tf32"}), 0));
}

TEST(ReplicaTest, OnAGpuAutoIsTheGpuThatIsFilled) {
  if (FindGpus().gpus.empty()) GTEST_SKIP() << FindGpus().why_none;
  const Replica replica = MakeReplica(
      ConfigOf({"actors.backend=auto", "actors.count=1", "actors.envs_per_actor=256"}), 5);
  ASSERT_NE(replica.gpu, nullptr);
  EXPECT_FALSE(replica.backend->memory().on_host());
}

TEST(ReplicaTest, GamesAreOnTheGpuWhereTheyCanBe) {
  EXPECT_TRUE(PlaysOnGpu(ConfigOf({})));
  EXPECT_FALSE(PlaysOnGpu(ConfigOf({"actors.env_device=cpu"})));
  EXPECT_FALSE(PlaysOnGpu(ConfigOf({"env.stack=4"})));
  EXPECT_FALSE(PlaysOnGpu(ConfigOf({"env.step_ms=2"})));
  EXPECT_TRUE(PlaysOnGpu(ConfigOf({"actors.backend=auto", "actors.env_device=cuda"})));
  const std::string refusal = ErrorOf([] {
    PlaysOnGpu(ConfigOf({"actors.backend=auto", "actors.env_device=cuda", "env.stack=4"}));
  });
  EXPECT_THAT(refusal, testing::StartsWith("actors.env_device = \"cuda\": "));
  EXPECT_THAT(refusal, testing::HasSubstr("env.stack"));
}

TEST(ReplicaTest, AnActorWithoutTheInstructionsOfItsRunSaysSoAndGoesOn) {
  const auto said = [](const std::string& instructions) {
    testing::internal::CaptureStderr();
    MakeRollout(ConfigOf({"actors.envs_per_actor=1", "actors.instructions=" + instructions}), 0, 1);
    return testing::internal::GetCapturedStderr();
  };
  const auto missing = Runs(Instructions::kNative) ? Instructions::kAmx : Instructions::kNative;
  EXPECT_THAT(said(NameOf(missing)),
              testing::HasSubstr(fmt::format(
                  "actors.instructions = \"{}\": {}: computing with {}, so a replay or a redo",
                  NameOf(missing), WhyNotRun(missing), NameOf(BestInstructions()))));
  EXPECT_THAT(said("auto"), testing::Not(testing::HasSubstr("actors.instructions")));
}

// Else a pace of a minute a step would slow down replays and measurements of kernels.
TEST(ReplicaTest, OnlyEnvsOfAnActorAtWorkKeepThePace) {
  const auto paced = [](const auto& make, const char* step_ms) {
    const Config config =
        ConfigOf({std::string("env.step_ms=") + step_ms, "staleness.deadline_s=3600"});
    const EnvGroups groups =
        make(config, MakeReplica(config, 0), envs::EnvSeed{}, envs::WhileWaiting{});
    const auto* const kept = dynamic_cast<const envs::Paced*>(groups.at(0).get());
    return kept != nullptr && kept->keeps_pace();
  };
  EXPECT_TRUE(paced(MakePacedEnvs, "60000"));
  EXPECT_FALSE(paced(MakePacedEnvs, "0"));
  EXPECT_FALSE(paced(MakeEnvs, "60000"));
}

// Of so many envs, the sizes of the groups and the first env of each.
TEST(ReplicaTest, GroupsAreAsEqualAsCanBe) {
  const auto groups_of = [](int envs, int groups) {
    Config config;
    config.actors.envs_per_actor = envs;
    config.actors.groups = groups;
    std::vector<std::pair<int, int>> made;
    MakeGroups(config, {}, [&](int count, const envs::EnvSeed& seed) {
      made.emplace_back(seed.first, count);
      return nullptr;
    });
    return made;
  };
  using testing::ElementsAre, testing::Pair;
  EXPECT_THAT(groups_of(32, 1), ElementsAre(Pair(0, 32)));
  EXPECT_THAT(groups_of(32, 2), ElementsAre(Pair(0, 16), Pair(16, 16)));
  EXPECT_THAT(groups_of(5, 3), ElementsAre(Pair(0, 1), Pair(1, 2), Pair(3, 2)));
  EXPECT_THAT(groups_of(2, 4), ElementsAre(Pair(0, 1), Pair(1, 1))) << "an actor with fewer envs";
}

}  // namespace
}  // namespace starling::actors
