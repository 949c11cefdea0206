// A learner of several processes.
#include "core/file.h"
#include "learner/storage/checkpoint.h"
#include "tests/support/plain_tcp.h"
#include "tests/system/run_fixture.h"

namespace starling {
namespace {

using testing::AnyOf;
using testing::ContainsRegex;
using testing::HasSubstr;

class ShardsSystemTest : public RunTest {
 protected:
  // The processes of the learner beside its first.
  std::vector<Running> Others() const {
    std::vector<Running> found = Find("starling-learner");
    std::erase_if(found, [](const Running& process) { return process.After("--shard").empty(); });
    return found;
  }
  learner::Checkpoint Last() const {
    auto last = learner::LastGood(run() / "checkpoints");
    EXPECT_TRUE(last.checkpoint);
    return last.checkpoint ? *std::move(last.checkpoint) : learner::Checkpoint{};
  }
  bool AwaitSecondCheckpoint(Process& train) const {
    const auto saved = [this] {
      return learner::ListCheckpoints(run() / "checkpoints").size() > 1;
    };
    return Eventually([&] { return saved() || !train.Running(); }) && saved();
  }
  void ExpectAllSteps(int status, std::uint64_t steps) const {
    EXPECT_EQ(status, 0) << said_;
    const json summary = Summary();
    ExpectSound(summary);
    EXPECT_GE(summary["steps"], steps);
    EXPECT_EQ(Last().version, summary["updates"]);
    EXPECT_EQ(Last().steps, summary["steps"]);
    ExpectNothingLeft();
  }
};

TEST_F(ShardsSystemTest, TrainsOverTcp) {
  ExpectAllSteps(Train({Steps(32'000), "actors.count=2", "learner.shards=2", "staleness.bound=4",
                        "wire.endpoint=tcp://127.0.0.1:0"}),
                 32'000);
  EXPECT_GT(Summary()["gradients"]["applied"], 0);
}

TEST_F(ShardsSystemTest, ThreeAddUpWhatOneDoes) {
  const Strings settings = {Steps(16'000),         "actors.count=2",
                            "staleness.bound=0",   "env.name=control/reach",
                            "net.kind=mlp",        "env.normalize_observations=true",
                            "net.hidden=[16]",     "env.normalize_rewards=true",
                            "updates.gradients=2", "loss.kind=ppo",
                            "updates.epochs=2"};
  ASSERT_EQ(Train(settings), 0) << said_;
  const learner::Checkpoint one = Last();
  std::filesystem::rename(run(), dir_ / "one");
  ExpectAllSteps(Train(Plus(settings, {"learner.shards=3"})), 16'000);
  const learner::Checkpoint three = Last();
  EXPECT_TRUE(three.weights == one.weights);
  const std::size_t count = one.layout.Find("observations.sums").offset;
  EXPECT_EQ(one.weights[count], static_cast<float>(one.steps)) << "every step is counted once";
  // A net that learnt from other numbers is no beginning.
  std::filesystem::remove_all(run());
  EXPECT_EQ(Train(Plus(settings, {"run.init_from=" + (dir_ / "one").string(),
                                  "env.normalize_observations=false"})),
            2);
  EXPECT_THAT(said_, HasSubstr("holds a net that has learnt with true; set it so"));
}

// With an evaluator, who sees the slices in shared memory; over tcp the actors do not.
TEST_F(ShardsSystemTest, IsEvaluatedOnTheWay) {
  auto train =
      StartTrain({Steps(kEndless), "actors.count=2", "learner.shards=2", "eval.every_steps=16000",
                  "eval.episodes=5", "wire.endpoint=tcp://127.0.0.1:0"});
  const auto lines = [this] { return TextOf(run() / "eval.jsonl"); };
  ASSERT_TRUE(
      Eventually([&] { return lines().find('\n') != std::string::npos || !train->Running(); }));
  Interrupt(*train);
  const json first = json::parse(lines().substr(0, lines().find('\n')));
  EXPECT_GE(first["steps"], 16'000);
  EXPECT_LE(first["steps"], Summary()["steps"]);
}

TEST_F(ShardsSystemTest, ItsCheckpointsAreBegunFrom) {
  ASSERT_EQ(Train({Steps(16'000), "learner.shards=2"}), 0) << said_;
  const auto of = dir_ / "of";
  std::filesystem::rename(run(), of);
  const auto path = learner::LastGood(of / "checkpoints").path;
  for (const auto& from : {of, path}) {
    EXPECT_EQ(Train({Steps(8'000), "run.init_from=" + from.string()}), 0) << said_;
    std::filesystem::remove_all(run());
    const auto eval = Start("starling", {"eval", from.string(), "--episodes", "2"});
    EXPECT_EQ(WaitFor(*eval), 0) << eval->err();
  }
}

// Resumed by hand with another number, which is in no file.
TEST_F(ShardsSystemTest, TheNumberMayBeSaidByHand) {
  ASSERT_EQ(Train({Steps(8'000), "learner.shards=2", "actors.count=1"}), 0) << said_;
  const auto learner = Start("starling-learner", {"--run-dir", run().string(), "--resume", "--set",
                                                  "learner.shards=3", "--set", "run.steps=16000"});
  const auto actor = StartActor();
  ExpectAllEnd(learner, actor);
  EXPECT_EQ(Last().steps, 16'000u);
}

// As sent to all processes of the name to reload the list of keys.
TEST_F(ShardsSystemTest, AHangupIsNotItsEnd) {
  auto train = StartTrain(
      {Steps(kEndless), "actors.count=1", "learner.shards=2", "checkpoint.every_steps=16000"});
  ASSERT_TRUE(AwaitActors(*train, 1));
  ASSERT_EQ(Others().size(), 1u);
  const pid_t shard = Others().front().pid;
  ASSERT_EQ(kill(shard, SIGHUP), 0);
  // It writes its part of further ones.
  const std::uint64_t before = Last().version;
  ASSERT_TRUE(Eventually([&] { return Last().version > before + 300 || !train->Running(); }));
  ASSERT_EQ(Others().size(), 1u);
  EXPECT_EQ(Others().front().pid, shard);
  const json summary = Interrupt(*train);
  EXPECT_EQ(summary["learner"]["restarted"], 0);
  EXPECT_EQ(Last().version, summary["updates"]);
}

// Before it has begun, too.
TEST_F(ShardsSystemTest, OneThatHangsWhileItBeginsIsNotWaitedForForEver) {
  const auto learner =
      StartLearner({Steps(kEndless), "actors.count=1", "learner.shards=2",
                    "updates.start_timeout_s=1", "wire.timeout_s=1", "wire.heartbeat_ms=100"});
  std::vector<Running> others;
  ASSERT_TRUE(Eventually([&] { return !(others = Others()).empty() || !learner->Running(); }));
  ASSERT_FALSE(others.empty());
  ASSERT_EQ(kill(others.front().pid, SIGSTOP), 0);
  EXPECT_EQ(WaitFor(*learner), 1);
  // The latter if it was quicker than this test.
  EXPECT_THAT(said_, AnyOf(HasSubstr("begun within updates.start_timeout_s = 1 s"),
                           HasSubstr("shard 1 was silent for wire.timeout_s = 1 s")));
  ExpectNothingLeft();
}

TEST_F(ShardsSystemTest, OneThatHangsIsNotWaitedForForEver) {
  auto train = StartTrain({Steps(kSeconds / 2), "actors.count=1", "learner.shards=2",
                           "wire.timeout_s=2", "wire.heartbeat_ms=100"});
  ASSERT_TRUE(AwaitActors(*train, 1));
  const auto others = Others();
  ASSERT_EQ(others.size(), 1u);
  ASSERT_EQ(kill(others.front().pid, SIGSTOP), 0);
  ExpectAllSteps(WaitFor(*train), kSeconds / 2);
  EXPECT_GE(Summary()["learner"]["restarted"], 1);
  EXPECT_THAT(Log(), HasSubstr("shard 1 was silent for wire.timeout_s = 2 s"));
}

TEST_F(ShardsSystemTest, AKilledShardComesBack) {
  auto train = StartTrain(
      {Steps(kSeconds / 4), "checkpoint.every_steps=16000", "actors.count=3", "learner.shards=3"});
  ASSERT_TRUE(AwaitSecondCheckpoint(*train));
  const auto others = Others();
  ASSERT_EQ(others.size(), 2u);
  ASSERT_EQ(kill(others.back().pid, SIGKILL), 0);
  ExpectAllSteps(WaitFor(*train), kSeconds / 4);
  EXPECT_EQ(Summary()["learner"]["restarted"], 1);
  EXPECT_THAT(Log(), ContainsRegex("shard [12] was killed by SIGKILL.*start again from their "
                                   "last checkpoint, version [0-9]+, and the [0-9]+ updates"));
}

TEST_F(ShardsSystemTest, AKilledLearnerTakesItsShardsAlong) {
  auto train = StartTrain(
      {Steps(kSeconds / 4), "checkpoint.every_steps=16000", "actors.count=2", "learner.shards=2"});
  ASSERT_TRUE(AwaitSecondCheckpoint(*train));
  for (const Running& process : Find("starling-learner")) {
    if (process.After("--shard").empty()) kill(process.pid, SIGKILL);
  }
  ExpectAllSteps(WaitFor(*train), kSeconds / 4);
  EXPECT_EQ(Summary()["learner"]["restarted"], 1);
}

// Whose port is the one after the learner's.
TEST_F(ShardsSystemTest, AShardWhosePortIsTakenIsTheOperatorsMistake) {
  std::optional<ReservedPort> taken, free;
  ASSERT_TRUE(Eventually([&] {
    taken.emplace();
    try {
      free.emplace(static_cast<std::uint16_t>(taken->port() - 1));
    } catch (const std::runtime_error&) {
      return false;
    }
    return true;
  }));
  taken->Listen();
  const std::string endpoint = fmt::format("tcp://127.0.0.1:{}", taken->port());
  EXPECT_EQ(Train({"actors.count=1", "learner.shards=2",
                   fmt::format("wire.endpoint=tcp://127.0.0.1:{}", free->port())}),
            2)
      << said_;
  EXPECT_THAT(said_, HasSubstr("cannot listen on " + endpoint));
  EXPECT_THAT(said_, HasSubstr("shard 1 cannot start: its message is above"));
  EXPECT_EQ(CountInLog("started again"), 0u);
  ExpectNothingLeft();
}

TEST_F(ShardsSystemTest, IsNotReplayed) {
  ASSERT_EQ(Train({Steps(8'000), "learner.shards=2"}), 0) << said_;
  const auto replay = Start("starling", {"replay", run().string()});
  EXPECT_EQ(WaitFor(*replay), 2);
  EXPECT_THAT(replay->err(), HasSubstr("learner.shards = 2"));
}

}  // namespace
}  // namespace starling
