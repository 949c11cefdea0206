// Which actions an env of Gymnasium gets, which masks of them Starling sees, and which spaces of
// actions it refuses.
#include <fmt/format.h>
#include <gmock/gmock.h>

#include <limits>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "envs/bridge/bridge.h"
#include "envs/registry.h"
#include "tests/envs/bridge/gym_fixture.h"
#include "tests/envs/env_bench.h"
#include "tests/envs/repeat_fixture.h"

namespace starling::envs {
namespace {

using testing::HasSubstr;

// Envs of every kind of action and of mask. An action that its space does not contain, shape and
// dtype included, is an exception. The env observes the numbers of the last action; the reward is
// their sum. After n steps the mask allows value n of each choice, modulo their number.
constexpr char kSpaces[] = R"(
import gymnasium
import numpy
from gymnasium.spaces import Box, Dict, Discrete, MultiBinary, MultiDiscrete, Tuple

KINDS = {
    "discrete": Discrete(3, start=5),
    "multi": MultiDiscrete([[2, 3], [2, 4]], start=[[1, 0], [0, -9]], dtype=numpy.int16),
    "binary": MultiBinary([2, 2]),
    "box": Box(numpy.array([-2, 0], "f"), numpy.array([6, numpy.inf], "f")),
    "box16": Box(-1, 1, (2, 2), numpy.float16),
    "box64": Box(0.1, 0.7, (1,), numpy.float64),
    "number": Box(-1, 1, ()),
    "integers": Box(0, 5, (2,), numpy.int32),
    "tuple": Tuple([Discrete(2), Discrete(2)]),
    "none": Box(-1, 1, (0,)),
    "many": MultiDiscrete([65536, 2]),
    "vast": Box(-1, 1, (65537,)),
    "wide": Box(-0.1, 0.1, (65536,)),
}

class Spaces(gymnasium.Env):
    def __init__(self, kind, mask=None, picture=False, length=100):
        self.action_space, self.mask, self.length = KINDS[kind], mask, length
        self.picture = picture
        space = Box(0, 255, (1, 4, 1), numpy.uint8) if picture else Box(-10, 10, (4,))
        if mask == "dict":
            space = Dict({"observation": space, "action_mask": MultiBinary(3)})
        self.observation_space = space

    def masks(self):
        space = self.action_space
        counts = [space.n] if isinstance(space, Discrete) else space.nvec.reshape(-1)
        parts = [numpy.arange(n) == self.steps % n for n in counts]
        return {"parts": tuple(parts), "short": parts[0][1:]}.get(
            self.mask, numpy.concatenate(parts))

    def seen(self, numbers=()):
        observation = numpy.zeros((1, 4, 1) if self.picture else 4, self.observation_space.dtype
                                  if self.mask != "dict" else "float32")
        observation.reshape(-1)[:len(numbers)] = numbers
        if self.mask == "dict":
            return {"observation": observation, "action_mask": self.masks()}, {}
        if self.mask is None or (self.mask == "once" and self.steps > 0):
            return observation, {}
        if self.mask == "running" and self.steps >= self.length:
            return observation, {}
        return observation, {"action_mask": self.masks()}

    def reset(self, seed=None, options=None):
        self.steps = 0
        return self.seen()

    def step(self, action):
        if not self.action_space.contains(action):
            raise ValueError(f"{action!r} is not in {self.action_space}")
        self.steps += 1
        numbers = numpy.reshape(action, -1)
        observation, info = self.seen(numbers)
        return observation, float(numbers.sum()), self.steps >= self.length, False, info

gymnasium.register("Spaces-v0", Spaces)
)";

class GymSpaces : public GymModuleTest {
 protected:
  GymSpaces() : GymModuleTest("starling_spaces.py", kSpaces) {}

  static EnvConfig Config(const std::string& options) {
    return GymConfig("starling_spaces:Spaces-v0", options);
  }
  // Plays `words` as the first action of an episode.
  void Play(const std::string& options, const std::vector<std::int32_t>& words) {
    frames_ = MakeGymFrames(Config(options), 1, {});
    std::vector<std::int32_t> reset(words.size());
    reset[0] = FrameEnvs::kReset;
    frames_->Advance(reset);
    frames_->Advance(words);
    EXPECT_EQ(frames_->result(0).end, End::kRunning);
  }
  const ActionSpace& actions() const { return frames_->spec().env.actions; }

  std::unique_ptr<FrameEnvs> frames_;
};

TEST_F(GymSpaces, ChoicesAreAnArrayOfTheirShapeAndDtype) {
  Play(R"({"kind": "multi"})", {1, 2, 0, 3});
  EXPECT_EQ(actions(), ActionSpace::Choices({2, 3, 2, 4}));
  EXPECT_THAT(frames_->spec().env.action_names, testing::IsEmpty());
  EXPECT_THAT(frames_->floats(0), testing::ElementsAre(2, 2, 0, -6)) << "each from its start";
  Play(R"({"kind": "binary"})", {1, 0, 0, 1});
  EXPECT_EQ(actions(), ActionSpace::Choices({2, 2, 2, 2}));
  EXPECT_THAT(frames_->floats(0), testing::ElementsAre(1, 0, 0, 1));
}

TEST_F(GymSpaces, ABoxIsAnArrayOfItsShapeAndDtype) {
  constexpr float infinite = std::numeric_limits<float>::infinity();
  Play(R"({"kind": "box"})", {WordOf(-2), WordOf(9)});
  EXPECT_EQ(actions(), ActionSpace::Box({-2, 0}, {6, infinite}));
  EXPECT_THAT(frames_->floats(0), testing::ElementsAre(-2, 9, 0, 0));
  Play(R"({"kind": "box16"})", {WordOf(-1), WordOf(0.5f), WordOf(0), WordOf(1)});
  EXPECT_THAT(frames_->floats(0), testing::ElementsAre(-1, 0.5, 0, 1));
  Play(R"({"kind": "number"})", {WordOf(-0.5f)});
  EXPECT_EQ(actions(), ActionSpace::Box({-1}, {1}));
  EXPECT_EQ(frames_->result(0).reward, -0.5);
}

// 0.1 as float32 is larger than as float64, and 0.7 is smaller.
TEST_F(GymSpaces, ABoxOfFloat64GetsNothingBeyondItsBounds) {
  for (const float bound : {0.1f, 0.7f}) {
    Play(R"({"kind": "box64"})", {WordOf(bound)});
    EXPECT_FLOAT_EQ(frames_->floats(0)[0], bound);
  }
}

TEST_F(GymSpaces, ARepeatedActionIsSoManyFrames) {
  for (const char* kind : {"multi", "box", "discrete"}) {
    EnvConfig config = Config(fmt::format(R"({{"kind": "{}", "length": 10}})", kind));
    config.repeat = 4;
    config.max_pool = true;
    const auto whole = MakeGymFrames(config, 1, {}), single = MakeGymFrames(config, 1, {});
    EXPECT_GT(ExpectTheSameFrameByFrame(*whole, *single, 40), 3) << kind;
  }
}

TEST_F(GymSpaces, AMaskIsFoundInTheInfoOrBesideTheObservation) {
  for (const char* mask : {"flat", "dict", "parts"}) {
    Play(fmt::format(R"({{"kind": "discrete", "mask": "{}"}})", mask), {2});
    EXPECT_EQ(actions().counts, std::vector<std::int32_t>{3});
    EXPECT_TRUE(actions().masked) << mask;
    EXPECT_EQ(frames_->spec().env.obs_size(), 4);
    EXPECT_THAT(frames_->floats(0), testing::ElementsAre(7, 0, 0, 0, 0, 1, 0)) << mask;
    frames_->Advance(std::vector<std::int32_t>{FrameEnvs::kReset});
    EXPECT_THAT(frames_->floats(0), testing::ElementsAre(0, 0, 0, 0, 1, 0, 0)) << mask;
  }
  for (const char* mask : {"flat", "parts"}) {
    Play(fmt::format(R"({{"kind": "multi", "mask": "{}"}})", mask), {0, 0, 0, 0});
    EXPECT_THAT(frames_->floats(0).subspan(4),
                testing::ElementsAre(0, 1, 0, 1, 0, 0, 1, 0, 1, 0, 0));
  }
}

TEST_F(GymSpaces, AMaskBehindAPictureIsBytes) {
  Play(R"({"kind": "discrete", "mask": "flat", "picture": true})", {1});
  EXPECT_THAT(frames_->bytes(0), testing::ElementsAre(6, 0, 0, 0, 0, 1, 0));
}

TEST_F(GymSpaces, MasksArePlayedByTheirPolicy) {
  EnvBench bench(MakeVecEnv(Config(R"({"kind": "multi", "mask": "flat", "length": 7})"), 2, {}));
  RandomStream random(StreamId{.seed = 1});
  for (int step = 0; step < 20; ++step) {
    for (std::size_t i = 0; i < 2; ++i) bench.DrawAction(i, random);
    const std::int32_t n = step % 7;
    EXPECT_THAT(bench.actions,
                testing::ElementsAre(n % 2, n % 3, n % 2, n % 4, n % 2, n % 3, n % 2, n % 4));
    bench.Step();
  }
  EXPECT_EQ(bench.env->replaced(), 0u);
}

TEST_F(GymSpaces, AnEpisodeThatHasTerminatedNeedsNoMask) {
  EnvBench bench(
      MakeVecEnv(Config(R"({"kind": "discrete", "mask": "running", "length": 3})"), 1, {}));
  RandomStream random(StreamId{.seed = 1});
  for (int step = 0; step < 7; ++step) {
    bench.DrawAction(0, random);
    bench.Step();
  }
  EXPECT_EQ(bench.env->replaced(), 0u);
  std::vector<EpisodeEnd> ended;
  bench.env->TakeEpisodes(ended);
  EXPECT_EQ(ended.size(), 2u);
}

TEST_F(GymSpaces, MasksThatAreMissingOrOfAnotherSizeAreToldInTheLastWords) {
  EXPECT_THAT(SpecErrorOf(Config(R"({"kind": "discrete", "mask": "short"})")),
              HasSubstr("ValueError: an action mask of [2] numbers, not [3]"));
  frames_ = MakeGymFrames(Config(R"({"kind": "discrete", "mask": "once"})"), 1, {});
  frames_->Advance(std::vector<std::int32_t>{FrameEnvs::kReset});
  testing::internal::CaptureStderr();
  frames_->Advance(std::vector<std::int32_t>{0});
  EXPECT_THAT(testing::internal::GetCapturedStderr(),
              HasSubstr("ValueError: its info holds no 'action_mask'"));
  EXPECT_EQ(frames_->result(0).end, End::kCut);
}

TEST_F(GymSpaces, TheBoundsOfTheWidestBoxFitIntoALine) {
  EXPECT_EQ(SpecOf(Config(R"({"kind": "wide"})")).actions.low, std::vector<float>(65'536, -0.1f));
}

TEST_F(GymSpaces, OtherActionsAreRefusedByTheirSpace) {
  const std::pair<const char*, const char*> cases[] = {
      {"integers", "its actions are Box(0, 5, (2,), int32); Starling takes Discrete, "},
      {"tuple", "its actions are Tuple(Discrete(2), Discrete(2)); Starling takes Discrete, "},
      {"none", "its actions are Box([], [], (0,), float32); Starling takes Discrete, "},
      {"many", "it has 65538 values in all choices together; Starling takes at most 65536"},
      {"vast", "it has 65537 numbers in an action; Starling takes at most 65536"}};
  for (const auto& [kind, sentence] : cases) {
    EXPECT_THAT(SpecErrorOf(Config(fmt::format(R"({{"kind": "{}"}})", kind))),
                testing::StartsWith(std::string("gym:starling_spaces:Spaces-v0: ") + sentence));
  }
}

TEST_F(GymSpaces, TanhNeedsABoxWithBounds) {
  const auto refusal = [](const std::string& kind) {
    EnvConfig config = Config(fmt::format(R"({{"kind": "{}"}})", kind));
    config.action_bounds = ActionBounds::kTanh;
    return SpecErrorOf(config);
  };
  EXPECT_THAT(refusal("multi"), testing::AllOf(testing::StartsWith("env.action_bounds: "),
                                               HasSubstr("has no box of actions")));
  EXPECT_THAT(refusal("box"), testing::AllOf(testing::StartsWith("env.action_bounds: "),
                                             HasSubstr("has actions without a bound")));
  EXPECT_EQ(refusal("box16"), "");
}

}  // namespace
}  // namespace starling::envs
