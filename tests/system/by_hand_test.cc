// A learner and its actors started by hand, in any order, without a supervisor.
#include "tests/system/run_fixture.h"

namespace starling {
namespace {

using testing::HasSubstr;

class ByHandTest : public RunTest {
 protected:
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
  bool AwaitPlace() {
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
  auto learner = StartLearner({Steps(kSeconds / 4), "actors.count=2"});
  ASSERT_TRUE(AwaitPlace());
  ASSERT_EQ(setenv("CUDA_VISIBLE_DEVICES", "", 1), 0);
  auto gpu = StartActor({"--backend", "cuda"}), either = StartActor({"--backend", "auto"}),
       processor = StartActor({"--backend", "cpu"});
  ASSERT_EQ(unsetenv("CUDA_VISIBLE_DEVICES"), 0);
  EXPECT_EQ(WaitFor(*gpu), 2);
  EXPECT_THAT(said_, HasSubstr("actors.backend = \"cuda\": "));
  ExpectAllEnd(learner, either, processor);
  EXPECT_THAT(either->err(), HasSubstr("computing on the processor"));
}

TEST_F(ByHandTest, TheLearnerFirst) {
  auto learner = StartLearner({"run.steps=16000", "actors.count=2"});
  ASSERT_TRUE(AwaitPlace());
  auto one = StartActor(), other = StartActor();
  ExpectAllEnd(learner, one, other);
  EXPECT_THAT(learner->err(), HasSubstr("done in"));
  EXPECT_THAT(learner->err(), HasSubstr("/starling eval " + run().string()));
  ExpectSummary(16'000, 2);
}

TEST_F(ByHandTest, TheActorsFirst) {
  auto one = StartActor(), other = StartActor({"--slot", "1"});
  ASSERT_TRUE(Eventually([&] { return Find("starling-actor").size() == 2; }));
  auto learner = StartLearner({"run.steps=16000", "actors.count=2"});
  ExpectAllEnd(learner, one, other);
  EXPECT_THAT(other->err(), HasSubstr("slot 1"));
  ExpectSummary(16'000, 2);
}

TEST_F(ByHandTest, ActorsFindATcpLearnerByItsRunDirectoryAndByItsEndpoint) {
  auto learner =
      StartLearner({"run.steps=16000", "actors.count=2", "wire.endpoint=tcp://127.0.0.1:0"});
  const std::string endpoint = AwaitEndpoint(*learner);
  ASSERT_NE(endpoint, "");
  auto one = StartActor(), other = Start("starling-actor", {"--connect", endpoint});
  ExpectAllEnd(learner, one, other);
  ExpectSummary(16'000, 2);
}

TEST_F(ByHandTest, AnActorWithoutALearnerGivesUp) {
  auto actor = StartActor({"--connect-timeout", "1"});
  EXPECT_EQ(WaitFor(*actor), 1);
  EXPECT_THAT(actor->err(), HasSubstr("no learner within 1 s at " + run().string()));
  EXPECT_FALSE(std::filesystem::exists(run()));
}

TEST_F(ByHandTest, ActorsJoinALearnerThatWasKilledAndResumed) {
  // Over tcp the next one listens on another port, and actors find it before wire.timeout_s.
  for (const Strings& wire :
       std::vector<Strings>{{}, {"wire.endpoint=tcp://127.0.0.1:0", "wire.timeout_s=3600"}}) {
    const Strings settings = {Steps(kSeconds), "actors.count=2", "checkpoint.every_steps=16000"};
    auto learner = StartLearner(Plus(settings, wire));
    auto one = StartActor(), other = StartActor();
    ASSERT_TRUE(AwaitCheckpoint(*learner));
    learner->Signal(SIGKILL);
    EXPECT_EQ(learner->Wait(), 128 + SIGKILL);
    auto again = ResumeLearner();
    ExpectAllEnd(again, one, other);
    EXPECT_THAT(again->err(), HasSubstr("resuming from"));
    EXPECT_THAT(Checkpoints().back(), HasSubstr("t0002-"));
    ExpectSummary(kSeconds, 2);
    std::filesystem::remove_all(run());
  }
}

TEST_F(ByHandTest, AStoppedLearnerSendsItsActorsHome) {
  auto learner = StartLearner({Steps(kEndless), "actors.count=2", "checkpoint.every_steps=16000"});
  auto one = StartActor(), other = StartActor();
  ASSERT_TRUE(AwaitCheckpoint(*learner));
  learner->Signal(SIGTERM);
  EXPECT_EQ(WaitFor(*learner), 130) << said_;
  ExpectAllEnd(one, other);
  ExpectSummary(16'000, 2);
}

// Its status 0 means that the run is over.
TEST_F(ByHandTest, AnActorThatStaysEndsWithItsRunAndNotWithALearner) {
  auto learner = StartLearner({Steps(kEndless), "actors.count=2", "checkpoint.every_steps=16000"});
  auto one = StartActor({"--stay"}), other = StartActor({"--stay"}), third = StartActor({"--stay"});
  ASSERT_TRUE(AwaitSaid(*learner, "actor 2 joined"));
  ASSERT_TRUE(AwaitSaid(*third, "steps an unroll"));
  third->Signal(SIGTERM);
  EXPECT_EQ(WaitFor(*third), 130) << said_;
  learner->Signal(SIGTERM);
  EXPECT_EQ(WaitFor(*learner), 130) << said_;
  const auto steps = Summary()["steps"].get<std::uint64_t>() + 16'000;
  auto again = Start("starling", Plus(ResumeWords({Steps(steps)}), {"--no-actors"}));
  ExpectAllEnd(again, one, other);
  EXPECT_THAT(one->err(), HasSubstr("searching for it again"));
  ExpectSummary(steps, 2);
}

TEST_F(ByHandTest, AStoppedActorLeavesAndTheOthersGoOn) {
  auto learner = StartLearner({Steps(kSeconds / 4), "actors.count=2", "staleness.bound=0"});
  auto one = StartActor(), other = StartActor();
  ASSERT_TRUE(AwaitSaid(*learner, "actor 1 joined"));
  one->Signal(SIGTERM);
  EXPECT_EQ(WaitFor(*one), 0) << said_;
  ExpectAllEnd(learner, other);
  EXPECT_THAT(learner->err(), HasSubstr("at most its gradients in flight are lost, 1 left"));
  const json summary = Summary();
  ExpectSound(summary);
  EXPECT_GE(summary["steps"], kSeconds / 4);
  ExpectNothingLeft();
}

TEST_F(ByHandTest, AnActorThatIsBusyAtTheEndStillHearsOfIt) {
  auto learner = StartLearner({Steps(kSeconds / 4), "actors.count=2", "wire.timeout_s=600"});
  auto busy = StartActor(), other = StartActor();
  ASSERT_TRUE(AwaitSaid(*learner, "actor 1 joined"));
  ASSERT_TRUE(AwaitSaid(*busy, "steps an unroll"));
  busy->Signal(SIGSTOP);  // in the middle of an unroll, as far as the learner can see
  ExpectAllEnd(learner, other);
  busy->Signal(SIGCONT);
  EXPECT_EQ(WaitFor(*busy), 0) << said_;
  EXPECT_THAT(busy->err(), HasSubstr("all steps are done"));
  ExpectNothingLeft();
}

TEST_F(ByHandTest, MoreActorsThanPlannedAreWelcome) {
  auto one = StartActor(), two = StartActor(), three = StartActor();
  auto learner = StartLearner({Steps(kEndless), "actors.count=1"});
  EXPECT_TRUE(AwaitSaid(*learner, "actor 2 joined"));
  learner->Signal(SIGINT);
  EXPECT_EQ(WaitFor(*learner), 130) << said_;
  ExpectAllEnd(one, two, three);
  ExpectSummary(0, 3);
}

TEST_F(ByHandTest, TwoLearnersOfOneRunAreRefused) {
  auto learner = StartLearner({Steps(kEndless), "actors.count=1"});
  ASSERT_TRUE(AwaitPlace());
  auto second = ResumeLearner();
  EXPECT_EQ(WaitFor(*second), 2);
  EXPECT_THAT(second->err(), HasSubstr("process id " + std::to_string(learner->pid())));
  auto third = StartLearner({Steps(kEndless)});
  EXPECT_EQ(WaitFor(*third), 2);
  EXPECT_THAT(third->err(), HasSubstr("is not empty"));
  learner->Signal(SIGTERM);
  EXPECT_EQ(WaitFor(*learner), 130) << said_;
  ExpectNothingLeft();
}

TEST_F(ByHandTest, EveryMistakeOfALearnersConfigurationIsALineOfItsOwn) {
  auto learner = StartLearner({"run.seed=x", "env.name=cacth", "loss.gamma=2"});
  EXPECT_EQ(WaitFor(*learner), 2);
  EXPECT_THAT(learner->err(), HasSubstr("--set run.seed=x: "));
  EXPECT_THAT(learner->err(), HasSubstr("\n--set loss.gamma=2: "));
  EXPECT_FALSE(std::filesystem::exists(run()));
}

TEST_F(ByHandTest, ASettingMayStandBeforeTheConfiguration) {
  auto learner = Start("starling-learner",
                       {"--set", "wire.runtime_dir=" + runtime().string(), config_, "--run-dir",
                        run().string(), "--set", "run.steps=1600", "--set", "actors.count=1"});
  auto actor = StartActor();
  for (Process* process : {learner.get(), actor.get()}) {
    if (!learner->Running()) actor->Signal(SIGTERM);
    EXPECT_EQ(WaitFor(*process), 0) << said_;
  }
}

TEST_F(ByHandTest, ALearnerWithoutARunDirectoryIsTheOperatorsMistake) {
  auto learner = ResumeLearner();
  EXPECT_EQ(WaitFor(*learner), 2);
  EXPECT_THAT(learner->err(), HasSubstr("is no run directory: it has no config.toml"));
}

}  // namespace
}  // namespace starling
