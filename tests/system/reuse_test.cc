// Data that is used more than once, on real processes: what the bound, the counts and a replay say.
#include <cstring>

#include "learner/storage/checkpoint.h"
#include "tests/system/run_fixture.h"

namespace starling {
namespace {

using testing::HasSubstr;

// 32 envs x 5 steps; two epochs of four minibatches.
const Strings kAgain = {"loss.kind=ppo", "updates.epochs=2", "updates.minibatches=4"};
constexpr int kUses = 8;

class ReuseTest : public RunTest {
 protected:
  int Replay() {
    replay_ = Start("starling", {"replay", run().string()});
    return WaitFor(*replay_);
  }
  std::unique_ptr<Process> replay_;
};

class ReuseUnderBound : public ReuseTest, public testing::WithParamInterface<const char*> {};

TEST_P(ReuseUnderBound, HoldsItCountsStepsOnceAndIsReplayed) {
  const std::string bound = GetParam();
  const int status =
      Train(Plus(kAgain, {"run.steps=32000", "actors.count=3", "staleness.bound=" + bound}));
  ExpectDone(status, 32'000);  // which holds max against the bound
  const json summary = Summary();
  const json& gradients = summary["gradients"];
  EXPECT_EQ(gradients["dropped"], json::object());
  // 32,000 steps are 200 unrolls with 8 gradients each. The run ends with the first gradient of the
  // last unroll; those of the other actors may be under way.
  EXPECT_GT(gradients["applied"], (200 - 3) * kUses);
  EXPECT_LE(gradients["applied"], 202 * kUses);
  EXPECT_GE(summary["reuse"]["age_max"], summary["staleness"]["max"]);
  EXPECT_GT(summary["reuse"]["age_mean"], summary["staleness"]["mean"]);
  EXPECT_EQ(Replay(), 0) << said_;
  EXPECT_THAT(replay_->out(), HasSubstr("bit for bit"));
}

INSTANTIATE_TEST_SUITE_P(Bounds, ReuseUnderBound, testing::Values("0", "1", "4", "unbounded"),
                         [](const auto& test) { return std::string("Bound") + test.param; });

TEST_F(ReuseTest, AtBoundZeroTheBitsAreTheSameAgain) {
  std::vector<std::vector<float>> weights;
  for (const char* name : {"first", "second"}) {
    const Strings settings = Plus(
        kAgain, {"run.steps=16000", "actors.count=3", "staleness.bound=0", "loss.proximal=grant"});
    ASSERT_EQ(WaitFor(*Start("starling", TrainWords(settings, name))), 0) << said_;
    weights.push_back(learner::LastGood(dir_ / name / "checkpoints").checkpoint->weights);
  }
  EXPECT_EQ(std::memcmp(weights[0].data(), weights[1].data(), weights[0].size() * sizeof(float)),
            0);
}

TEST_F(ReuseTest, OverTcpInShards) {
  const int status = Train(Plus(kAgain, {"run.steps=16000", "actors.count=2", "learner.shards=2",
                                         "wire.endpoint=tcp://127.0.0.1:0", "staleness.bound=2"}));
  EXPECT_EQ(status, 0) << said_;
  const json summary = Summary();
  ExpectSound(summary);
  EXPECT_GE(summary["steps"], 16'000);
  EXPECT_EQ(summary["gradients"]["dropped"], json::object());
}

// In the middle of an unroll, most likely: the rest of it is lost, and the run goes on.
TEST_F(ReuseTest, OfAKilledActorAndLearner) {
  auto train =
      StartTrain(Plus(kAgain, {Steps(kEndless), "actors.count=2", "staleness.bound=2",
                               "wire.endpoint=tcp://127.0.0.1:0", "checkpoint.every_steps=8000"}));
  ASSERT_TRUE(AwaitCheckpoint(*train));
  const pid_t actor = ActorPid(1);
  ASSERT_GT(actor, 0);
  ASSERT_EQ(kill(actor, SIGKILL), 0);
  ASSERT_TRUE(AwaitActors(*train, 3));
  ASSERT_TRUE(KillLearner());
  ASSERT_TRUE(Eventually([&] { return Checkpoints().back().starts_with("t0002-"); }));
  const json summary = Interrupt(*train);
  EXPECT_EQ(summary["learner"]["restarted"], 1);
  EXPECT_EQ(Replay(), 0) << said_;
}

// Its checkpoints are cuts, in the middle of no unroll; a run goes on from them.
TEST_F(ReuseTest, ARunGoesOnWhereItStopped) {
  auto train = StartTrain(Plus(kAgain, {Steps(kEndless), "actors.count=2", "staleness.bound=1",
                                        "checkpoint.every_steps=8000"}));
  ASSERT_TRUE(AwaitCheckpoint(*train));
  Interrupt(*train);
  const std::uint64_t steps = Summary()["steps"];
  ASSERT_EQ(WaitFor(*Start("starling", ResumeWords({Steps(steps + 16'000)}))), 0) << said_;
  EXPECT_EQ(Summary()["exact"], true) << "from the states of its actors";
  EXPECT_EQ(Replay(), 0) << said_;
}

}  // namespace
}  // namespace starling
