// A learner that other hosts can reach, and actors that come with keys.
#include <filesystem>

#include "tests/system/run_fixture.h"
#include "wire/keys.h"

namespace starling {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

class KeysTest : public RunTest {
 protected:
  KeysTest() {
    std::filesystem::create_directory(keys() / "allowed");
    wire::WriteKeyFiles(keys(), "learner", wire::NewKeyPair());
    for (const char* name : {"ada", "eve"}) wire::WriteKeyFiles(keys(), name, wire::NewKeyPair());
    std::filesystem::copy(keys() / "ada.public", keys() / "allowed");
  }
  std::filesystem::path keys() const { return keys_.path(); }
  Strings Keyed(const Strings& settings) const {
    return Plus(settings, {"wire.secret=" + (keys() / "learner.secret").string(),
                           "wire.allowed=" + (keys() / "allowed").string()});
  }
  std::unique_ptr<Process> Learner(const Strings& settings) {
    return StartLearner(Keyed(settings));
  }
  // As on another host: it knows nothing but the endpoint and its keys.
  std::unique_ptr<Process> Actor(const std::string& endpoint, const std::string& name,
                                 const Strings& more = {}) {
    const Strings way = {"--connect",     endpoint,
                         "--secret",      (keys() / (name + ".secret")).string(),
                         "--learner-key", (keys() / "learner.public").string()};
    return Start("starling-actor", Plus(way, more));
  }

  TempDir keys_;
};

TEST_F(KeysTest, ActorsOfOtherHostsTrainWithOneThatFoundItself) {
  auto learner = Learner({"run.steps=16000", "actors.count=2", "wire.endpoint=tcp://*:0"});
  const std::string endpoint = AwaitEndpoint(*learner);
  ASSERT_THAT(endpoint, HasSubstr("tcp://127.0.0.1:")) << learner->err();
  auto far = Actor(endpoint, "ada");
  auto near = StartActor();
  ExpectAllEnd(learner, far, near);
  EXPECT_THAT(learner->err(), AllOf(HasSubstr("key ada"), HasSubstr("key of this host")));
  ExpectSound(Summary());
  ExpectNothingLeft();
}

// As in a cluster job: the supervisor has no actors of its own, and they know a file, not the port.
TEST_F(KeysTest, ActorsFromElsewhereFindTheirLearnerAndTheNextByTheFileItLeaves) {
  const std::string file = (run() / "endpoint").string();
  const Strings words =
      TrainWords(Keyed({Steps(kSeconds), "actors.count=2", "wire.endpoint=tcp://*:0",
                        "wire.address=localhost", "checkpoint.every_steps=16000"}));
  auto train = Start("starling", Plus(words, {"--no-actors"}));
  const Strings way = {"--connect-file", file,
                       "--secret",       (keys() / "ada.secret").string(),
                       "--learner-key",  (keys() / "learner.public").string()};
  auto one = Start("starling-actor", way), other = Start("starling-actor", way);
  ASSERT_TRUE(AwaitCheckpoint(*train));
  EXPECT_THAT(TextOf(file), AllOf(HasSubstr("tcp://localhost:"), Not(HasSubstr(":0\n"))));
  ASSERT_TRUE(KillLearner());
  ExpectAllEnd(train, one, other);
  const json summary = Summary();
  ExpectSound(summary);
  EXPECT_EQ(summary["actors"]["started"], 2);
  EXPECT_EQ(summary["learner"]["restarted"], 1);
  EXPECT_FALSE(std::filesystem::exists(file));
  ExpectNothingLeft();
}

TEST_F(KeysTest, AHostThatNobodyKnowsIsNamed) {
  const std::string host(64, 'x');
  auto actor = Actor("tcp://" + host + ":5555", "eve", {"--connect-timeout", "0.1"});
  EXPECT_EQ(WaitFor(*actor), 1);
  EXPECT_THAT(said_, HasSubstr("no IPv4 address is known here for \"" + host + "\""));
}

TEST_F(KeysTest, WhoIsNotOnTheListIsToldSoInTheEndAndSeenByTheLearner) {
  auto learner = Learner({"run.steps=16000", "actors.count=1", "wire.endpoint=tcp://*:0"});
  const std::string endpoint = AwaitEndpoint(*learner);
  {
    const auto stranger = Actor(endpoint, "eve"),
               plain = Start("starling-actor", {"--connect", endpoint});
    EXPECT_TRUE(AwaitSaid(*learner, "is not on the list")) << learner->err();
    EXPECT_TRUE(AwaitSaid(*learner, "without a key")) << learner->err();
  }
  const Strings soon = {"--connect-timeout", "0.1"};
  EXPECT_EQ(WaitFor(*Actor(endpoint, "eve", soon)), 1);
  EXPECT_THAT(said_, AllOf(HasSubstr("no learner within"), HasSubstr("on its list")));
  EXPECT_EQ(WaitFor(*Start("starling-actor", {"--connect", endpoint, soon[0], soon[1]})), 1);
  EXPECT_THAT(said_, AllOf(HasSubstr("no learner within"), HasSubstr("--secret")));
  EXPECT_THAT(learner->err(), Not(HasSubstr("joined")));
  // Eve is admitted without a restart.
  std::filesystem::copy(keys() / "eve.public", keys() / "allowed");
  learner->Signal(SIGHUP);
  auto friendly = Actor(endpoint, "eve");
  ExpectAllEnd(learner, friendly);
}

TEST_F(KeysTest, MistakesAreFoundBeforeAnythingStarts) {
  const std::string secret = (keys() / "learner.secret").string();
  std::filesystem::permissions(secret, std::filesystem::perms(0644));
  EXPECT_EQ(Train(Keyed({"wire.endpoint=tcp://*:0"})), 2);
  EXPECT_THAT(said_, AllOf(HasSubstr(secret), HasSubstr("chmod 600")));
  EXPECT_EQ(Train({"wire.endpoint=tcp://*:0", "wire.secret=" + secret}), 2);
  EXPECT_THAT(said_, HasSubstr("wire.allowed"));
  EXPECT_FALSE(std::filesystem::exists(run()));
  auto half = Start("starling-actor", {"--connect", "tcp://127.0.0.1:5555", "--secret", secret});
  EXPECT_EQ(WaitFor(*half), 2);
  EXPECT_THAT(said_, HasSubstr("--learner-key"));
}

}  // namespace
}  // namespace starling
