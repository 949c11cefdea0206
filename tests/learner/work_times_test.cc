// The times of a run in its status.
#include "tests/support/learner_fixture.h"

namespace starling::learner {
namespace {

class WorkTimesTest : public LearnerFixture {};

TEST_F(WorkTimesTest, TheStatusReportsTheTimesOfActorsAndLearner) {
  Start();
  const auto actor = NewActor();
  for (int i = 0; i < 2; ++i) {
    const wire::Grant grant = actor->NextGrant();
    actor->header.version = grant.version;
    actor->Send(wire::Gradient{.grant = grant.number,
                               .samples = 4,
                               .wait_us = 1'000'000,
                               .refresh_us = 2'000'000,
                               .act_us = 3'000'000,
                               .gradient_us = 4'000'000,
                               .push_us = 5'000'000},
                std::vector<float>(kFloats, 0.5f));
  }
  actor->NextGrant();  // both are applied
  Stop();
  const auto& time = final_status_["time"];
  EXPECT_EQ(time["actors"].dump(),
            R"({"wait":2.0,"refresh":4.0,"act":6.0,"gradient":8.0,"push":10.0})");
  for (const char* key : {"receive", "dispatch", "idle", "lanes"}) {
    EXPECT_GT(time["learner"][key].get<double>(), 0) << key;
  }
}

}  // namespace
}  // namespace starling::learner
