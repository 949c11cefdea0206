#include "envs/bridge/bridge.h"

#include <fmt/format.h>
#include <gmock/gmock.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <utility>
#include <vector>

#include "envs/bridge/python.h"
#include "envs/registry.h"
#include "tests/envs/bridge/gym_fixture.h"
#include "tests/envs/env_bench.h"
#include "tests/envs/repeat_fixture.h"
#include "tests/support/error_of.h"
#include "tests/support/temp_dir.h"

namespace starling::envs {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

std::string MakeProgram(const TempDir& dir, const std::string& name,
                        const std::string& script = "") {
  const fs::path path = dir.Write(name, "#!/bin/sh\n" + script);
  fs::permissions(path, fs::perms::owner_all);
  return path.string();
}

// The config of an env that is never reached.
EnvConfig CartPoleWith(const std::string& python, const std::string& options = "") {
  return {.name = "gym:CartPole-v1", .python = python, .options = options};
}

class FindPythonTest : public testing::Test {
 protected:
  void SetUp() override {
    const char* set = std::getenv("STARLING_PYTHON");
    if (set != nullptr) before_ = set;
    ::unsetenv("STARLING_PYTHON");
  }
  void TearDown() override {
    ::unsetenv("STARLING_PYTHON");
    if (!before_.empty()) ::setenv("STARLING_PYTHON", before_.c_str(), 1);
  }
  TempDir dir_;
  std::string before_;
};

TEST_F(FindPythonTest, TheNearestIsTaken) {
  const std::string here = MakeProgram(dir_, "work/.venv-gym/bin/python");
  EXPECT_EQ(FindPython("auto", dir_ / "build/release/bin", dir_ / "work"), here);
  const std::string beside = MakeProgram(dir_, ".venv-gym/bin/python");
  EXPECT_EQ(FindPython("auto", dir_ / "build/release/bin", dir_ / "work"), beside);
  const std::string other = MakeProgram(dir_, "other");
  ASSERT_EQ(::setenv("STARLING_PYTHON", other.c_str(), 1), 0);
  EXPECT_EQ(FindPython("auto", dir_ / "build/release/bin", dir_ / "work"), other);
  EXPECT_EQ(FindPython(beside, dir_ / "build/release/bin", dir_ / "work"), beside);
}

TEST_F(FindPythonTest, WhatWasAskedForMustBeThere) {
  const auto error = [&](const std::string& python) -> std::string {
    return ErrorOf([&] { FindPython(python, "", ""); });
  };
  EXPECT_THAT(error("/no/python"),
              testing::AllOf(HasSubstr("env.python: there is no program \"/no/python\""),
                             HasSubstr("scripts/setup --gym")));
  ASSERT_EQ(::setenv("STARLING_PYTHON", "/no/other", 1), 0);
  EXPECT_THAT(error("auto"), HasSubstr("$STARLING_PYTHON: there is no program \"/no/other\""));
}

TEST(Gym, AnIdIsWantedAndOptionsAreAnObjectThatNestsToALimit) {
  EXPECT_THAT(SpecErrorOf({.name = "gym:", .python = "/bin/sh"}),
              HasSubstr("needs the id of an env"));
  for (const std::string options : {"{", "3", "[]", "\"x\""}) {
    EXPECT_THAT(SpecErrorOf(CartPoleWith("/bin/sh", options)),
                HasSubstr("env.options: " + options + " is not a JSON object"));
  }
  for (const std::size_t levels : {70u, 1'000'000u}) {
    const std::string nested = std::string(levels, '[') + std::string(levels, ']');
    EXPECT_THAT(SpecErrorOf(CartPoleWith("/bin/sh", "{\"a\":" + nested + "}")),
                HasSubstr("env.options nests deeper than 64 levels"));
  }
}

TEST(Gym, WithoutGymnasiumASentenceSaysWhatToDo) {
  const TempDir dir;
  EXPECT_THAT(SpecErrorOf(CartPoleWith(MakeProgram(dir, "python", "exec python3 -S -I \"$@\"\n"))),
              testing::AllOf(HasSubstr("cannot import"), HasSubstr("scripts/setup --gym")));
}

TEST(Gym, AnInterpreterThatIsNoneIsToldAtOnce) {
  const TempDir dir;
  const std::string python = MakeProgram(dir, "python", "exec yes\n");
  EXPECT_THAT(SpecErrorOf(CartPoleWith(python)),
              testing::AllOf(HasSubstr(python), HasSubstr("prints endlessly"),
                             HasSubstr("check env.python")));
}

// The text is made of three files. Here it fails at once, because there is no control socket.
TEST(Gym, ATracebackOfTheWorkerNamesItsFilesAndTheirLines) {
  const TempDir dir;
  const fs::path program = dir.Write("program", kGymWorker), said = dir / "said";
  const std::string command =
      fmt::format("python3 - <{} >{} 2>&1 3<&-", program.string(), said.string());
  EXPECT_NE(std::system(command.c_str()), 0);
  std::ifstream file(STARLING_SOURCE_DIR "/envs/bridge/gym_worker.py");
  int number = 0;
  for (std::string line; std::getline(file, line);) {
    ++number;
    if (line == "run(start)") break;
  }
  EXPECT_THAT(
      dir.Read("said"),
      testing::AllOf(HasSubstr(fmt::format("File \"gym_worker.py\", line {}, in <module>", number)),
                     HasSubstr("File \"worker_common.py\"")));
}

TEST(Gym, CartPoleIsAVectorOfFloats) {
  STARLING_NEEDS_GYM("CartPole-v1");
  const EnvSpec spec = SpecOf(GymConfig("CartPole-v1"));
  EXPECT_EQ(spec.name, "gym:CartPole-v1");
  EXPECT_EQ(spec.height * spec.width, 1);
  EXPECT_EQ(spec.channels, 4);
  EXPECT_EQ(spec.actions.values(), 2);
  EXPECT_THAT(spec.action_names, testing::ElementsAre("0", "1"));
  EXPECT_FALSE(GymSpec(GymConfig("CartPole-v1")).lives);
}

// Observations, rewards and ends of `steps` steps of three envs.
std::vector<float> PlayedCartPole(EnvConfig config, std::int64_t per_process, std::uint64_t seed,
                                  int steps) {
  config.per_process = per_process;
  EnvBench bench(MakeVecEnv(config, 3, {.seed = seed}));
  std::vector<float> played = bench.seen;
  for (int step = 0; step < steps; ++step) {
    bench.Step({step % 2, step / 2 % 2, 1});
    played.insert(played.end(), bench.seen.begin(), bench.seen.end());
    played.insert(played.end(), bench.rewards.begin(), bench.rewards.end());
    played.insert(played.end(), bench.ends.begin(), bench.ends.end());
  }
  return played;
}

TEST(Gym, SameSeedSameEpisodesHoweverTheyAreSpread) {
  STARLING_NEEDS_GYM("CartPole-v1");
  const auto played = PlayedCartPole(GymConfig("CartPole-v1"), 3, 7, 60);  // several episodes each
  EXPECT_EQ(PlayedCartPole(GymConfig("CartPole-v1"), 1, 7, 60), played);
  EXPECT_EQ(PlayedCartPole(GymConfig("CartPole-v1"), 2, 7, 60), played);
  EXPECT_NE(PlayedCartPole(GymConfig("CartPole-v1"), 3, 8, 60), played);
}

// Balances the pole for as long as it is let.
std::int32_t Balance(const float* seen) {
  const float position = seen[0], speed = seen[1], angle = seen[2], turn = seen[3];
  return 0.1f * position + 0.3f * speed + 3 * angle + turn > 0;
}

// Plays CartPole until it is truncated, beside one with the same seed that is truncated later: the
// final observation of the first is the observation of the second. Returns the steps.
int StepsToTheFinalObservation(const EnvConfig& limited, const EnvConfig& longer) {
  EnvBench envs(MakeVecEnv(limited, 2, {.seed = 4})), beside(MakeVecEnv(longer, 2, {.seed = 4}));
  for (int step = 1; step <= 600; ++step) {
    EXPECT_EQ(envs.seen, beside.seen) << "step " << step;
    envs.Step({Balance(&envs.seen[envs.row - 4]), Balance(&envs.seen[2 * envs.row - 4])});
    beside.Step(envs.actions);
    EXPECT_THAT(beside.ends, testing::ElementsAre(0, 0)) << "step " << step;
    if (testing::Test::HasFailure()) return step;
    if (envs.env->truncated().empty()) continue;
    EXPECT_THAT(envs.ends, testing::Each(static_cast<std::uint8_t>(End::kTruncated)));
    std::vector<float> finals;
    for (const Truncated& last : envs.env->truncated()) {
      finals.insert(finals.end(), last.observation.begin(), last.observation.end());
    }
    EXPECT_EQ(finals, beside.seen);
    EXPECT_NE(finals, envs.seen) << "the next episodes";
    return step;
  }
  return 0;
}

TEST(Gym, WhatATruncatedEpisodeWouldHaveShownNextIsKept) {
  STARLING_NEEDS_GYM("CartPole-v1");
  const EnvConfig longer = GymConfig("CartPole-v1", R"({"max_episode_steps": 1000})");
  EXPECT_EQ(StepsToTheFinalObservation(GymConfig("CartPole-v1"), longer), 500)
      << "CartPole's own limit";
}

TEST(Gym, AFinalObservationIsStackedHoweverItCameAbout) {
  STARLING_NEEDS_GYM("CartPole-v1");
  EnvConfig longer = GymConfig("CartPole-v1");
  longer.stack = 3;
  longer.per_process = 1;
  EnvConfig own = longer, ours = longer;
  own.options = R"({"max_episode_steps": 2})";
  ours.time_limit = 2;
  EXPECT_EQ(StepsToTheFinalObservation(own, longer), 2);
  EXPECT_EQ(StepsToTheFinalObservation(ours, longer), 2);
}

TEST(Gym, ADiscreteObservationIsOneHot) {
  STARLING_NEEDS_GYM("FrozenLake-v1");
  const auto envs = MakeGymFrames(GymConfig("FrozenLake-v1", R"({"is_slippery": false})"), 1, {});
  ASSERT_EQ(envs->spec().env.obs_size(), 16);
  envs->Advance(std::vector<std::int32_t>{FrameEnvs::kReset});
  envs->Advance(std::vector<std::int32_t>{1});  // down: from field 0 to field 4
  for (int field = 0; field < 16; ++field) {
    EXPECT_EQ(envs->floats(0)[static_cast<std::size_t>(field)], field == 4 ? 1 : 0);
  }
}

TEST(Gym, PendulumIsDrivenBetweenItsBounds) {
  STARLING_NEEDS_GYM("Pendulum-v1");
  const EnvConfig config = GymConfig("Pendulum-v1");
  EnvBench bench(MakeVecEnv(config, 1, {.seed = 3}));
  EXPECT_EQ(bench.env->spec().actions, ActionSpace::Box({-2}, {2}));
  const auto frames = MakeGymFrames(config, 1, {.seed = 3});
  frames->Advance(std::vector<std::int32_t>{FrameEnvs::kReset});
  for (const auto& [point, torque] : {std::pair(0.5f, 1.0f), std::pair(-9.0f, -2.0f)}) {
    EXPECT_THAT(bench.seen, testing::ElementsAreArray(frames->floats(0)));
    bench.Step({WordOf(point)});
    frames->Advance(std::vector<std::int32_t>{WordOf(torque)});
    EXPECT_EQ(bench.rewards[0], static_cast<float>(frames->result(0).reward));
  }
  EXPECT_THAT(bench.seen, testing::ElementsAreArray(frames->floats(0)));
}

TEST(Gym, MistakesAreSentences) {
  STARLING_NEEDS_GYM("CartPole-v1");
  EXPECT_THAT(SpecErrorOf(GymConfig("CartPol-v1")), HasSubstr("did you mean \"CartPole-v1\"?"));
  EXPECT_THAT(SpecErrorOf(GymConfig("CartPole-v1", R"({"wheels": 4})")),
              testing::AllOf(HasSubstr("env.options {\"wheels\": 4}"), HasSubstr("unexpected")));
  EnvConfig lives = GymConfig("CartPole-v1");
  lives.life_loss_ends = true;
  EXPECT_THAT(SpecErrorOf(lives), HasSubstr("has no lives to lose"));
}

TEST(Gym, AleShowsGreyFramesAndLives) {
  STARLING_NEEDS_GYM("ALE/Breakout-v5");
  const auto envs = MakeGymFrames(GymConfig("ALE/Breakout-v5"), 1, {});
  EXPECT_TRUE(envs->spec().bytes);
  EXPECT_TRUE(envs->spec().lives);
  EXPECT_EQ(envs->spec().env.height, 210);
  EXPECT_EQ(envs->spec().env.width, 160);
  EXPECT_EQ(envs->spec().env.channels, 1);
  EXPECT_THAT(envs->spec().env.action_names, testing::ElementsAre("NOOP", "FIRE", "RIGHT", "LEFT"));
  envs->Advance(std::vector<std::int32_t>{FrameEnvs::kReset});
  EXPECT_EQ(envs->result(0).lives, 5);
}

// ALE's own limit falls into the second of four frames. No picture of the first is left.
TEST(Gym, AleTruncatedWithinAnActionShowsItsNewestFrameAlone) {
  STARLING_NEEDS_GYM("ALE/Breakout-v5");
  EnvConfig config = GymConfig("ALE/Breakout-v5", R"({"max_num_frames_per_episode": 10})");
  config.sticky_actions = 0;
  config.repeat = 4;
  config.max_pool = true;
  const auto envs = MakeGymFrames(config, 1, {});
  envs->Advance(std::vector<std::int32_t>{FrameEnvs::kReset});
  while (envs->result(0).end == End::kRunning) envs->Advance(std::vector<std::int32_t>{1}, 4);
  EXPECT_EQ(envs->result(0).end, End::kTruncated);
  EXPECT_TRUE(std::ranges::equal(envs->bytes(0), envs->bytes_before(0)));
}

// Few frames are drawn, and those that are seen must be.
TEST(Gym, AleRepeatsAsIfFrameByFrame) {
  STARLING_NEEDS_GYM("ALE/Breakout-v5");
  EnvConfig config = GymConfig("ALE/Breakout-v5");
  config.sticky_actions = 0.5;
  config.repeat = 4;
  config.max_pool = true;
  for (const bool life_loss_ends : {false, true}) {
    config.life_loss_ends = life_loss_ends;
    const auto whole = MakeGymFrames(config, 1, {}), single = MakeGymFrames(config, 1, {});
    EXPECT_GT(ExpectTheSameFrameByFrame(*whole, *single, 400), 0);
  }
}

TEST(Gym, AleIsStickyUnlessToldOtherwise) {
  STARLING_NEEDS_GYM("ALE/Pong-v5");
  EnvConfig config = GymConfig("ALE/Pong-v5", R"({"obs_type": "ram"})");
  const auto by_default = PlayedCartPole(config, 3, 1, 300);
  config.sticky_actions = 0.25;
  EXPECT_EQ(PlayedCartPole(config, 3, 1, 300), by_default);
  config.sticky_actions = 0;
  const auto obedient = PlayedCartPole(config, 3, 1, 300);
  EXPECT_NE(obedient, by_default);
  config.sticky_actions = -1;  // once is enough
  config.options = R"({"obs_type": "ram", "repeat_action_probability": 0.0})";
  EXPECT_EQ(PlayedCartPole(config, 3, 1, 300), obedient);
}

}  // namespace
}  // namespace starling::envs
