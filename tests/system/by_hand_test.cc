// A learner and its actors started by hand, in any order, without a supervisor.
#include "core/config.h"
#include "tests/system/run_fixture.h"

namespace starling {
namespace {

using testing::HasSubstr;

class ByHandTest : public RunTest {
 protected:
  // What scripts/launch-learner prepares.
  void MakeRunDir(Words settings) {
    settings.push_back("wire.runtime_dir=" + runtime().string());
    std::filesystem::create_directory(run());
    std::ofstream(run() / "config.toml") << ToToml(LoadConfig(config_, settings));
  }
  std::unique_ptr<Process> Learner(const Words& more = {}) {
    Words words = {"--run-dir", run().string()};
    words.insert(words.end(), more.begin(), more.end());
    return Start("starling-learner", words);
  }
  std::unique_ptr<Process> Actor(const Words& more = {}) {
    Words words = {"--run-dir", run().string(), "--runtime-dir", runtime().string()};
    words.insert(words.end(), more.begin(), more.end());
    return Start("starling-actor", words);
  }
  json LastMetrics() const {
    std::ifstream metrics(run() / "metrics.jsonl");
    json last;
    for (std::string line; std::getline(metrics, line);) last = json::parse(line, nullptr, false);
    return last;
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

TEST_F(ByHandTest, TheLearnerFirst) {
  MakeRunDir({"run.steps=16000", "actors.count=2"});
  auto learner = Learner();
  ASSERT_TRUE(AwaitEndpoint());
  auto one = Actor(), other = Actor();
  EXPECT_EQ(WaitFor(*learner), 0) << said_;
  EXPECT_EQ(WaitFor(*one), 0) << said_;
  EXPECT_EQ(WaitFor(*other), 0) << said_;
  EXPECT_GE(LastMetrics()["steps"], 16'000);
  EXPECT_EQ(LastMetrics()["actors_alive"], 2);
  ExpectNothingLeft();
}

TEST_F(ByHandTest, TheActorsFirst) {
  MakeRunDir({"run.steps=16000", "actors.count=2"});
  auto one = Actor(), other = Actor({"--slot", "1"});
  ASSERT_TRUE(Eventually([&] { return Find("starling-actor").size() == 2; }));
  auto learner = Learner();
  EXPECT_EQ(WaitFor(*learner), 0) << said_;
  EXPECT_EQ(WaitFor(*one), 0) << said_;
  EXPECT_EQ(WaitFor(*other), 0) << said_;
  EXPECT_THAT(other->err(), HasSubstr("slot 1"));
  ExpectNothingLeft();
}

TEST_F(ByHandTest, ActorsFindATcpLearnerByItsRunDirectoryAndByItsEndpoint) {
  MakeRunDir({"run.steps=16000", "actors.count=2", "wire.endpoint=tcp://127.0.0.1:0"});
  auto learner = Learner();
  std::string endpoint;
  ASSERT_TRUE(Eventually([&] {
    const std::string said = learner->err();
    const std::size_t at = said.find("listening on ");
    if (at == std::string::npos || said.find('\n', at) == std::string::npos) return false;
    endpoint = said.substr(at + 13, said.find('\n', at) - at - 13);
    return true;
  }));
  auto one = Actor(), other = Start("starling-actor", {"--connect", endpoint});
  EXPECT_EQ(WaitFor(*learner), 0) << said_;
  EXPECT_EQ(WaitFor(*one), 0) << said_;
  EXPECT_EQ(WaitFor(*other), 0) << said_;
  ExpectNothingLeft();
}

TEST_F(ByHandTest, AnActorWithoutALearnerGivesUp) {
  MakeRunDir({"run.steps=16000"});
  auto actor = Actor({"--connect-timeout", "1"});
  EXPECT_EQ(WaitFor(*actor), 1);
  EXPECT_THAT(actor->err(), HasSubstr("no learner within 1 s at " + run().string()));
}

TEST_F(ByHandTest, ActorsJoinALearnerThatWasKilledAndResumed) {
  MakeRunDir({"run.steps=240000", "actors.count=2", "checkpoint.every_steps=16000"});
  auto learner = Learner();
  auto one = Actor(), other = Actor();
  ASSERT_TRUE(AwaitCheckpoint(*learner));
  learner->Signal(SIGKILL);
  EXPECT_EQ(learner->Wait(), 128 + SIGKILL);
  auto again = Learner({"--resume"});
  EXPECT_EQ(WaitFor(*again), 0) << said_;
  EXPECT_THAT(again->err(), HasSubstr("resuming from"));
  EXPECT_EQ(WaitFor(*one), 0) << said_;
  EXPECT_EQ(WaitFor(*other), 0) << said_;
  EXPECT_GE(LastMetrics()["steps"], 240'000);
  EXPECT_EQ(LastMetrics()["term"], 2);
  ExpectNothingLeft();
}

TEST_F(ByHandTest, AStoppedLearnerSendsItsActorsHome) {
  MakeRunDir({"run.steps=1000000000", "actors.count=2", "checkpoint.every_steps=16000"});
  auto learner = Learner();
  auto one = Actor(), other = Actor();
  ASSERT_TRUE(AwaitCheckpoint(*learner));
  learner->Signal(SIGTERM);
  EXPECT_EQ(WaitFor(*learner), 0) << said_;
  EXPECT_EQ(WaitFor(*one), 0) << said_;
  EXPECT_EQ(WaitFor(*other), 0) << said_;
  ExpectNothingLeft();
}

TEST_F(ByHandTest, AStoppedActorLeavesAndTheOthersGoOn) {
  MakeRunDir(
      {"run.steps=240000", "actors.count=2", "checkpoint.every_steps=16000", "staleness.bound=0"});
  auto learner = Learner();
  auto one = Actor(), other = Actor();
  ASSERT_TRUE(AwaitCheckpoint(*learner));
  one->Signal(SIGTERM);
  EXPECT_EQ(WaitFor(*one), 0) << said_;
  EXPECT_EQ(WaitFor(*learner), 0) << said_;
  EXPECT_EQ(WaitFor(*other), 0) << said_;
  EXPECT_THAT(learner->err(), HasSubstr("said goodbye"));
  ExpectNothingLeft();
}

TEST_F(ByHandTest, TwoLearnersOfOneRunAreRefused) {
  MakeRunDir({"run.steps=1000000000", "actors.count=1"});
  auto learner = Learner();
  ASSERT_TRUE(AwaitEndpoint());
  auto second = Learner();
  EXPECT_EQ(WaitFor(*second), 2);
  EXPECT_THAT(second->err(), HasSubstr("process id " + std::to_string(learner->pid())));
  learner->Signal(SIGTERM);
  EXPECT_EQ(WaitFor(*learner), 0) << said_;
  ExpectNothingLeft();
}

TEST_F(ByHandTest, ALearnerWithoutARunDirectoryIsTheOperatorsMistake) {
  auto learner = Learner();
  EXPECT_EQ(WaitFor(*learner), 2);
  EXPECT_THAT(learner->err(), HasSubstr("config.toml cannot be read"));
}

}  // namespace
}  // namespace starling
