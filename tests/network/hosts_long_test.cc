// A learner and its actors on hosts of their own (network namespaces) whose link goes down for a
// while.

#include "tests/network/network_fixture.h"
#include "wire/keys.h"

namespace starling {
namespace {

constexpr const char* kIp = "/sbin/ip";
constexpr const char* kLearnerAddress = "10.213.0.1";

class HostsTest : public NetworkTest, public testing::WithParamInterface<int> {
 protected:
  void SetUp() override {
    if (getuid() != 0) GTEST_SKIP() << "only root may make hosts of its own (ip netns)";
    if (!std::filesystem::exists(kIp)) GTEST_SKIP() << "there is no " << kIp << " (iproute2)";
    // 1. Two network namespaces with a link between them.
    for (const Strings& words : std::vector<Strings>{
             {"netns", "add", host(0)},
             {"netns", "add", host(1)},
             {"link", "add", link(0), "netns", host(0), "type", "veth", "peer", "name", link(1),
              "netns", host(1)},
             {"-n", host(0), "addr", "add", std::string(kLearnerAddress) + "/24", "dev", link(0)},
             {"-n", host(1), "addr", "add", "10.213.0.2/24", "dev", link(1)},
             {"-n", host(0), "link", "set", "lo", "up"},
             {"-n", host(0), "link", "set", link(0), "up"},
             {"-n", host(1), "link", "set", link(1), "up"}}) {
      std::string trouble;
      if (!Ip(words, trouble)) GTEST_SKIP() << "no hosts of our own here: " << trouble;
    }
    // 2. Keys for the learner and its actors.
    for (const char* name : {"learner", "ada"}) {
      wire::WriteKeyFiles(keys_.path(), name, wire::NewKeyPair());
    }
    std::filesystem::create_directory(keys_ / "allowed");
    std::filesystem::copy(keys_ / "ada.public", keys_ / "allowed");
    learner_prefix_ = {kIp, "netns", "exec", host(0)};
    actor_prefix_ = {kIp, "netns", "exec", host(1)};
  }
  // With a host go its links; also after a failure.
  void TearDown() override {
    for (const auto& actor : actors_) {
      actor->Signal(SIGKILL);
    }
    if (learner_) learner_->Signal(SIGKILL);
    std::string ignored;
    for (const int which : {0, 1}) Ip({"netns", "del", host(which)}, ignored);
  }

  // Unique to this process; names of links have at most 15 letters.
  static std::string host(int which) {
    return "starling-" + std::to_string(getpid()) + (which == 0 ? "-learner" : "-actors");
  }
  static std::string link(int which) {
    return "st" + std::to_string(getpid()) + (which == 0 ? "l" : "a");
  }
  bool Ip(const Strings& words, std::string& trouble) {
    Process ip(Launch{
        .program = kIp, .arguments = words, .directory = dir_.path(), .output = dir_ / "ip"});
    const bool good = ip.Wait() == 0;
    trouble = ip.err();
    return good;
  }
  void SetLink(const char* state) {
    std::string trouble;
    EXPECT_TRUE(Ip({"-n", host(0), "link", "set", link(0), state}, trouble)) << trouble;
  }
  int Alive() const {
    const json metrics = Metrics();
    return metrics.is_object() ? metrics["actors_alive"].get<int>() : 0;
  }

  TempDir keys_;
};

// Longer than the three seconds for which silence is borne, its actors are given up and join again.
TEST_P(HostsTest, ALinkThatIsDownForAWhile) {
  const std::chrono::seconds down(GetParam());
  ASSERT_TRUE(StartLearner(
      {"wire.timeout_s=3", "wire.heartbeat_ms=300", "staleness.deadline_s=2", "run.metrics_s=0.2",
       "actors.count=2", "staleness.bound=2", "wire.secret=" + (keys_ / "learner.secret").string(),
       "wire.allowed=" + (keys_ / "allowed").string()},
      std::string("tcp://") + kLearnerAddress + ":0"))
      << learner_->err();
  const std::string endpoint = fmt::format("tcp://{}:{}", kLearnerAddress, port_);
  for (int i = 0; i < 2; ++i) {
    StartActor(endpoint, {"--secret", (keys_ / "ada.secret").string(), "--learner-key",
                          (keys_ / "learner.public").string(), "--connect-timeout", "120"});
  }
  ASSERT_TRUE(AwaitJoins(2));
  ASSERT_TRUE(GoesOn());
  const std::size_t descriptors = Descriptors(learner_->pid());
  SetLink("down");
  std::this_thread::sleep_for(down);  // the fault itself
  SetLink("up");
  const auto up = std::chrono::steady_clock::now();
  EXPECT_TRUE(Until([&] { return Alive() == 2; }));
  EXPECT_TRUE(GoesOn());
  std::cout << fmt::format(
      "down {} s, at work again after {:.1f} s\n", GetParam(),
      std::chrono::duration<double>(std::chrono::steady_clock::now() - up).count());
  // The connections from before, whose other ends were never closed.
  EXPECT_TRUE(Until([&] { return Descriptors(learner_->pid()) <= descriptors; }));
  const RunFacts facts = Finish();
  EXPECT_LE(facts.max_staleness, 2u);
  if (GetParam() >= 5) {
    EXPECT_EQ(facts.joins, 4u);
  }
}

INSTANTIATE_TEST_SUITE_P(Down, HostsTest, testing::Values(1, 5, 20, 60), [](const auto& seconds) {
  return fmt::format("{}Seconds", seconds.param);
});

}  // namespace
}  // namespace starling
