// Links that are cut, stall, are slow, or garble: one actor suffers, the other trains on, and the
// first joins again.
#include "tests/network/network_fixture.h"

namespace starling {
namespace {

using std::chrono::milliseconds;
using testing::HasSubstr;
using testing::Not;

class LinkFaultsTest : public NetworkTest {
 protected:
  // A learner, an actor beside it, and one behind the proxy; all three at work.
  void StartAll(const Strings& settings = {}) {
    ASSERT_TRUE(StartLearner(Plus(Plus(kQuick, {"actors.count=2"}), settings))) << learner_->err();
    proxy_ = std::make_unique<Proxy>(port_);
    near_ = &StartActor(endpoint());
    far_ = &StartActor(proxy_->endpoint());
    ASSERT_TRUE(AwaitJoins(2));
    ASSERT_TRUE(GoesOn());
    ASSERT_GT(proxy_->forwarded(Direction::kToServer), 0u);
  }
  // The far actor is a member again, and its gradients arrive.
  void ExpectBack() {
    EXPECT_TRUE(AwaitJoins(3));
    const std::uint64_t sent = proxy_->forwarded(Direction::kToServer);
    EXPECT_TRUE(Until([&] { return proxy_->forwarded(Direction::kToServer) > sent + 100'000; }));
    EXPECT_TRUE(GoesOn());
  }

  static constexpr const char* kGone = "; at most its gradients in flight are lost, 1 left";

  std::unique_ptr<Proxy> proxy_;
  Process *near_ = nullptr, *far_ = nullptr;
};

TEST_F(LinkFaultsTest, AConnectionThatIsCutIsMadeAgain) {
  ASSERT_NO_FATAL_FAILURE(StartAll());
  for (std::size_t cut = 1; cut <= 5; ++cut) {
    proxy_->Cut();
    proxy_->Restore();
    ASSERT_TRUE(Until([&] { return proxy_->connections() > cut; }));
    const std::uint64_t sent = proxy_->forwarded(Direction::kToServer);
    ASSERT_TRUE(Until([&] { return proxy_->forwarded(Direction::kToServer) > sent + 10'000; }));
  }
  EXPECT_TRUE(GoesOn());
  Finish();
}

TEST_F(LinkFaultsTest, AnActorWhoseLinkWasCutForLongJoinsAgain) {
  ASSERT_NO_FATAL_FAILURE(StartAll());
  proxy_->Cut();
  ASSERT_TRUE(AwaitSaid(kGone));
  EXPECT_TRUE(GoesOn());
  proxy_->Restore();
  ExpectBack();
  const RunFacts facts = Finish();
  EXPECT_EQ(facts.joins, facts.deaths + 2);
}

// With bound 0 all wait for one whose link has gone, no longer than they must.
TEST_F(LinkFaultsTest, BoundZeroGoesOnWithoutAnActorThatIsCutOff) {
  ASSERT_NO_FATAL_FAILURE(StartAll({"staleness.bound=0"}));
  proxy_->Cut();
  ASSERT_TRUE(AwaitSaid(kGone));
  EXPECT_TRUE(GoesOn());
  proxy_->Restore();
  ExpectBack();
  EXPECT_EQ(Finish().max_staleness, 0u);
}

struct Stalled {
  const char* name;
  bool to_server, to_client;
};
void PrintTo(const Stalled& stalled, std::ostream* out) { *out << stalled.name; }

class StalledLinkTest : public LinkFaultsTest, public testing::WithParamInterface<Stalled> {};

// The connection stands and brings nothing: the ends that hear nothing notice it. To an actor that
// beats and hears nothing the learner sends no more than a queue holds.
TEST_P(StalledLinkTest, IsNoticedAndTheActorJoinsAgain) {
  ASSERT_NO_FATAL_FAILURE(StartAll());
  const auto& [name, to_server, to_client] = GetParam();
  const std::uint64_t before = Resident(learner_->pid());
  proxy_->Set(Direction::kToServer, {.stalled = to_server});
  proxy_->Set(Direction::kToClient, {.stalled = to_client});
  if (to_server) {
    ASSERT_TRUE(AwaitSaid("was silent for wire.timeout_s = 3"));
  }
  EXPECT_TRUE(GoesOn());
  if (to_client) {
    ASSERT_TRUE(
        Until([&] { return CountSaid(*far_, "the learner was silent for wire.timeout_s") > 0; }));
  }
  if (!to_server) ExpectGrownAtMost(before, 4'000'000);
  proxy_->SetBoth({});
  ExpectBack();
  Finish();
}

INSTANTIATE_TEST_SUITE_P(Ways, StalledLinkTest,
                         testing::Values(Stalled{"Both", true, true},
                                         Stalled{"ToTheActor", false, true},
                                         Stalled{"ToTheLearner", true, false}),
                         [](const auto& test) { return test.param.name; });

// 0.3 MB of weights, half a second each: it holds up neither the other nor the learner.
TEST_F(LinkFaultsTest, ASlowReaderIsWaitedForByNobodyAndBuffersNothing) {
  ASSERT_NO_FATAL_FAILURE(StartAll({"net.hidden=[256, 256]", "wire.timeout_s=30"}));
  const std::uint64_t before = Resident(learner_->pid());
  proxy_->Set(Direction::kToClient, {.bytes_per_s = 600'000});
  const std::uint64_t received = proxy_->forwarded(Direction::kToClient);
  ASSERT_TRUE(
      Until([&] { return proxy_->forwarded(Direction::kToClient) > received + 2'000'000; }));
  // As many messages as a queue holds would be 2.7 MB.
  ExpectGrownAtMost(before, 6'000'000);
  EXPECT_TRUE(GoesOn());
  EXPECT_EQ(CountSaid(*learner_, "was silent"), 0u);
  proxy_->Set(Direction::kToClient, {});
  const std::uint64_t sent = proxy_->forwarded(Direction::kToServer);
  ASSERT_TRUE(Until([&] { return proxy_->forwarded(Direction::kToServer) > sent + 2'000'000; }));
  Finish();
}

TEST_F(LinkFaultsTest, AFarAndNarrowLinkTrainsWithinTheBound) {
  const Strings settings = {"actors.count=2", "staleness.bound=1", Steps(16'000),
                            "wire.timeout_s=20", "staleness.deadline_s=20"};
  ASSERT_TRUE(StartLearner(Plus(kQuick, settings))) << learner_->err();
  Proxy proxy(port_);
  proxy.SetBoth({.delay = milliseconds(10), .bytes_per_s = 4'000'000});
  StartActor(proxy.endpoint());
  StartActor(proxy.endpoint());
  const RunFacts facts = AwaitEnd();
  EXPECT_LE(facts.max_staleness, 1u);
  EXPECT_EQ(facts.deaths, 0u);
}

TEST_F(LinkFaultsTest, WhatIsGarbledOnTheWayToTheLearnerIsRefusedAndNotApplied) {
  ASSERT_NO_FATAL_FAILURE(StartAll());
  proxy_->Set(Direction::kToServer, {.corrupt_from = 20'000, .corrupt_every = 30'000});
  ASSERT_TRUE(Until([&] { return Refused("checksum") >= 2; }));
  EXPECT_TRUE(GoesOn());
  EXPECT_TRUE(far_->Running());
  EXPECT_GT(proxy_->corrupted(), 0u);
  proxy_->Set(Direction::kToServer, {});
  ExpectBack();
  EXPECT_GE(Finish().frames_refused.at("checksum"), 2u);
}

TEST_F(LinkFaultsTest, WhatIsGarbledOnTheWayToAnActorIsNotComputedOn) {
  ASSERT_NO_FATAL_FAILURE(StartAll({"wire.timeout_s=60", "staleness.deadline_s=60"}));
  proxy_->Set(Direction::kToClient, {.corrupt_from = 20'000, .corrupt_every = 30'000});
  ASSERT_TRUE(Until([&] { return CountSaid(*far_, "joining again") >= 3; }));
  EXPECT_THAT(far_->err(), HasSubstr("the learner sent a damaged message (checksum)"));
  EXPECT_TRUE(GoesOn());
  EXPECT_TRUE(far_->Running());
  proxy_->Set(Direction::kToClient, {});
  ExpectBack();
  // A gradient may still be on its way when its actor has left.
  EXPECT_EQ(CountSaid(*learner_, "refused a gradient"), CountSaid(*learner_, ": unknown_actor"));
  Finish();
}

}  // namespace
}  // namespace starling
