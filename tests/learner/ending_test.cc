// What becomes of gradients that nobody will apply any more.
#include "tests/support/learner_fixture.h"

namespace starling::learner {
namespace {

class EndingTest : public LearnerFixture {};

TEST_F(EndingTest, AGradientThatWaitedForOthersIsAccountedFor) {
  Start("staleness.bound=0");
  const auto a = NewActor(), b = NewActor();
  const wire::Grant grant = a->NextGrant();
  a->Push(grant, 1.0f);  // held: b's does not come
  // The learner handles an actor's messages in order: once this one is refused, the gradient is held.
  a->Push(grant, 1.0f);
  EXPECT_EQ(a->NextAnswer().outcome, wire::Outcome::kNoGrant);
  Stop();
  EXPECT_EQ(counters().received, 2u);
  EXPECT_EQ(counters().applied, 0u);
  EXPECT_EQ(Dropped("no_grant"), 1u);
  EXPECT_EQ(Dropped("run_over"), 1u);
  EXPECT_EQ(counters().in_flight(), 0u);
}

}  // namespace
}  // namespace starling::learner
