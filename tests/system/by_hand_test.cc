// A learner and its actors started by hand, in any order, without a supervisor.
#include "tests/system/run_fixture.h"

namespace starling {
namespace {

using testing::HasSubstr;

class ByHandTest : public RunTest {
 protected:
  // A new run, as scripts/launch-learner starts it.
  std::unique_ptr<Process> Learner(const Strings& settings) {
    Strings words = TrainWords(settings);
    words.erase(words.begin());  // "train"
    return Start("starling-learner", words);
  }
  // Goes on in the run directory that there is.
  std::unique_ptr<Process> ResumedLearner() {
    return Start("starling-learner", {"--run-dir", run().string(), "--resume"});
  }
  std::unique_ptr<Process> Actor(const Strings& more = {}) {
    Strings words = {"--run-dir", run().string(), "--runtime-dir", runtime().string()};
    words.insert(words.end(), more.begin(), more.end());
    return Start("starling-actor", words);
  }
  // It sums up as `starling train` does, as far as it can know.
  void ExpectSummary(std::uint64_t steps, int actors) const {
    const json summary = Summary();
    ExpectSound(summary);
    if (!summary.is_object()) return;
    EXPECT_GE(summary["steps"], steps);
    EXPECT_EQ(summary["actors"]["started"], actors);
    ExpectFinalCheckpoint(summary);
    ExpectNothingLeft();
  }
  // So many are in slots 0, 1, ...
  bool AwaitJoined(Process& learner, int actors) {
    const std::string last = fmt::format("actor {} joined", actors - 1);
    return Eventually(
        [&] { return learner.err().find(last) != std::string::npos || !learner.Running(); });
  }
  bool AwaitEndpoint() {
    return Eventually([&] {
      for (const auto& entry : std::filesystem::recursive_directory_iterator(runtime())) {
        if (entry.path().filename() == "endpoint") return true;
      }
      return false;
    });
  }
};

// Each actor computes on the device of its own option: one fleet may have both kinds.
TEST_F(ByHandTest, AnActorOfAnotherBackend) {
  auto learner = Learner({"run.steps=16000", "actors.count=2"});
  ASSERT_TRUE(AwaitEndpoint());
  ASSERT_EQ(setenv("CUDA_VISIBLE_DEVICES", "", 1), 0);
  auto gpu = Actor({"--backend", "cuda"}), either = Actor({"--backend", "auto"});
  ASSERT_EQ(unsetenv("CUDA_VISIBLE_DEVICES"), 0);
  EXPECT_EQ(WaitFor(*gpu), 2);
  EXPECT_THAT(said_, HasSubstr("actors.backend = \"cuda\": "));
  auto processor = Actor({"--backend", "cpu"});
  EXPECT_EQ(WaitFor(*learner), 0) << said_;
  EXPECT_EQ(WaitFor(*either), 0) << said_;
  EXPECT_THAT(said_, HasSubstr("computing on the processor"));
  EXPECT_EQ(WaitFor(*processor), 0) << said_;
}

TEST_F(ByHandTest, TheLearnerFirst) {
  auto learner = Learner({"run.steps=16000", "actors.count=2"});
  ASSERT_TRUE(AwaitEndpoint());
  auto one = Actor(), other = Actor();
  EXPECT_EQ(WaitFor(*learner), 0) << said_;
  EXPECT_EQ(WaitFor(*one), 0) << said_;
  EXPECT_EQ(WaitFor(*other), 0) << said_;
  EXPECT_THAT(learner->err(), HasSubstr("done in"));
  EXPECT_THAT(learner->err(), HasSubstr("/starling eval " + run().string()));
  ExpectSummary(16'000, 2);
}

TEST_F(ByHandTest, TheActorsFirst) {
  auto one = Actor(), other = Actor({"--slot", "1"});
  ASSERT_TRUE(Eventually([&] { return Find("starling-actor").size() == 2; }));
  auto learner = Learner({"run.steps=16000", "actors.count=2"});
  EXPECT_EQ(WaitFor(*learner), 0) << said_;
  EXPECT_EQ(WaitFor(*one), 0) << said_;
  EXPECT_EQ(WaitFor(*other), 0) << said_;
  EXPECT_THAT(other->err(), HasSubstr("slot 1"));
  ExpectSummary(16'000, 2);
}

TEST_F(ByHandTest, ActorsFindATcpLearnerByItsRunDirectoryAndByItsEndpoint) {
  auto learner = Learner({"run.steps=16000", "actors.count=2", "wire.endpoint=tcp://127.0.0.1:0"});
  const std::string marker = "listening on ";
  std::string endpoint;
  ASSERT_TRUE(Eventually([&] {
    const std::string said = learner->err();
    const std::size_t at = said.find(marker), end = said.find('\n', at);
    if (at == std::string::npos || end == std::string::npos) return false;
    endpoint = said.substr(at + marker.size(), end - at - marker.size());
    return true;
  }));
  auto one = Actor(), other = Start("starling-actor", {"--connect", endpoint});
  EXPECT_EQ(WaitFor(*learner), 0) << said_;
  EXPECT_EQ(WaitFor(*one), 0) << said_;
  EXPECT_EQ(WaitFor(*other), 0) << said_;
  ExpectSummary(16'000, 2);
}

TEST_F(ByHandTest, AnActorWithoutALearnerGivesUp) {
  auto actor = Actor({"--connect-timeout", "1"});
  EXPECT_EQ(WaitFor(*actor), 1);
  EXPECT_THAT(actor->err(), HasSubstr("no learner within 1 s at " + run().string()));
  EXPECT_FALSE(std::filesystem::exists(run()));
}

TEST_F(ByHandTest, ActorsJoinALearnerThatWasKilledAndResumed) {
  auto learner = Learner({Steps(kSeconds), "actors.count=2", "checkpoint.every_steps=16000"});
  auto one = Actor(), other = Actor();
  ASSERT_TRUE(AwaitCheckpoint(*learner));
  learner->Signal(SIGKILL);
  EXPECT_EQ(learner->Wait(), 128 + SIGKILL);
  auto again = ResumedLearner();
  EXPECT_EQ(WaitFor(*again), 0) << said_;
  EXPECT_THAT(again->err(), HasSubstr("resuming from"));
  EXPECT_EQ(WaitFor(*one), 0) << said_;
  EXPECT_EQ(WaitFor(*other), 0) << said_;
  EXPECT_THAT(Checkpoints().back(), HasSubstr("t0002-"));
  ExpectSummary(kSeconds, 2);
}

// The next one listens on another port, and actors find it before wire.timeout_s.
TEST_F(ByHandTest, ActorsFindATcpLearnerAgainThatWasKilled) {
  auto learner = Learner({Steps(kSeconds), "actors.count=2", "checkpoint.every_steps=16000",
                          "wire.endpoint=tcp://127.0.0.1:0", "wire.timeout_s=3600"});
  auto one = Actor(), other = Actor();
  ASSERT_TRUE(AwaitCheckpoint(*learner));
  learner->Signal(SIGKILL);
  EXPECT_EQ(learner->Wait(), 128 + SIGKILL);
  auto again = ResumedLearner();
  EXPECT_EQ(WaitFor(*again), 0) << said_;
  EXPECT_EQ(WaitFor(*one), 0) << said_;
  EXPECT_EQ(WaitFor(*other), 0) << said_;
  ExpectSummary(kSeconds, 2);
}

TEST_F(ByHandTest, AStoppedLearnerSendsItsActorsHome) {
  auto learner = Learner({Steps(kEndless), "actors.count=2", "checkpoint.every_steps=16000"});
  auto one = Actor(), other = Actor();
  ASSERT_TRUE(AwaitCheckpoint(*learner));
  learner->Signal(SIGTERM);
  EXPECT_EQ(WaitFor(*learner), 130) << said_;
  EXPECT_EQ(WaitFor(*one), 0) << said_;
  EXPECT_EQ(WaitFor(*other), 0) << said_;
  ExpectSummary(16'000, 2);
}

TEST_F(ByHandTest, AStoppedActorLeavesAndTheOthersGoOn) {
  auto learner = Learner({Steps(kSeconds / 4), "actors.count=2", "staleness.bound=0"});
  auto one = Actor(), other = Actor();
  ASSERT_TRUE(AwaitJoined(*learner, 2));
  one->Signal(SIGTERM);
  EXPECT_EQ(WaitFor(*one), 0) << said_;
  EXPECT_EQ(WaitFor(*learner), 0) << said_;
  EXPECT_EQ(WaitFor(*other), 0) << said_;
  EXPECT_THAT(learner->err(), HasSubstr("at most its gradient in flight is lost, 1 left"));
  const json summary = Summary();
  ExpectSound(summary);
  EXPECT_GE(summary["steps"], kSeconds / 4);
  ExpectNothingLeft();
}

TEST_F(ByHandTest, AnActorThatIsBusyAtTheEndStillHearsOfIt) {
  auto learner = Learner({Steps(kSeconds / 4), "actors.count=2", "wire.timeout_s=600"});
  auto busy = Actor(), other = Actor();
  ASSERT_TRUE(AwaitJoined(*learner, 2));
  ASSERT_TRUE(
      Eventually([&] { return busy->err().find("steps a gradient") != std::string::npos; }));
  busy->Signal(SIGSTOP);  // in the middle of an unroll, as far as the learner can see
  EXPECT_EQ(WaitFor(*learner), 0) << said_;
  EXPECT_EQ(WaitFor(*other), 0) << said_;
  busy->Signal(SIGCONT);
  EXPECT_EQ(WaitFor(*busy), 0) << said_;
  EXPECT_THAT(busy->err(), HasSubstr("all steps are done"));
  ExpectNothingLeft();
}

TEST_F(ByHandTest, MoreActorsThanPlannedAreWelcome) {
  auto one = Actor(), two = Actor(), three = Actor();
  auto learner = Learner({Steps(kEndless), "actors.count=1"});
  EXPECT_TRUE(AwaitJoined(*learner, 3));
  learner->Signal(SIGINT);
  EXPECT_EQ(WaitFor(*learner), 130) << said_;
  for (Process* actor : {one.get(), two.get(), three.get()}) EXPECT_EQ(WaitFor(*actor), 0) << said_;
  ExpectSummary(0, 3);
}

TEST_F(ByHandTest, TwoLearnersOfOneRunAreRefused) {
  auto learner = Learner({Steps(kEndless), "actors.count=1"});
  ASSERT_TRUE(AwaitEndpoint());
  auto second = ResumedLearner();
  EXPECT_EQ(WaitFor(*second), 2);
  EXPECT_THAT(second->err(), HasSubstr("process id " + std::to_string(learner->pid())));
  auto third = Learner({Steps(kEndless)});
  EXPECT_EQ(WaitFor(*third), 2);
  EXPECT_THAT(third->err(), HasSubstr("is not empty"));
  learner->Signal(SIGTERM);
  EXPECT_EQ(WaitFor(*learner), 130) << said_;
  ExpectNothingLeft();
}

TEST_F(ByHandTest, EveryMistakeOfALearnersConfigurationIsALineOfItsOwn) {
  auto learner = Learner({"run.seed=x", "env.name=cacth", "loss.gamma=2"});
  EXPECT_EQ(WaitFor(*learner), 2);
  EXPECT_THAT(learner->err(), HasSubstr("--set run.seed=x: "));
  EXPECT_THAT(learner->err(), HasSubstr("\n--set loss.gamma=2: "));
  EXPECT_FALSE(std::filesystem::exists(run()));
}

TEST_F(ByHandTest, ASettingMayStandBeforeTheConfiguration) {
  auto learner = Start("starling-learner",
                       {"--set", "wire.runtime_dir=" + runtime().string(), config_, "--run-dir",
                        run().string(), "--set", "run.steps=1600", "--set", "actors.count=1"});
  auto actor = Actor();
  for (Process* process : {learner.get(), actor.get()}) {
    if (!learner->Running()) actor->Signal(SIGTERM);
    EXPECT_EQ(WaitFor(*process), 0) << said_;
  }
}

TEST_F(ByHandTest, ALearnerWithoutARunDirectoryIsTheOperatorsMistake) {
  auto learner = ResumedLearner();
  EXPECT_EQ(WaitFor(*learner), 2);
  EXPECT_THAT(learner->err(), HasSubstr("config.toml cannot be read"));
}

}  // namespace
}  // namespace starling
