// A replay of a journal that cannot be this run's. (Whole runs: tests/system/replay_test.cc.)
#include "tools/replay/replayer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "results/trained.h"

namespace starling::replay {
namespace {

using testing::HasSubstr;

class ReplayerTest : public testing::Test {
 protected:
  // Actors of 2 envs x 5 steps, unless the journal gives another number; four gradients on version
  // 0.
  ReplayerTest()
      : config_(ParseConfig("", "test.toml",
                            {"env.name=dummy", "net.kind=mlp", "net.hidden=[]",
                             "actors.envs_per_actor=2", "actors.unroll=5", "actors.count=2"})) {
    JournalIndex index;
    index.computed_on = {{0, 4}};
    const learner::InitialNet net = results::InitialNetOf(config_);
    replayer_.emplace(config_, index, net.initial, net.layout.fingerprint());
    EXPECT_TRUE(replayer_->Do(learner::TermRecord{.term = 1}));
  }

  bool Arrive(std::uint32_t slot, std::uint32_t samples, std::uint32_t incarnation = 0x10000) {
    return replayer_->Do(learner::ArrivalRecord{
        .slot = slot, .incarnation = incarnation, .sequence = ++sequence_, .samples = samples});
  }
  std::string Difference() const { return replayer_->difference(); }

  const Config config_;
  std::optional<Replayer> replayer_;
  std::uint64_t sequence_ = 0;
};

TEST_F(ReplayerTest, EachLifeOfAnActorMayHaveItsOwnNumberOfEnvs) {
  EXPECT_TRUE(Arrive(0, 10)) << Difference();
  EXPECT_TRUE(Arrive(1, 40)) << Difference();
  EXPECT_TRUE(Arrive(1, 40)) << Difference();
  EXPECT_TRUE(Arrive(1, 15, 0x10001)) << Difference();
}

TEST_F(ReplayerTest, ItDoesNotChangeWithinALife) {
  EXPECT_TRUE(Arrive(1, 40));
  EXPECT_FALSE(Arrive(1, 10));
  EXPECT_EQ(Difference(), "a gradient of actor 1 has 10 samples, and its last one had 40");
}

TEST_F(ReplayerTest, SamplesAreWholeUnrolls) {
  EXPECT_FALSE(Arrive(1, 12));
  EXPECT_EQ(
      Difference(),
      "a gradient of actor 1 has 12 samples, which should be whole unrolls of actors.unroll = 5, "
      "at most 1000000");
}

TEST_F(ReplayerTest, NoSamplesAreNoGradient) {
  EXPECT_FALSE(Arrive(1, 0));
  EXPECT_THAT(Difference(), HasSubstr("has 0 samples"));
}

TEST_F(ReplayerTest, MoreSamplesThanAGradientMayHaveAreNotMadeRoomFor) {
  EXPECT_FALSE(Arrive(1, 1'000'005));
  EXPECT_THAT(Difference(), HasSubstr("has 1000005 samples"));
}

}  // namespace
}  // namespace starling::replay
