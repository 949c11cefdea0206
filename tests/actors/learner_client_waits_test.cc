// How an actor's end of the wire counts its waits for grants.
#include "tests/actors/learner_client_fixture.h"

namespace starling::actors {
namespace {

class LearnerClientWaitTest : public LearnerClientTest {
 protected:
  // Joins a learner that answers with these grants.
  void Join(const wire::Answer& grants) {
    learner_ = Serve({.config = ConfigWith("updates.in_flight=2")}, {grants});
    ClientOptions options = Options();
    options.clock = &fake_clock_;
    options.abandoned = [this] {
      fake_clock_.AdvanceMs(look_ms_);
      return clock_.NowMs() > begin_ms_ + kPatienceMs;
    };
    client_.emplace(std::move(options));
    ASSERT_TRUE(client_->Join() && client_->CheckNet(kFingerprint, 16));
  }
  // Spends the grant. Returns the gradient that the learner hears.
  wire::Gradient Push(const std::optional<wire::Grant>& grant) {
    EXPECT_TRUE(grant);
    const RolloutGradient gradient{
        .values = client_->NextGradientSpace(), .loss = {}, .samples = 1};
    EXPECT_TRUE(client_->Push(*grant, {.term = 1}, 0, gradient, {}));
    return learner_->NextGradient();
  }

  FakeClock fake_clock_;
  std::int64_t look_ms_ = 0;  // that every look for messages takes
  std::unique_ptr<ScriptedLearner> learner_;
  std::optional<LearnerClient> client_;
};

// Over a long way all grants come at once, and the actor waits longer for them than it works. Then
// every grant of a burst needs its weights when it comes.
TEST_F(LearnerClientWaitTest, AfterALongWaitEveryGradientOfTheBurstWantsWeights) {
  wire::Answer grants;
  for (std::uint64_t number = 1; number <= 6; ++number) grants.grants.push_back({.number = number});
  Join(grants);
  const auto wants_weights = [&](std::int64_t waits_ms, std::int64_t works_ms) {
    look_ms_ = waits_ms;
    const auto grant = client_->NextGrant();
    look_ms_ = 0;
    const bool wants = Push(grant).weights == 1;
    fake_clock_.AdvanceMs(works_ms);
    return wants;
  };
  EXPECT_FALSE(wants_weights(50, 4));  // the wait for the first grant says nothing
  EXPECT_FALSE(wants_weights(3, 4));
  EXPECT_TRUE(wants_weights(50, 4));
  EXPECT_TRUE(wants_weights(0, 4));  // it is of the same burst
  EXPECT_FALSE(wants_weights(0, 4));
  EXPECT_TRUE(wants_weights(0, 4));  // no grant is left
}

// A program that looks again and again has waited since its first look.
TEST_F(LearnerClientWaitTest, AWaitInPartsIsOneWait) {
  Join({.grants = {{.number = 1}}});
  fake_clock_.AdvanceMs(1);
  Push(client_->NextGrant());
  fake_clock_.AdvanceMs(100);  // it works
  look_ms_ = 50;
  for (int look = 0; look < 3; ++look) EXPECT_FALSE(client_->NextGrant(0));
  look_ms_ = 0;
  learner_->Say(wire::Answer{.grants = {{.number = 2}, {.number = 3}}});
  const wire::Gradient gradient = Push(client_->NextGrant());
  EXPECT_GE(gradient.wait_us, 150'000u);
  EXPECT_EQ(gradient.weights, 1u) << "it waits longer than it works: grants come from far";
}

}  // namespace
}  // namespace starling::actors
