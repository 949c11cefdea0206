// A Gymnasium env of the user's own: how it is played, and what its mistakes cost.
#include <gmock/gmock.h>

#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "envs/bridge/bridge.h"
#include "envs/registry.h"
#include "tests/envs/bridge/gym_fixture.h"
#include "tests/envs/repeat_fixture.h"

namespace starling::envs {
namespace {

using testing::HasSubstr;

// A user's own env: observes (last action, steps) twice, as whole numbers; its actions are 5, 6 and
// 7. With the option "breaks" it raises: at that step, at a reset (-1), or when it is made (-2).
// The other options replace its spaces.
constexpr char kOwnEnv[] = R"(
import gymnasium
import numpy

class Mine(gymnasium.Env):
    action_space = gymnasium.spaces.Discrete(3, start=5)
    observation_space = gymnasium.spaces.Box(-numpy.inf, 9, (2, 2), numpy.float64)

    def __init__(self, breaks=0, shape=(2, 2), actions=0, box=None, field=0):
        self.breaks, self.shape = breaks, shape
        if actions:
            self.action_space = gymnasium.spaces.Discrete(actions)
        if box:
            self.observation_space = gymnasium.spaces.Box(0, 1, box)
        if field:
            self.observation_space = gymnasium.spaces.Discrete(field)
        if breaks == -2:
            raise ValueError("it does not want to\n" * 1000)

    def reset(self, seed=None, options=None):
        self.seen = [0, 0]
        if self.breaks == -1:
            raise ValueError("it broke at once")
        return numpy.resize(self.seen, (2, 2)), {}

    def step(self, action):
        self.seen = [action, self.seen[1] + 1]
        if self.seen[1] == self.breaks:
            raise ValueError("it broke")
        return numpy.resize(self.seen, self.shape), action / 2, False, False, {}

gymnasium.register("Mine-v0", Mine)
)";

class OwnEnv : public GymModuleTest {
 protected:
  OwnEnv() : GymModuleTest("starling_own_env.py", kOwnEnv) {}
};

TEST_F(OwnEnv, IsPlayed) {
  const auto envs = MakeGymFrames(GymConfig("starling_own_env:Mine-v0"), 1, {});
  const EnvSpec& spec = envs->spec().env;
  EXPECT_EQ(spec.height, 2);
  EXPECT_EQ(spec.width, 2);
  EXPECT_EQ(spec.channels, 1);
  EXPECT_EQ(spec.actions.values(), 3);
  EXPECT_EQ(spec.low, std::numeric_limits<float>::lowest());
  EXPECT_EQ(spec.high, 9);
  envs->Advance(std::vector<std::int32_t>{FrameEnvs::kReset});
  envs->Advance(std::vector<std::int32_t>{2});
  EXPECT_EQ(envs->result(0).reward, 3.5f);  // action 7
  EXPECT_THAT(envs->floats(0), testing::ElementsAre(7, 1, 7, 1));
}

TEST_F(OwnEnv, AnExceptionCostsAnEpisode) {
  const auto envs = MakeGymFrames(GymConfig("starling_own_env:Mine-v0", R"({"breaks": 2})"), 1, {});
  envs->Advance(std::vector<std::int32_t>{FrameEnvs::kReset});
  envs->Advance(std::vector<std::int32_t>{0});
  testing::internal::CaptureStderr();
  envs->Advance(std::vector<std::int32_t>{0});
  EXPECT_THAT(testing::internal::GetCapturedStderr(),
              HasSubstr("ended with exit status 1, its last words \"ValueError: it broke\""));
  EXPECT_EQ(envs->result(0).end, End::kCut);
  envs->Advance(std::vector<std::int32_t>{FrameEnvs::kReset});
  EXPECT_EQ(envs->result(0).end, End::kRunning);
}

TEST_F(OwnEnv, ARepeatedActionIsSoManyFrames) {
  EnvConfig config = GymConfig("starling_own_env:Mine-v0", R"({"max_episode_steps": 10})");
  config.repeat = 4;
  config.max_pool = true;
  const auto whole = MakeGymFrames(config, 1, {}), single = MakeGymFrames(config, 1, {});
  EXPECT_GT(ExpectTheSameFrameByFrame(*whole, *single, 40), 3);
}

TEST_F(OwnEnv, WhoseResetFailsIsRefusedBeforeAnythingStarts) {
  EXPECT_THAT(SpecErrorOf(GymConfig("starling_own_env:Mine-v0", R"({"breaks": -1})")),
              testing::AllOf(HasSubstr("tried before anything starts"),
                             HasSubstr("\"ValueError: it broke at once\"; fix the env")));
}

TEST_F(OwnEnv, ALongMistakeIsOneLine) {
  const std::string error = SpecErrorOf(GymConfig("starling_own_env:Mine-v0", R"({"breaks": -2})"));
  EXPECT_THAT(error, testing::AllOf(HasSubstr("ValueError: it does not want to it does not"),
                                    testing::Not(HasSubstr("\n"))));
  EXPECT_LT(error.size(), 600u);
}

// A list of 10^9 names, or the bounds of so many numbers, once took gigabytes and a minute.
TEST_F(OwnEnv, SpacesThatAreTooLargeAreRefusedByTheirSize) {
  const std::pair<const char*, const char*> cases[] = {
      {R"({"actions": 1000000000})", "it has 1000000000 actions; Starling takes at most 65536"},
      {R"({"field": 1000000000})",
       "an observation of (1000000000,) has 1000000000 numbers; Starling takes at most 67108864"},
      {R"({"box": [30000, 30000]})",
       "an observation of (30000, 30000) has 900000000 numbers; Starling takes at most 67108864"},
  };
  for (const auto& [options, sentence] : cases) {
    EXPECT_EQ(SpecErrorOf(GymConfig("starling_own_env:Mine-v0", options)),
              std::string("gym:starling_own_env:Mine-v0: ") + sentence);
  }
}

TEST_F(OwnEnv, AnObservationOfAnotherShapeIsNotSpreadOverTheFrame) {
  const auto envs =
      MakeGymFrames(GymConfig("starling_own_env:Mine-v0", R"({"shape": [2]})"), 1, {});
  envs->Advance(std::vector<std::int32_t>{FrameEnvs::kReset});
  testing::internal::CaptureStderr();
  envs->Advance(std::vector<std::int32_t>{0});
  EXPECT_THAT(testing::internal::GetCapturedStderr(),
              HasSubstr("an observation of shape (2,), not (2, 2)"));
  EXPECT_EQ(envs->result(0).end, End::kCut);
}

// The policy's 0.5 is the torque 1 of at most 2.

}  // namespace
}  // namespace starling::envs
