// An actor's end of the wire, with a scripted learner at the other.
#include "actors/learner_client.h"

#include <gmock/gmock.h>

#include <array>
#include <memory>
#include <mutex>

#include "tests/actors/learner_client_fixture.h"

namespace starling::actors {
namespace {

using testing::AllOf;
using testing::HasSubstr;

// It ended between the welcome and the opening of its weights: the actor left with status 1, a
// minute later.
TEST_F(LearnerClientTest, ALearnerThatIsDoneBeforeItsWeightsAreOpenedIsHeard) {
  const auto learner = Serve({.config = PatientConfig(), .snapshot = (dir_ / "gone").string()},
                             {wire::Leave{wire::LeaveReason::kRunOver, "all steps are done"}});
  LearnerClient client(Options());
  ASSERT_TRUE(client.Join());
  EXPECT_FALSE(client.CheckNet(kFingerprint, 16));
  EXPECT_EQ(client.state(), ClientState::kRunOver);
  EXPECT_EQ(client.text(), "all steps are done");
}

// After a stop, an actor that stays waits for the next learner; after the end of the run it ends.
TEST_F(LearnerClientTest, OfALearnerThatWasToldToStopOneThatStaysIsNotTheLast) {
  for (const bool stays : {false, true}) {
    for (const auto reason : {wire::LeaveReason::kShuttingDown, wire::LeaveReason::kRunOver}) {
      const auto learner = Serve({.config = PatientConfig(), .snapshot = (dir_ / "gone").string()},
                                 {wire::Leave{reason, "interrupted"}});
      ClientOptions options = Options();
      options.stays = stays;
      LearnerClient client(options);
      ASSERT_TRUE(client.Join());
      EXPECT_FALSE(client.CheckNet(kFingerprint, 16));
      const bool waits = stays && reason == wire::LeaveReason::kShuttingDown;
      EXPECT_EQ(client.state(), waits ? ClientState::kLost : ClientState::kRunOver);
    }
  }
}

// Such an actor ended as one that was stopped, and a cluster started another in vain.
TEST_F(LearnerClientTest, WhatItHearsOfTheEndCountsAlsoIfItIsToldToStop) {
  const auto learner = Serve({.config = PatientConfig(), .snapshot = (dir_ / "gone").string()},
                             {wire::Leave{wire::LeaveReason::kRunOver, "all steps are done"}});
  const LearnerClient* heard = nullptr;
  ClientOptions options = Options();
  options.abandoned = [&] { return heard && heard->state() == ClientState::kRunOver; };
  LearnerClient client(options);
  heard = &client;
  ASSERT_TRUE(client.Join());
  EXPECT_FALSE(client.CheckNet(kFingerprint, 16));
  EXPECT_EQ(client.state(), ClientState::kRunOver);
}

TEST_F(LearnerClientTest, ALearnerThatIsGoneWithoutAWordIsLookedForAgain) {
  const auto learner = Serve({.config = PatientConfig(), .snapshot = (dir_ / "gone").string()});
  LearnerClient client(Options());
  ASSERT_TRUE(client.Join());
  testing::internal::CaptureStderr();
  EXPECT_FALSE(client.CheckNet(kFingerprint, 16));
  EXPECT_THAT(testing::internal::GetCapturedStderr(), HasSubstr((dir_ / "gone").string()));
  EXPECT_EQ(client.state(), ClientState::kLost);
}

// Not found here; elsewhere it may be the memory that is not there.
TEST_F(LearnerClientTest, WithoutItsBuffersAnActorSendsItsGradients) {
  const wire::SnapshotWriter snapshot(dir_ / "weights", 16, kFingerprint, 1);
  const auto learner = Serve({.config = PatientConfig(),
                              .snapshot = (dir_ / "weights").string(),
                              .buffers = (dir_ / "gone").string()});
  LearnerClient client(Options());
  ASSERT_TRUE(client.Join());
  testing::internal::CaptureStderr();
  EXPECT_TRUE(client.CheckNet(kFingerprint, 16));
  EXPECT_THAT(testing::internal::GetCapturedStderr(),
              AllOf(HasSubstr((dir_ / "gone").string()), HasSubstr("are sent instead")));
  const RolloutGradient gradient{.values = client.NextGradientSpace(), .loss = {}, .samples = 1};
  ASSERT_EQ(gradient.values.size(), 16u);
  EXPECT_TRUE(client.Push({.number = 1}, {.term = 1}, 0, gradient, {}));
  EXPECT_TRUE(learner->HeardGradient(16));
}

// The weights that `client` has received, and their version.
class Weights {
 public:
  std::uint64_t Refresh(LearnerClient& client, std::uint64_t version) {
    EXPECT_TRUE(client.Refresh(version, values_, meta_));
    EXPECT_THAT(values_, testing::Each(static_cast<float>(meta_.version)));
    return meta_.version;
  }
  const wire::SnapshotMeta& meta() const { return meta_; }

 private:
  std::vector<float> values_ = std::vector<float>(16);
  wire::SnapshotMeta meta_;
};

TEST_F(LearnerClientTest, WeightsThatAreTooOldAreAskedForAgain) {
  const wire::Answer grants{.grants = {{.number = 1, .version = 0}}};
  const auto learner = Serve({.config = ConfigWith("updates.in_flight=2")}, {grants});
  LearnerClient client(Options());
  ASSERT_TRUE(client.Join() && client.CheckNet(kFingerprint, 16));
  Weights weights;
  EXPECT_GE(weights.Refresh(client, 12), 12u);  // 11 came first
  EXPECT_GE(learner->fetches(), 2u);
}

// With two grants, the weights for the second come in while the first one's gradient is computed.
TEST_F(LearnerClientTest, TheWeightsForAGrantThatIsHereAreAskedForAhead) {
  const wire::Answer grants{.grants = {{.number = 1, .version = 1}, {.number = 2, .version = 12}}};
  const auto learner =
      Serve({.config = ConfigWith("updates.in_flight=2", "wire.fetch_after_ms=60000")}, {grants});
  LearnerClient client(Options());
  ASSERT_TRUE(client.Join() && client.CheckNet(kFingerprint, 16));
  Weights weights;
  ASSERT_EQ(client.NextGrant()->version, 1u);
  EXPECT_EQ(weights.Refresh(client, 1), 11u);
  client.Prefetch(weights.meta());
  client.Prefetch(weights.meta());  // they are on their way
  ASSERT_EQ(client.NextGrant()->version, 12u);
  EXPECT_EQ(weights.Refresh(client, 12), 12u);
  client.Prefetch(weights.meta());  // there is no grant to ask for
  EXPECT_EQ(learner->fetches(), 2u);
}

TEST_F(LearnerClientTest, HeldWeightsThatWillDoAreNotAskedForAhead) {
  const wire::Answer grants{.grants = {{.number = 1, .version = 1}, {.number = 2, .version = 11}}};
  const auto learner =
      Serve({.config = ConfigWith("updates.in_flight=2", "wire.fetch_after_ms=60000")}, {grants});
  LearnerClient client(Options());
  ASSERT_TRUE(client.Join() && client.CheckNet(kFingerprint, 16));
  Weights weights;
  ASSERT_TRUE(client.NextGrant());
  EXPECT_EQ(weights.Refresh(client, 1), 11u);
  client.Prefetch(weights.meta());
  EXPECT_EQ(weights.Refresh(client, 11), 11u);
  EXPECT_EQ(learner->fetches(), 1u);
}

TEST_F(LearnerClientTest, WeightsThatFollowAnAnswerAreNotAskedFor) {
  const wire::Answer grant{.grants = {{.number = 1, .version = 5}}, .weights = 1};
  const auto learner =
      Serve({.config = ConfigWith("updates.in_flight=1", "wire.fetch_after_ms=60000")},
            {grant, wire::Weights{}});
  LearnerClient client(Options());
  ASSERT_TRUE(client.Join() && client.CheckNet(kFingerprint, 16));
  ASSERT_EQ(client.NextGrant()->version, 5u);
  Weights weights;
  EXPECT_EQ(weights.Refresh(client, 5), 5u);
  EXPECT_EQ(learner->fetches(), 0u);
  EXPECT_EQ(weights.Refresh(client, 6), 11u);  // had they been lost
}

// It will wait for the next grant, and so for its weights, unless it has a grant left or the
// weights lie in shared memory.
TEST_F(LearnerClientTest, AGradientWantsWeightsBehindTheNextGrantIfThereIsNoGrantLeft) {
  const wire::SnapshotWriter snapshot(dir_ / "weights", 16, kFingerprint, 1);
  const wire::Answer grants{.grants = {{.number = 1, .version = 0}, {.number = 2, .version = 0}}};
  for (const bool shared : {false, true}) {
    const auto learner = Serve({.config = ConfigWith("updates.in_flight=2"),
                                .snapshot = shared ? (dir_ / "weights").string() : ""},
                               {grants});
    LearnerClient client(Options());
    ASSERT_TRUE(client.Join() && client.CheckNet(kFingerprint, 16));
    for (const std::uint32_t wanted : {0, 1}) {
      const auto grant = client.NextGrant();
      ASSERT_TRUE(grant);
      const RolloutGradient gradient{
          .values = client.NextGradientSpace(), .loss = {}, .samples = 1};
      ASSERT_TRUE(client.Push(*grant, {.term = 1}, 0, gradient, {}));
      EXPECT_EQ(learner->NextGradient().weights, shared ? 0 : wanted);
    }
  }
}

// The next gradient of an unroll computes on newer weights, although its grant is here.
TEST_F(LearnerClientTest, AGradientOfMoreThanOneOfAnUnrollAlwaysWantsWeights) {
  const wire::Answer grants{.grants = {{.number = 1, .version = 0}, {.number = 2, .version = 0}}};
  const auto learner =
      Serve({.config = ConfigWith("updates.in_flight=2", "updates.epochs=2")}, {grants});
  LearnerClient client(Options());
  ASSERT_TRUE(client.Join() && client.CheckNet(kFingerprint, 16));
  for (int i = 0; i < 2; ++i) {
    const auto grant = client.NextGrant();
    ASSERT_TRUE(grant);
    const RolloutGradient gradient{.values = client.NextGradientSpace(), .loss = {}, .samples = 1};
    ASSERT_TRUE(client.Push(*grant, {.term = 1}, 0, gradient, {}));
    EXPECT_EQ(learner->NextGradient().weights, 1u);
  }
}

// With a delay an unroll is played by the version of its grant, also if there are newer ones.
TEST_F(LearnerClientTest, WithADelayTheWeightsAreExactlyThoseOfTheGrant) {
  wire::SnapshotWriter snapshot(dir_ / "weights", 16, kFingerprint, 1, 4);
  const auto publish = [&](std::uint64_t version) {
    snapshot.Begin(version);
    snapshot.Write(version, 0, std::vector<float>(16, static_cast<float>(version)));
    snapshot.Publish({.term = 1, .version = version});
  };
  for (const std::uint64_t version : {1, 2, 3}) publish(version);
  const auto learner = Serve({.config = ConfigWith("staleness.delay=2", "actors.count=3"),
                              .snapshot = (dir_ / "weights").string()});
  LearnerClient client(Options());
  ASSERT_TRUE(client.Join() && client.CheckNet(kFingerprint, 16));
  Weights weights;
  EXPECT_EQ(weights.Refresh(client, 2), 2u);
  EXPECT_EQ(weights.Refresh(client, 2), 2u) << "it holds them";
  EXPECT_EQ(weights.Refresh(client, 3), 3u);
  EXPECT_EQ(weights.Refresh(client, 1), 1u);
  for (const std::uint64_t version : {4, 5}) publish(version);
  // The grant of a version that is not kept any more has ended.
  EXPECT_EQ(weights.Refresh(client, 1), 1u);
  EXPECT_EQ(weights.Refresh(client, 2), 2u);
  publish(6);
  EXPECT_EQ(weights.Refresh(client, 1), 6u);
}

// Every actor was woken by every version, most of them while they played.
TEST_F(LearnerClientTest, VersionsWakeAnActorOnlyWhileItWaitsForOne) {
  wire::SnapshotWriter snapshot(dir_ / "weights", 16, kFingerprint, 1);
  const auto publish = [&](std::uint64_t version) {
    snapshot.Begin(version);
    snapshot.Write(version, 0, std::vector<float>(16, static_cast<float>(version)));
    snapshot.Publish({.term = 1, .version = version});
  };
  publish(1);
  wire::Context context;
  wire::BeaconSender beacon(context, Endpoint("beacon"));
  const auto listened_to = [&](std::int64_t timeout_ms) {
    std::array<wire::PollItem, 1> item{{{.socket = &beacon}}};
    return wire::Poll(item, timeout_ms);
  };
  // Neither signs of life nor fetching wake it.
  const auto learner =
      Serve({.config = ConfigWith("wire.heartbeat_ms=60000", "wire.fetch_after_ms=60000"),
             .snapshot = (dir_ / "weights").string(),
             .beacon = beacon.endpoint()});
  LearnerClient client(Options());
  ASSERT_TRUE(client.Join() && client.CheckNet(kFingerprint, 16));
  Weights weights;
  EXPECT_EQ(weights.Refresh(client, 1), 1u);
  EXPECT_FALSE(listened_to(0)) << "the version was there";

  std::thread next([&] {
    EXPECT_TRUE(listened_to(kPatienceMs));
    publish(2);
    beacon.Publish({.term = 1, .version = 2});
  });
  EXPECT_EQ(weights.Refresh(client, 2), 2u);
  next.join();
}

// A learner killed behind a port of its own choice: its successor has another one.
TEST_F(LearnerClientTest, ALearnerThatStartsAnewElsewhereIsFoundLongBeforeTheTimeout) {
  MoveTo(Endpoint("first"));
  const ScriptedLearner first(Endpoint("first"), {.config = PatientConfig()});
  LearnerClient client(Options());
  ASSERT_TRUE(client.Join());
  ASSERT_TRUE(client.CheckNet(kFingerprint, 16));
  MoveTo(Endpoint("second"));
  EXPECT_FALSE(client.NextGrant());  // the first one still answers, and grants nothing
  EXPECT_EQ(client.state(), ClientState::kLost);
  const ScriptedLearner second(Endpoint("second"), {.config = PatientConfig()});
  EXPECT_TRUE(client.Join());
}

// ---- states

std::string LongState() {
  std::string state(2 * wire::kMaxStatePart + 5, 'a');
  state[wire::kMaxStatePart] = '\0';
  return state;
}

TEST_F(LearnerClientTest, AStateIsFetchedInParts) {
  const std::string state = LongState();
  const auto learner = Serve({.config = PatientConfig(), .life = 65'537, .state = state.size()});
  learner->Keep(state);
  LearnerClient client(Options());
  ASSERT_TRUE(client.Join());
  EXPECT_EQ(client.life(), 65'537u);
  ASSERT_TRUE(client.has_state());
  const auto fetched = client.FetchState();
  ASSERT_TRUE(fetched);
  EXPECT_EQ(std::string(reinterpret_cast<const char*>(fetched->data()), fetched->size()), state);
}

TEST_F(LearnerClientTest, ItsStateIsSentBeforeAGrantIsSpent) {
  const wire::Answer answer{.grants = {{.number = 1, .version = 5}}, .cut = 5};
  const auto learner = Serve({.config = PatientConfig()}, {answer});
  LearnerClient client(Options());
  int saved = 0;
  client.SaveWith([&](std::vector<std::byte>& to) {
    ++saved;
    const std::string state = LongState();
    const auto bytes = std::as_bytes(std::span(state));
    to.assign(bytes.begin(), bytes.end());
  });
  ASSERT_TRUE(client.Join() && client.CheckNet(kFingerprint, 16));
  ASSERT_TRUE(client.NextGrant());
  EXPECT_EQ(saved, 1);
  while (!learner->HeardState()) client.Beat();
  EXPECT_EQ(*learner->HeardState(), LongState());
}

// Grant 1 is of version 5, whose weights come with it; grant 2 needs newer ones.
TEST_F(LearnerClientTest, AGrantIsTakenAheadIfItsWeightsAreHere) {
  const wire::Answer answer{.grants = {{.number = 1, .version = 5}, {.number = 2, .version = 11}}};
  const auto learner = Serve({.config = PatientConfig()}, {wire::Weights{}, answer});
  LearnerClient client(Options());
  ASSERT_TRUE(client.Join() && client.CheckNet(kFingerprint, 16));
  std::vector<float> weights(16);
  wire::SnapshotMeta meta;
  const auto next_ahead = [&] {
    std::optional<wire::Grant> grant;
    while (!grant && client.state() == ClientState::kJoined) grant = client.GrantAhead(meta);
    return grant ? grant->number : 0;
  };
  EXPECT_EQ(next_ahead(), 1u);
  ASSERT_TRUE(client.Refresh(5, weights, meta));
  EXPECT_EQ(learner->fetches(), 0u);
  EXPECT_FALSE(client.GrantAhead(meta)) << "its weights would be waited for";
  client.Prefetch(meta);
  EXPECT_EQ(next_ahead(), 2u);
  EXPECT_EQ(learner->fetches(), 1u);
  EXPECT_FALSE(client.GrantAhead(meta)) << "there is none";
}

TEST_F(LearnerClientTest, WhileItsStateIsAskedForNoGrantIsTakenAhead) {
  const wire::Answer answer{.grants = {{.number = 1, .version = 5}}, .cut = 5};
  const auto learner = Serve({.config = PatientConfig()}, {answer});
  LearnerClient client(Options());
  int saved = 0;
  client.SaveWith([&](std::vector<std::byte>&) { ++saved; });
  ASSERT_TRUE(client.Join() && client.CheckNet(kFingerprint, 16));
  // The weights that it asks for come behind the answer.
  Weights weights;
  EXPECT_EQ(weights.Refresh(client, 11), 11u);
  EXPECT_FALSE(client.GrantAhead({.term = 1, .version = 11}));
  EXPECT_EQ(saved, 0) << "a gradient may be under way";
  ASSERT_TRUE(client.NextGrant());
  EXPECT_EQ(saved, 1);
}

TEST_F(LearnerClientTest, AnActorThatMustLeaveDoesNotWaitForAnEnvironment) {
  const auto learner = Serve({.config = PatientConfig()});
  bool asked = false;
  ClientOptions options = Options();
  options.abandoned = [&] { return asked; };
  LearnerClient client(options);
  ASSERT_TRUE(client.Join());
  client.BeatWaiting(600'000);  // it may stay
  asked = true;
  client.BeatWaiting(1000);
  EXPECT_EQ(client.state(), ClientState::kJoined);
  EXPECT_THROW(client.BeatWaiting(1001), AskedToLeave);
  EXPECT_EQ(client.state(), ClientState::kStopped);
}

TEST_F(LearnerClientTest, AnEnvThatCannotBeSavedIsAnEmptyState) {
  const wire::Answer answer{.grants = {{.number = 1, .version = 5}}, .cut = 5};
  const auto learner = Serve({.config = PatientConfig()}, {answer});
  LearnerClient client(Options());
  client.SaveWith([](std::vector<std::byte>&) {});
  ASSERT_TRUE(client.Join() && client.CheckNet(kFingerprint, 16));
  ASSERT_TRUE(client.NextGrant());
  while (!learner->HeardState()) client.Beat();
  EXPECT_EQ(*learner->HeardState(), "");
}

}  // namespace
}  // namespace starling::actors
