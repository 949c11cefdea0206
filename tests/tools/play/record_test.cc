#include <fmt/format.h>
#include <gmock/gmock.h>

#include "actors/evaluator.h"
#include "core/error.h"
#include "envs/registry.h"
#include "tests/results/first_checkpoint.h"
#include "tests/support/fleet_fixtures.h"
#include "tests/tools/play/watch_gif.h"
#include "tools/play/play.h"

namespace starling::play {
namespace {

using testing::HasSubstr;

constexpr char kBrittle[] = "plugin:" STARLING_PLUGINS "/brittle.so";

// The rows above the lowest of Catch are empty: the ball has fallen.
void ExpectTheBallBelow(const Image& last, int scale) {
  for (int row = 0; row < 9 * scale; ++row) {
    for (int column = 0; column < 5 * scale; ++column) {
      const Rgb color = last.at(row, column);
      ASSERT_TRUE(color == envs::kBackground || color == envs::kLine)
          << "the ball is not in the lowest row: " << row << ", " << column;
    }
  }
}

class RecordTest : public testing::Test {
 protected:
  Finished Record(std::vector<std::string> words) {
    words.insert(words.begin(), {STARLING_PROGRAM, "record"});
    return RunProgram(dir_, words);
  }
  // The operator's mistake: a sentence, status 2, no file.
  std::string Mistake(const std::vector<std::string>& words) {
    const Finished finished = Record(words);
    EXPECT_EQ(finished.status, kExitUserError) << testing::PrintToString(words);
    EXPECT_EQ(finished.out, "");
    EXPECT_TRUE(Files().empty()) << testing::PrintToString(Files());
    return finished.err;
  }
  // All files but those of RunProgram.
  std::vector<std::string> Files() const {
    std::vector<std::string> files;
    for (const auto& entry : std::filesystem::directory_iterator(dir_.path())) {
      const std::string name = entry.path().filename().string();
      if (name != ".out" && name != ".err") files.push_back(name);
    }
    return files;
  }
  TempDir dir_;
};

// Nine steps: ten frames, the first that of a reset, the last one before the next.
TEST_F(RecordTest, ARandomPlayersEpisodeAsAGif) {
  const Finished finished =
      Record({"--env", "catch", "--out", "x.gif", "--seed", "3", "--fps", "10", "--scale", "12"});
  EXPECT_EQ(finished.status, 0) << finished.err;
  EXPECT_THAT(finished.out, HasSubstr("10 frames, 9 steps, returns: "));
  EXPECT_THAT(Files(), testing::ElementsAre("x.gif"));
  const Movie movie = Watch(dir_.Read("x.gif"));
  ASSERT_EQ(movie.frames.size(), 10u);
  EXPECT_EQ(movie.frames[0].delay_cs, 10);
  EXPECT_EQ(movie.frames[9].delay_cs, 110) << "the end stays for a second";

  const auto frames = envs::MakeFrames({.name = "catch"}, 1, {3, 0xffffffff, 0});
  const std::int32_t reset = envs::FrameEnvs::kReset;
  frames->Advance({&reset, 1});
  EXPECT_EQ(movie.frames[0].image, Enlarged(Paint(*frames, 0), 12, true));
  ExpectTheBallBelow(movie.frames[9].image, 12);
}

TEST_F(RecordTest, EveryRawFrameIsShownWhateverTheWrappersDo) {
  const Finished finished = Record({"--env", "catch", "--out", "x.gif", "--set", "env.repeat=4",
                                    "--set", "env.stack=2", "--set", "env.pixels=true"});
  EXPECT_EQ(finished.status, 0) << finished.err;
  EXPECT_THAT(finished.out, HasSubstr("10 frames, 3 steps"));
  EXPECT_EQ(Watch(dir_.Read("x.gif")).frames[0].image.height, 10 * 33) << "cells, not pixels";
}

TEST_F(RecordTest, EndsWithTheEpisodesOrTheSteps) {
  EXPECT_THAT(Record({"--env", "catch", "--out", "x.gif", "--episodes", "3"}).out,
              HasSubstr("30 frames, 27 steps"));
  EXPECT_THAT(Record({"--env", "catch", "--out", "x.gif", "--steps", "5"}).out,
              HasSubstr("6 frames, 5 steps, no episode ended"));
  EXPECT_THAT(Record({"--env", "catch", "--out", "x.gif", "--episodes", "3", "--steps", "10"}).out,
              HasSubstr("12 frames, 10 steps, returns: "));
}

TEST_F(RecordTest, APngIsTheLastFrameOrTiles) {
  EXPECT_EQ(Record({"--env", "arcade/pong", "--out", "one.png", "--steps", "50"}).status, 0);
  EXPECT_EQ(
      Record({"--env", "arcade/pong", "--out", "six.png", "--steps", "50", "--tiles", "6"}).status,
      0);
  // Bytes 16 to 23 of a PNG are its width and height.
  const auto size = [&](const char* name) {
    const std::string png = dir_.Read(name);
    EXPECT_EQ(png.substr(1, 3), "PNG");
    const auto number = [&](std::size_t at) {
      int value = 0;
      for (std::size_t i = 0; i < 4; ++i)
        value = value * 256 + static_cast<unsigned char>(png[at + i]);
      return value;
    };
    return std::pair(number(16), number(20));
  };
  EXPECT_EQ(size("one.png"), (std::pair{336, 336}));
  EXPECT_EQ(size("six.png"), (std::pair{4 * 8 + 3 * 336, 3 * 8 + 2 * 336}));
}

TEST_F(RecordTest, APlayerOfSeveralNumbersOrChoices) {
  EXPECT_THAT(Record({"--env", "control/reach", "--out", "x.gif", "--set", "env.repeat=4"}).out,
              HasSubstr("101 frames, 25 steps, returns: -"));
  EXPECT_THAT(Record({"--env", "control/steer", "--out", "x.gif"}).out,
              HasSubstr("101 frames, 100 steps, returns: -"));
}

TEST_F(RecordTest, MoreTilesThanFramesAreAllOfThem) {
  EXPECT_EQ(Record({"--env", "catch", "--out", "x.png", "--tiles", "100", "--scale", "1"}).status,
            0);
}

// The rewards of Hearts are its played actions, and a lost life stops a repeated one.
TEST_F(RecordTest, TheNetPlaysWhatEvalPlays) {
  const std::vector<std::vector<std::string>> settings = {
      {"env.name=minatar/breakout"},
      {"env.name=plugin:" STARLING_PLUGINS "/hearts.so", "net.kind=mlp", "env.isolate=true",
       "env.sticky_actions=0.5", "env.repeat=4", "env.noop_max=5", "env.life_loss_ends=true"}};
  for (const auto& of_env : settings) {
    std::vector<std::string> all{"actors.count=1", "run.name=test"};
    all.insert(all.end(), of_env.begin(), of_env.end());
    const Config config = ParseConfig("", "test", all);
    std::filesystem::remove_all(dir_ / "run");
    learner::WriteCheckpoint(dir_ / "run/checkpoints", results::FirstCheckpoint(config));
    const std::vector<float> weights = results::InitialNetOf(config).initial;
    for (const bool greedy : {false, true}) {
      for (const std::uint64_t seed : {1, 2, 3, 4}) {
        const actors::EvalResult eval = actors::Evaluate(
            config, weights, {.episodes = 1, .greedy = greedy, .seed = seed, .max_steps = 2000});
        std::vector<std::string> words = {"run", "--out", "x.gif", "--seed", std::to_string(seed)};
        if (greedy) words.push_back("--greedy");
        const Finished finished = Record(words);
        EXPECT_EQ(finished.status, 0) << finished.err;
        if (eval.cut > 0) continue;
        EXPECT_THAT(finished.out, HasSubstr(fmt::format("returns: {:g}\n", eval.returns[0])))
            << config.env.name << " " << seed;
      }
    }
  }
}

// "10 frames, 9 steps" has 10 before "frames". -1 if the word is missing.
int NumberBefore(const std::string& printed, const std::string& word) {
  const std::size_t end = printed.find(" " + word);
  return end == std::string::npos ? -1 : std::stoi(printed.substr(printed.rfind(' ', end - 1) + 1));
}

// Nine no-ops and more end an episode that is none; ten frames are one, with its reset.
TEST_F(RecordTest, AnEpisodeThatEndsInNoOpsIsNotTheFilmedOne) {
  int longer = 0;
  for (int seed = 1; seed <= 8; ++seed) {
    const Finished finished = Record({"--env", "catch", "--out", "x.gif", "--set",
                                      "env.noop_max=30", "--seed", std::to_string(seed)});
    EXPECT_THAT(finished.out, HasSubstr("returns: ")) << finished.err;
    const int frames = NumberBefore(finished.out, "frames");
    EXPECT_EQ(frames % 10, 0) << finished.out;
    EXPECT_LT(NumberBefore(finished.out, "steps"), 10) << finished.out;
    longer += frames > 10;
  }
  EXPECT_GT(longer, 0);
}

// An episode has five steps. One that is cut has three, and the frame before the cut twice.
TEST_F(RecordTest, AnEpisodeThatIsCutIsFollowedByTheFilmedOne) {
  int all = 0;
  for (int seed = 1; seed <= 6; ++seed) {
    const Finished finished = Record({"--env", kBrittle, "--out", "x.gif", "--set",
                                      "env.isolate=true", "--seed", std::to_string(seed)});
    EXPECT_EQ(finished.status, 0) << finished.err;
    int cut = 0;
    for (std::size_t at = 0; (at = finished.err.find("was cut", at)) != std::string::npos; ++at) {
      ++cut;
    }
    EXPECT_THAT(finished.out, HasSubstr(fmt::format(" {} frames, {} steps, returns: 5\n",
                                                    6 + 4 * cut, 5 + 3 * cut)));
    all += cut;
  }
  EXPECT_GT(all, 0);
}

TEST_F(RecordTest, ARowWithoutEndIsRefusedByItsLength) {
  EXPECT_THAT(Mistake({"--env", "plugin:" STARLING_PLUGINS "/long_row.so", "--out", "x.gif"}),
              HasSubstr("would have 10000 cells a side; 8192 at most can be shown"));
}

// An untrained net's run directory of the plug-in `name`, isolated.
class EvalTest : public RecordTest {
 protected:
  Finished Eval(const std::string& name, const std::string& episodes) {
    const Config config =
        ParseConfig("", "test",
                    {"env.name=plugin:" STARLING_PLUGINS "/" + name + ".so", "env.isolate=true",
                     "net.kind=mlp", "actors.count=1", "run.name=test"});
    learner::WriteCheckpoint(dir_ / "run/checkpoints", results::FirstCheckpoint(config));
    return RunProgram(dir_, {STARLING_PROGRAM, "eval", "run", "--episodes", episodes});
  }
};

TEST_F(EvalTest, LostEpisodesAreToldAndNotCounted) {
  const Finished finished = Eval("brittle", "8");
  EXPECT_EQ(finished.status, 0) << finished.err;
  EXPECT_THAT(finished.out, HasSubstr("mean return 5.00, standard deviation 0.00 over 8 episodes"));
  EXPECT_THAT(finished.err,
              testing::ContainsRegex("[0-9]+ more episodes were lost, because their"));
}

TEST_F(EvalTest, AnEnvThatAlwaysFailsIsGivenUp) {
  const Finished finished = Eval("breaks", "2");
  EXPECT_EQ(finished.status, kExitFailed);
  EXPECT_THAT(finished.err,
              HasSubstr("processes failed 50 times without an episode that ended between"));
}

TEST_F(RecordTest, SameSeedSameFile) {
  std::string files[3];
  const char* seeds[] = {"5", "5", "6"};
  for (int i = 0; i < 3; ++i) {
    Record({"--env", "minatar/asterix", "--out", "x.gif", "--seed", seeds[i]});
    files[i] = dir_.Read("x.gif");
  }
  EXPECT_EQ(files[0], files[1]);
  EXPECT_NE(files[0], files[2]);
}

TEST_F(RecordTest, MistakesAreFoundBeforeAnythingIsPlayed) {
  EXPECT_THAT(Mistake({"--env", "catch"}), HasSubstr("--out is required"));
  EXPECT_THAT(Mistake({"--out", "x.gif"}), HasSubstr("RUN_OR_CHECKPOINT or --env NAME"));
  EXPECT_THAT(Mistake({"run", "--env", "catch", "--out", "x.gif"}), HasSubstr("excludes"));
  EXPECT_THAT(Mistake({"run", "--set", "run.seed=2", "--out", "x.gif"}),
              HasSubstr("--set run.seed=2: only keys of [env] have a meaning here\n"));
  EXPECT_THAT(Mistake({"nowhere", "--out", "x.gif"}), HasSubstr("neither a run directory"));
  EXPECT_THAT(Mistake({"--env", "cathc", "--out", "x.gif"}), HasSubstr("did you mean \"catch\"?"));
  EXPECT_THAT(Mistake({"--env", "catch", "--out", "x.jpg"}), HasSubstr(".gif or .png"));
  EXPECT_THAT(Mistake({"--env", "catch", "--out", "gif"}), HasSubstr(".gif or .png"));
  EXPECT_THAT(Mistake({"--env", "catch", "--out", "nowhere/x.gif"}),
              HasSubstr("there is no directory nowhere"));
  EXPECT_THAT(Mistake({"--env", "catch", "--out", "x.gif", "--fps", "51"}), HasSubstr("--fps"));
  EXPECT_THAT(Mistake({"--env", "arcade/pong", "--out", "x.gif", "--scale", "98"}),
              HasSubstr("97 at most"));
  std::filesystem::create_directory(dir_ / "x.gif");
  const Finished directory = Record({"--env", "catch", "--out", "x.gif"});
  EXPECT_EQ(directory.status, kExitUserError);
  EXPECT_THAT(directory.err, HasSubstr("--out x.gif is a directory; name a file in it"));
}

// A limit on the size of files stands for a full disk: both refuse the write.
TEST_F(RecordTest, AFullDiskLeavesNoHalfFileAndKeepsTheOld) {
  dir_.Write("x.gif", "the one before");
  const Finished finished =
      RunProgram(dir_, {"/bin/sh", "-c",
                        "ulimit -f 4; exec " + std::string(STARLING_PROGRAM) +
                            " record --env arcade/pong --steps 300 --out x.gif"});
  EXPECT_EQ(finished.status, kExitFailed);
  EXPECT_THAT(finished.err, HasSubstr("x.gif"));
  EXPECT_EQ(dir_.Read("x.gif"), "the one before");
  EXPECT_THAT(Files(), testing::ElementsAre("x.gif"));
}

}  // namespace
}  // namespace starling::play
