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
  Strings Keyed(Strings settings) const {
    for (const std::string& setting : {"wire.secret=" + (keys() / "learner.secret").string(),
                                       "wire.allowed=" + (keys() / "allowed").string()}) {
      settings.push_back(setting);
    }
    return settings;
  }
  std::unique_ptr<Process> Learner(const Strings& settings) {
    Strings words = TrainWords(Keyed(settings));
    words.erase(words.begin());  // "train"
    return Start("starling-learner", words);
  }
  // As on another host: it knows nothing but the endpoint and its keys.
  std::unique_ptr<Process> Actor(const std::string& endpoint, const std::string& name,
                                 const Strings& more = {}) {
    Strings words = {"--connect",     endpoint,
                     "--secret",      (keys() / (name + ".secret")).string(),
                     "--learner-key", (keys() / "learner.public").string()};
    words.insert(words.end(), more.begin(), more.end());
    return Start("starling-actor", words);
  }
  // "tcp://127.0.0.1:PORT"; "" if it did not come up.
  std::string AwaitEndpoint(Process& learner) {
    const std::string before = "listening on ";
    Eventually([&] {
      return learner.err().find('\n', learner.err().find(before)) != std::string::npos ||
             !learner.Running();
    });
    const std::string said = learner.err();
    const std::size_t at = said.find(before);
    if (at == std::string::npos) return "";
    const std::size_t begin = at + before.size();
    return said.substr(begin, said.find_first_of("\n ;,", begin) - begin);
  }

  TempDir keys_;
};

TEST_F(KeysTest, ActorsOfOtherHostsTrainWithOneThatFoundItself) {
  auto learner = Learner({"run.steps=16000", "actors.count=2", "wire.endpoint=tcp://*:0"});
  const std::string endpoint = AwaitEndpoint(*learner);
  ASSERT_THAT(endpoint, HasSubstr("tcp://127.0.0.1:")) << learner->err();
  auto far = Actor(endpoint, "ada");
  auto near =
      Start("starling-actor", {"--run-dir", run().string(), "--runtime-dir", runtime().string()});
  EXPECT_EQ(WaitFor(*learner), 0) << said_;
  EXPECT_THAT(learner->err(), AllOf(HasSubstr("key ada"), HasSubstr("key of this host")));
  EXPECT_EQ(WaitFor(*far), 0) << said_;
  EXPECT_EQ(WaitFor(*near), 0) << said_;
  ExpectSound(Summary());
  ExpectNothingLeft();
}

// As in a cluster job: the supervisor has no actors of its own, and they know a file, not the port.
TEST_F(KeysTest, ActorsFromElsewhereFindTheirLearnerAndTheNextByTheFileItLeaves) {
  const std::string file = (run() / "endpoint").string();
  Strings words = TrainWords(Keyed({Steps(kSeconds), "actors.count=2", "wire.endpoint=tcp://*:0",
                                    "wire.address=localhost", "checkpoint.every_steps=16000"}));
  words.push_back("--no-actors");
  auto train = Start("starling", words);
  const Strings way = {"--connect-file", file,
                       "--secret",       (keys() / "ada.secret").string(),
                       "--learner-key",  (keys() / "learner.public").string()};
  auto one = Start("starling-actor", way), other = Start("starling-actor", way);
  ASSERT_TRUE(AwaitCheckpoint(*train));
  EXPECT_THAT(TextOf(file), AllOf(HasSubstr("tcp://localhost:"), Not(HasSubstr(":0\n"))));
  ASSERT_TRUE(KillLearner());
  EXPECT_EQ(WaitFor(*train), 0) << said_;
  EXPECT_EQ(WaitFor(*one), 0) << said_;
  EXPECT_EQ(WaitFor(*other), 0) << said_;
  const json summary = Summary();
  ExpectSound(summary);
  EXPECT_EQ(summary["actors"]["started"], 2);
  EXPECT_EQ(summary["learner"]["restarted"], 1);
  EXPECT_FALSE(std::filesystem::exists(file));
  ExpectNothingLeft();
}

// Its gradients are larger than all other messages.
TEST_F(KeysTest, ALargeNetTrains) {
  auto learner = Learner(
      {"run.steps=4000", "actors.count=1", "wire.endpoint=tcp://*:0", "net.hidden=[512, 512]"});
  auto far = Actor(AwaitEndpoint(*learner), "ada");
  EXPECT_EQ(WaitFor(*learner), 0) << said_;
  EXPECT_EQ(WaitFor(*far), 0) << said_;
}

TEST_F(KeysTest, TheSupervisorsActorsNeedNoKeys) {
  EXPECT_EQ(Train(Keyed({"run.steps=16000", "actors.count=2", "wire.endpoint=tcp://*:0"})), 0)
      << said_;
  ExpectSound(Summary());
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
    EXPECT_TRUE(Eventually([&] {
      const std::string said = learner->err();
      return said.find("is not on the list") != std::string::npos &&
             said.find("without a key") != std::string::npos;
    })) << learner->err();
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
  EXPECT_EQ(WaitFor(*learner), 0) << said_;
  EXPECT_EQ(WaitFor(*friendly), 0) << said_;
}

TEST_F(KeysTest, MistakesAreFoundBeforeAnythingStarts) {
  const std::string secret = (keys() / "learner.secret").string();
  const auto mistake = [&](const Strings& settings) {
    EXPECT_EQ(Train(settings), 2) << said_;
    EXPECT_FALSE(std::filesystem::exists(run()));
    return said_;
  };
  EXPECT_THAT(mistake({"wire.endpoint=tcp://*:0"}),
              AllOf(HasSubstr("no encryption"), HasSubstr("wire.secret")));
  EXPECT_THAT(mistake({"wire.endpoint=tcp://*:0", "wire.secret=" + secret}),
              HasSubstr("wire.allowed"));
  EXPECT_THAT(mistake(Keyed({})), HasSubstr("only tcp has keys"));
  std::filesystem::permissions(secret, std::filesystem::perms(0644));
  EXPECT_THAT(mistake(Keyed({"wire.endpoint=tcp://*:0"})),
              AllOf(HasSubstr(secret), HasSubstr("chmod 600")));
  std::filesystem::remove(secret);
  EXPECT_THAT(mistake(Keyed({"wire.endpoint=tcp://*:0"})), HasSubstr("cannot be read"));
  auto actor = Start("starling-actor", {"--connect", "tcp://10.0.0.1:5555"});
  EXPECT_EQ(WaitFor(*actor), 2);
  EXPECT_THAT(said_, HasSubstr("--secret"));
  auto half = Start("starling-actor", {"--connect", "tcp://127.0.0.1:5555", "--secret", secret});
  EXPECT_EQ(WaitFor(*half), 2);
  EXPECT_THAT(said_, HasSubstr("--learner-key"));
}

}  // namespace
}  // namespace starling
