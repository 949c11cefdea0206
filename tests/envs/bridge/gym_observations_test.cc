// What Starling observes of each of Gymnasium's spaces, and which spaces it refuses.
#include <fmt/format.h>
#include <gmock/gmock.h>

#include <algorithm>
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

using testing::ElementsAre;
using testing::HasSubstr;

// Envs of every kind of observation. After a reset an env observes the second of its kind, after a
// step the third, if there is one. "Poles-v0" is CartPole that observes each number by itself.
constexpr char kObservedSpaces[] = R"(
from collections import OrderedDict

import gymnasium
import numpy
from gymnasium.spaces import *

def box(*shape, dtype=numpy.float32, high=1):
    return Box(0, high, shape, dtype)

def ordered(**spaces):
    return OrderedDict(spaces)

bits, byte = MultiBinary(3), numpy.uint8
every_byte = numpy.arange(256, dtype=byte).reshape(16, 16)
nested = Dict(ordered(
    z=Discrete(3, start=-1),
    image=box(2, 1, 2, dtype=byte, high=255),
    a=Tuple([Box(-4, 9, (2, 2)), Dict(ordered(bits=MultiBinary(2), one=box()))])))
nested_seen = {
    "a": (numpy.ones((2, 2)), {"one": 0.5, "bits": [0, 1]}),
    "image": numpy.array([[[0, 51]], [[102, 255]]], byte), "z": 1}
two = ordered(b=box(2), a=Discrete(2))
two_seen = {"a": 1, "b": [0.25, 0.5]}

KINDS = {
    "number": (Box(-1, 1, ()), 0.5),
    "four": (box(2, 1, 2, 1), numpy.array([[[[0], [1]]], [[[0.5], [0.25]]]])),
    "four bytes": (box(1, 1, 1, 3, dtype=byte, high=255), numpy.array([[[[1, 2, 3]]]], byte)),
    "bool": (box(2, 2, dtype=numpy.bool_), numpy.array([[True, False], [False, True]])),
    "int64": (Box(-2**40, 2**20, (2,), numpy.int64), numpy.array([-2**40, 3])),
    "float64": (Box(-numpy.inf, 1e300, (2,), numpy.float64), numpy.array([0.1, 1])),
    "discrete": (Discrete(3, start=5), 6, 4),
    "multi": (MultiDiscrete([[2, 3], [1, 4]], start=[[0, -1], [9, 0]]),
              numpy.array([[1, -1], [9, 3]]), numpy.array([[2, -1], [9, 3]])),
    "bits": (MultiBinary([2, 2]), numpy.array([[1, 0], [1, 1]], numpy.int8)),
    "nested": (nested, nested_seen),
    "sorted": (Dict(dict(two)), two_seen),
    "tuple": (Tuple([Discrete(2), box(2, 2)]), (1, numpy.eye(2))),
    "keys": (Dict([(7, box()), ("\u00e9\u4e2d", box())]), {7: 1, "\u00e9\u4e2d": 0}),
    "bytes": (box(16, 16, dtype=byte, high=255), every_byte),
    "scaled": (Tuple([box(16, 16, dtype=byte, high=255), box()]), (every_byte, 0)),
    "one": (Dict({"in": Tuple([box(1, 2, dtype=byte, high=255)])}),
            {"in": (numpy.array([[3, 4]], byte),)}),
    "256": (Tuple([box()] * 256), tuple(i / 256 for i in range(256))),
    # Beside a mask.
    "masked": (Dict(ordered(**two, action_mask=bits)), {**two_seen, "action_mask": [0, 1, 1]}),
    "masked dict": (Dict(observation=Dict(two), action_mask=bits),
                    {"observation": two_seen, "action_mask": [1, 0, 1]}),
    "masked more": (Dict(observation=Dict(two), action_mask=bits, c=box()),
                    {"observation": two_seen, "action_mask": [1, 0, 1], "c": 1}),
    "masked one": (Dict(picture=box(1, 2, dtype=byte, high=255), action_mask=Tuple([bits])),
                   {"picture": numpy.array([[3, 4]], byte), "action_mask": ([0, 0, 1],)}),
    # Observations that are not of their space.
    "lacks": (nested, nested_seen, {**nested_seen, "a": (numpy.ones((2, 2)), {"bits": [0, 1]})}),
    "short": (Tuple([box(), box()]), (0, 0), (0,)),
    "flat": (Dict(two), two_seen, 3.5),
    "shape": (Dict(two), two_seen, {"a": 1, "b": [1, 2, 3]}),
    "value": (Dict(two), two_seen, {"a": -1, "b": [1, 2]}),
    "wider": (box(2, dtype=byte, high=255), numpy.zeros(2, byte), numpy.array([1, 256], "uint16")),
    "dtype": (Tuple([box(2, dtype=byte), box()]), (numpy.zeros(2, byte), 0), ([256, 1.5], 0)),
    "maskless": (Dict(**two, action_mask=bits), {**two_seen, "action_mask": [1] * 3}, two_seen),
    # Spaces that are refused.
    "text": (Text(3),),
    "text in": (Dict(ordered(a=box(), b=Tuple([box(), Text(3, charset="ab")]))),),
    "graph": (Dict(g=Graph(box(1), None)),),
    "sequence": (Tuple([box(), Sequence(box(1))]),),
    "one of": (Dict(a=box(), b=OneOf([box(1), box(2)])),),
    "none": (Dict(a=box(), b=box(3, 0)),),
    "nothing": (Dict(),),
    "nothing in": (Tuple([box(), Dict()]),),
    "only a mask": (Dict(action_mask=bits),),
    "257": (Tuple([box()] * 257),),
    "empty name": (Dict({"": box(), "a": box()}),),
    "long name": (Dict(a=Dict({"\u00e9" * 31: box()}), b=box()),),
    "equal names": (Dict({"a.b": box(), "a": Dict(b=box())}),),
    "equal keys": (Dict([(1, box()), ("1", box())]),),
    "no text": (Dict({"\ud800": box(), "a": box()}),),
    "large": (Tuple([Discrete(2**25), Discrete(2**25), box()]),),
    "large choices": (MultiDiscrete([2**25, 2**25, 1]),),
}

class Observed(gymnasium.Env):
    def __init__(self, kind, box=False, told=False, length=100):
        self.observation_space, *self.seen = KINDS[kind]
        self.action_space = Box(-1, 1, (1,)) if box else Discrete(3)
        self.info = {"action_mask": [0, 1, 0]} if told else {}
        self.length = length

    def reset(self, seed=None, options=None):
        self.steps = 0
        return self.seen[0], self.info

    def step(self, action):
        self.steps += 1
        return self.seen[-1], 0.0, self.steps >= self.length, False, self.info

class Poles(gymnasium.ObservationWrapper):
    def __init__(self):
        super().__init__(gymnasium.make("CartPole-v1"))
        low, high = self.env.observation_space.low, self.env.observation_space.high
        self.observation_space = Dict(
            [(f"number {i}", Box(low[i:i + 1], high[i:i + 1])) for i in range(4)])

    def observation(self, numbers):
        return {f"number {i}": numbers[i:i + 1] for i in range(4)}

gymnasium.register("Observed-v0", Observed)
gymnasium.register("Poles-v0", Poles)
)";

class GymObservations : public GymModuleTest {
 protected:
  GymObservations() : GymModuleTest("starling_observed.py", kObservedSpaces) {}

  // The env gets the options {"kind": kind} and those of `more`: R"(, "told": true)".
  static EnvConfig Config(const std::string& kind, const std::string& more = "") {
    return GymConfig("starling_observed:Observed-v0",
                     fmt::format(R"({{"kind": "{}"{}}})", kind, more));
  }
  static std::string Refusal(const std::string& kind, const std::string& more = "") {
    const std::string error = SpecErrorOf(Config(kind, more)),
                      env = "gym:starling_observed:Observed-v0: ";
    EXPECT_THAT(error, testing::StartsWith(env)) << kind;
    return error.substr(std::min(error.size(), env.size()));
  }
  void Begin(const std::string& kind, const std::string& more = "") {
    frames_ = MakeGymFrames(Config(kind, more), 1, {});
    frames_->Advance(std::vector<std::int32_t>{FrameEnvs::kReset});
  }
  // The last words of an env that fails in its first step.
  std::string LastWords(const std::string& kind) {
    Begin(kind);
    testing::internal::CaptureStderr();
    frames_->Advance(std::vector<std::int32_t>{0});
    EXPECT_EQ(frames_->result(0).end, End::kCut) << kind;
    return testing::internal::GetCapturedStderr();
  }
  const EnvSpec& spec() const { return frames_->spec().env; }
  std::vector<int> Shape() const { return {spec().height, spec().width, spec().channels}; }
  std::vector<float> floats() const {
    return {frames_->floats(0).begin(), frames_->floats(0).end()};
  }

  std::unique_ptr<FrameEnvs> frames_;
};

constexpr float kFloatMax = std::numeric_limits<float>::max();

TEST_F(GymObservations, BoxesOfEveryShapeAreFrames) {
  Begin("number");
  EXPECT_THAT(Shape(), ElementsAre(1, 1, 1));
  EXPECT_THAT(floats(), ElementsAre(0.5f));
  Begin("four");
  EXPECT_THAT(Shape(), ElementsAre(1, 1, 4)) << "a row, in C order";
  EXPECT_THAT(floats(), ElementsAre(0, 1, 0.5f, 0.25f));
  Begin("four bytes");
  EXPECT_THAT(Shape(), ElementsAre(1, 1, 3));
  EXPECT_THAT(frames_->bytes(0), ElementsAre(1, 2, 3));
  EXPECT_THAT(spec().entries, testing::IsEmpty());
}

TEST_F(GymObservations, BoxesOfEveryDtypeAreFloats) {
  Begin("bool");
  EXPECT_THAT(Shape(), ElementsAre(2, 2, 1));
  EXPECT_THAT(floats(), ElementsAre(1, 0, 0, 1));
  Begin("int64");
  EXPECT_THAT(floats(), ElementsAre(-0x1p40f, 3));
  EXPECT_EQ(spec().low, -0x1p40f);
  EXPECT_EQ(spec().high, 0x1p20f);
  Begin("float64");
  EXPECT_THAT(floats(), ElementsAre(0.1f, 1));
  EXPECT_EQ(spec().low, -kFloatMax);
  EXPECT_EQ(spec().high, kFloatMax);
}

TEST_F(GymObservations, ChoicesAreOneHotAndBitsAreNumbers) {
  Begin("discrete");
  EXPECT_THAT(floats(), ElementsAre(0, 1, 0));
  Begin("multi");
  EXPECT_THAT(Shape(), ElementsAre(1, 1, 10));
  EXPECT_THAT(floats(), ElementsAre(0, 1, 1, 0, 0, 1, 0, 0, 0, 1)) << "each from its start";
  Begin("bits");
  EXPECT_THAT(Shape(), ElementsAre(2, 2, 1));
  EXPECT_THAT(floats(), ElementsAre(1, 0, 1, 1));
  EXPECT_EQ(spec().low, 0);
  EXPECT_EQ(spec().high, 1);
}

TEST_F(GymObservations, ANestedSpaceIsEntriesInItsOrder) {
  Begin("nested");
  EXPECT_THAT(spec().entries, ElementsAre(ObservationEntry{"z", 1, 1, 3, 0, 1},
                                          ObservationEntry{"image", 2, 1, 2, 0, 1},
                                          ObservationEntry{"a.0", 2, 2, 1, -4, 9},
                                          ObservationEntry{"a.1.bits", 1, 1, 2, 0, 1},
                                          ObservationEntry{"a.1.one", 1, 1, 1, 0, 1}));
  EXPECT_THAT(Shape(), ElementsAre(1, 1, 14));
  EXPECT_FALSE(frames_->spec().bytes);
  EXPECT_THAT(floats(), ElementsAre(0, 0, 1, 0, 0.2f, 0.4f, 1, 1, 1, 1, 1, 0, 1, 0.5f));
  EXPECT_EQ(spec().low, -4) << "the least of all entries";
  EXPECT_EQ(spec().high, 9) << "the greatest; bytes are scaled to 1";
}

TEST_F(GymObservations, NamesAreKeys) {
  const auto names = [](const std::string& kind) {
    std::vector<std::string> all;
    for (const ObservationEntry& entry : SpecOf(Config(kind)).entries) all.push_back(entry.name);
    return all;
  };
  EXPECT_THAT(names("sorted"), ElementsAre("a", "b")) << "Gymnasium sorts a plain dict";
  EXPECT_THAT(names("tuple"), ElementsAre("0", "1"));
  EXPECT_THAT(names("keys"), ElementsAre("7", "\u00e9\u4e2d"));
  EXPECT_EQ(names("256").size(), 256u);
}

TEST_F(GymObservations, BlackjackIsThreeChoices) {
  EnvBench bench(MakeVecEnv(GymConfig("Blackjack-v1"), 1, {.seed = 2}));
  EXPECT_THAT(bench.env->spec().entries,
              ElementsAre(ObservationEntry{"0", 1, 1, 32}, ObservationEntry{"1", 1, 1, 11},
                          ObservationEntry{"2", 1, 1, 2}));
  RandomStream random(StreamId{.seed = 1});
  for (int step = 0; step < 20; ++step) {
    EXPECT_EQ(std::ranges::count(bench.seen, 1.0f), 3);
    EXPECT_EQ(std::ranges::count(bench.seen, 0.0f), 42);
    bench.DrawAction(0, random);
    bench.Step();
  }
}

// One that is alone is scaled by Screen, those of an entry by the worker.
TEST_F(GymObservations, BytesOfAnEntryAreTheBitsOfAPictureAlone) {
  const EnvBench alone(MakeVecEnv(Config("bytes"), 1, {})),
      entry(MakeVecEnv(Config("scaled"), 1, {}));
  ASSERT_EQ(alone.seen.size(), 256u);
  EXPECT_EQ(entry.seen.size(), 257u);
  EXPECT_THAT(alone.seen, testing::ElementsAreArray(entry.seen.begin(), entry.seen.end() - 1));
  EXPECT_EQ(alone.seen[51], 0.2f);
  EXPECT_EQ(entry.env->spec().high, 1);
}

TEST_F(GymObservations, ASingleEntryIsObservedAlone) {
  Begin("one");
  EXPECT_THAT(Shape(), ElementsAre(1, 2, 1));
  EXPECT_THAT(frames_->bytes(0), ElementsAre(3, 4));
  EXPECT_THAT(spec().entries, testing::IsEmpty());
  Begin("masked one");
  EXPECT_TRUE(spec().actions.masked);
  EXPECT_THAT(frames_->bytes(0), ElementsAre(3, 4, 0, 0, 1));
  EXPECT_THAT(spec().entries, testing::IsEmpty());
}

TEST_F(GymObservations, AMaskStandsBesideAnyEntries) {
  const ObservationEntry a{"a", 1, 1, 2}, b{"b", 1, 1, 2};
  Begin("masked");
  EXPECT_TRUE(spec().actions.masked);
  EXPECT_THAT(spec().entries, ElementsAre(b, a));
  EXPECT_THAT(floats(), ElementsAre(0.25f, 0.5f, 0, 1, 0, 1, 1));
  Begin("masked dict");
  EXPECT_THAT(spec().entries, ElementsAre(b, a)) << "\"observation\" is all of it";
  EXPECT_THAT(floats(), ElementsAre(0.25f, 0.5f, 0, 1, 1, 0, 1));
  Begin("masked more");
  EXPECT_THAT(spec().entries,
              ElementsAre(ObservationEntry{"observation.b", 1, 1, 2},
                          ObservationEntry{"observation.a", 1, 1, 2}, ObservationEntry{"c"}));
  EXPECT_THAT(floats(), ElementsAre(0.25f, 0.5f, 0, 1, 1, 1, 0, 1));
}

TEST_F(GymObservations, AMaskInTheInfoStandsBehindEntries) {
  Begin("tuple", R"(, "told": true)");
  EXPECT_TRUE(spec().actions.masked);
  EXPECT_THAT(spec().entries,
              ElementsAre(ObservationEntry{"0", 1, 1, 2}, ObservationEntry{"1", 2, 2, 1}));
  EXPECT_THAT(floats(), ElementsAre(0, 1, 1, 0, 0, 1, 0, 1, 0));
}

TEST_F(GymObservations, OfABoxOfActionsAMaskIsAnEntry) {
  Begin("masked", R"(, "box": true)");
  EXPECT_FALSE(spec().actions.masked);
  EXPECT_THAT(spec().entries,
              ElementsAre(ObservationEntry{"b", 1, 1, 2}, ObservationEntry{"a", 1, 1, 2},
                          ObservationEntry{"action_mask", 1, 1, 3}));
  EXPECT_THAT(floats(), ElementsAre(0.25f, 0.5f, 0, 1, 0, 1, 1));
}

TEST_F(GymObservations, ARepeatedActionIsSoManyFrames) {
  EnvConfig config = Config("nested", R"(, "length": 10)");
  config.repeat = 4;
  const auto whole = MakeGymFrames(config, 1, {}), single = MakeGymFrames(config, 1, {});
  EXPECT_GT(ExpectTheSameFrameByFrame(*whole, *single, 20), 3);
}

TEST_F(GymObservations, CartPoleByFourEntriesIsCartPoleBitForBit) {
  EnvBench whole(MakeVecEnv(GymConfig("CartPole-v1"), 2, {.seed = 5}));
  EnvBench entries(MakeVecEnv(GymConfig("starling_observed:Poles-v0"), 2, {.seed = 5}));
  EXPECT_EQ(entries.env->spec().entries.size(), 4u);
  EXPECT_EQ(entries.env->spec().obs_size(), 4);
  EXPECT_EQ(entries.env->spec().low, whole.env->spec().low);
  EXPECT_EQ(entries.env->spec().high, whole.env->spec().high);
  RandomStream random(StreamId{.seed = 1});
  int ended = 0;
  for (int step = 0; step < 200; ++step) {
    ASSERT_EQ(entries.seen, whole.seen) << "step " << step;
    for (std::size_t i = 0; i < 2; ++i) whole.DrawAction(i, random);
    whole.Step();
    entries.Step(whole.actions);
    ASSERT_EQ(entries.rewards, whole.rewards) << "step " << step;
    ASSERT_EQ(entries.ends, whole.ends) << "step " << step;
    ended += whole.ends[0] != 0;
  }
  EXPECT_GT(ended, 2);
}

TEST_F(GymObservations, WhatIsNotOfTheirSpaceIsToldInTheLastWords) {
  const std::pair<const char*, const char*> cases[] = {
      {"lacks", "ValueError: an observation without its entry \"a.1.one\""},
      {"short", "ValueError: an observation without its entry \"1\""},
      {"flat", "ValueError: an observation without its entry \"b\""},
      {"shape", "ValueError: the entry \"b\": an observation of shape (3,), not (2,)"},
      {"value", "ValueError: the entry \"a\": an observation of -1, not of 0 to 1"},
      {"dtype", "ValueError: the entry \"0\": Cannot cast array data"},
      {"wider", "ValueError: an observation of 256, which is no uint8"},
      {"maskless", "ValueError: an observation without its entry \"action_mask\""},
      {"discrete", "ValueError: an observation of 4, not of 5 to 7"},
      {"multi", "ValueError: an observation of [[2, -1], [9, 3]], beyond its space"}};
  for (const auto& [kind, words] : cases) EXPECT_THAT(LastWords(kind), HasSubstr(words));
}

constexpr char kTaken[] =
    "; Starling takes Box, Discrete, MultiDiscrete and MultiBinary that are not empty, "
    "and Dict and Tuple of these: wrap it into one of them";

TEST_F(GymObservations, OtherSpacesAreRefusedByTheirName) {
  const std::pair<const char*, const char*> cases[] = {
      {"text", "are Text(1, 3, "},
      {"text in", "hold \"b.1\", which is Text(1, 3, "},
      {"graph", "hold \"g\", which is Graph(Box("},
      {"sequence", "hold \"1\", which is Sequence(Box("},
      {"one of", "hold \"b\", which is OneOf(Box("},
      {"none", "hold \"b\", which is Box([], [], (3, 0), float32)"},
      {"nothing", "are Dict()"},
      {"nothing in", "hold \"1\", which is Dict()"}};
  for (const auto& [kind, words] : cases) {
    EXPECT_THAT(Refusal(kind),
                testing::AllOf(testing::StartsWith(std::string("its observations ") + words),
                               testing::EndsWith(kTaken)));
  }
  EXPECT_EQ(Refusal("only a mask"),
            "its observations hold nothing beside \"action_mask\"; add what is observed");
}

TEST_F(GymObservations, NamesAndNumbersOfEntriesHaveLimits) {
  std::string long_name = "a.";
  for (int i = 0; i < 31; ++i) long_name += "\u00e9";
  const std::pair<const char*, std::string> cases[] = {
      {"257",
       "its observations hold 257 entries; Starling takes at most 256: join some into one Box"},
      {"empty name", "its observations hold an entry without a name; give its key one"},
      {"long name", "its observations hold \"" + long_name +
                        "\", a name of 64 bytes; Starling takes at most 63: shorten its keys"},
      {"equal names",
       "its observations hold two entries of the name \"a.b\", its keys joined by \".\"; rename a "
       "key of one"},
      {"equal keys",
       "its observations hold two entries of the name \"1\", its keys joined by \".\"; rename a "
       "key of one"},
      {"no text",
       "its observations hold '\\ud800', a name that cannot be printed; change its keys"},
      {"large",
       "an observation of (67108865,) has 67108865 numbers; Starling takes at most 67108864"},
      {"large choices",
       "an observation of (67108865,) has 67108865 numbers; Starling takes at most 67108864"}};
  for (const auto& [kind, sentence] : cases) EXPECT_EQ(Refusal(kind), sentence);
}

}  // namespace
}  // namespace starling::envs
