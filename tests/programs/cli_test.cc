// The built `starling`, as it is called.
#include <gmock/gmock.h>

#include "core/error.h"
#include "tests/support/fleet_fixtures.h"
#include "wire/keys.h"

namespace starling::programs {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::StartsWith;

class CliTest : public testing::Test {
 protected:
  Finished Starling(std::vector<std::string> words) {
    words.insert(words.begin(), STARLING_PROGRAM);
    return RunProgram(dir_, words);
  }
  // The operator's mistake: nothing on standard output, nothing started, status 2.
  std::string Mistake(const std::vector<std::string>& words) {
    const Finished finished = Starling(words);
    EXPECT_EQ(finished.status, kExitUserError) << testing::PrintToString(words);
    EXPECT_THAT(finished.out, IsEmpty());
    EXPECT_FALSE(std::filesystem::exists(dir_.path() / "runs"));
    return finished.err;
  }
  TempDir dir_;
};

// The version: tests/system/command_line_test.cc.
TEST_F(CliTest, HelpNamesEveryCommand) {
  const Finished help = Starling({"--help"});
  EXPECT_EQ(help.status, 0);
  for (const char* command :
       {"train", "eval", "play", "record", "sweep", "report", "conform", "envs", "bench", "doctor",
        "export", "replay", "simulate", "keys", "prune"}) {
    EXPECT_THAT(help.out, HasSubstr(command));
  }
  for (const char* word : {"--resume", "--init-from", "eval.every_steps", "tensorboard"}) {
    EXPECT_THAT(Starling({"train", "--help"}).out, HasSubstr(word));
  }
}

TEST_F(CliTest, EnvsIsATable) {
  const Finished envs = Starling({"envs"});
  EXPECT_EQ(envs.status, 0);
  EXPECT_THAT(envs.out, StartsWith("name "));
  EXPECT_THAT(envs.out, testing::ContainsRegex("minatar/breakout +10x10x4 +6 "));
}

TEST_F(CliTest, KeysAreMadeOnceAndTheSecretIsNotShown) {
  const Finished made = Starling({"keys", "new", "ada"});
  EXPECT_EQ(made.status, 0);
  const std::string secret = wire::ReadSecretFile(dir_ / "keys" / "ada.secret").secret_key;
  EXPECT_THAT(made.out, AllOf(HasSubstr("keys/ada.secret"), HasSubstr("keys/ada.public"),
                              HasSubstr("wire.secret=keys/ada.secret"), Not(HasSubstr(secret))));
  EXPECT_THAT(Mistake({"keys", "new", "ada"}), HasSubstr("is there already"));
  EXPECT_THAT(Mistake({"keys", "new", "../ada"}), HasSubstr("cannot name a key"));
  EXPECT_THAT(Mistake({"keys"}), HasSubstr("Run starling"));
  EXPECT_EQ(Starling({"keys", "new", "ada", "--dir", "others"}).status, 0);
  EXPECT_NE(wire::ReadSecretFile(dir_ / "others" / "ada.secret").secret_key, secret);
}

TEST_F(CliTest, MistakesInACommandLine) {
  const std::pair<std::vector<std::string>, const char*> cases[] = {
      // Unknown words are answered with the nearest.
      {{"trian", "x.toml"}, "there is no command \"trian\"; did you mean \"train\"?"},
      {{"train", "--rezume", "x"}, "did you mean \"--resume\"?"},
      {{"eval", "x", "--greddy"}, "did you mean \"--greedy\"?"},
      // What is missing.
      {{}, "subcommand is required"},
      {{"train"}, "CONFIG or --resume DIR is required"},
      {{"train", "x", "--set"}, "--set"},
      {{"eval"}, "RUN_OR_CHECKPOINT is required"},
      {{"conform"}, "TRACE is required"},
      {{"sweep"}, "GRID is required"},
      {{"simulate"}, "CONFIG is required"},
      {{"report"}, "RUN is required"},
      // What contradicts.
      {{"train", "x", "--resume", "y"}, "excludes"},
      {{"train", "--resume", "y", "--run-dir", "z"}, "excludes"},
      {{"train", "--resume", "y", "--init-from", "z"}, "excludes"},
      {{"simulate", "x.toml", "--resume", "y"}, "--resume"},
      // Values that are not allowed.
      {{"train", "x", "--progress", "loud"}, "--progress: loud not in {screen,bar,lines,none}"},
      {{"eval", "x", "--episodes", "0"}, "--episodes"},
      {{"eval", "x", "--seed", "-1"}, "--seed"},
      {{"eval", "x", "--seed", "99999999999999999999999"},
       "--seed: \"99999999999999999999999\" is not an integer from 0 to 9223372036854775807"},
      {{"eval", "x", "--episodes", "1.5"}, "--episodes: \"1.5\" is not an integer from 1 to 1000"},
      {{"eval", "x", "--episodes", "nan"}, "--episodes"},
      {{"stop", "x", "--timeout", "nan"},
       "--timeout: \"nan\" is not a number of seconds from 0 to 86400"},
      {{"stop", "x", "--timeout", "inf"}, "--timeout"},
      {{"stop", "x", "--timeout", "-1"}, "--timeout"},
      {{"replay", "x", "--until", "1e3"}, "--until"},
      // Names that are none, or that no line can hold.
      {{"train", "x.toml", "--run-dir", ""}, "--run-dir: it is empty; name a file or directory"},
      {{"train", "--resume", ""}, "--resume: it is empty"},
      {{"train", ""}, "CONFIG: it is empty"},
      {{"train", "x.toml", "--run-dir", "a\x1b[31m\nb"},
       "--run-dir: \"a\\x1b[31m\\nb\" has control characters"},
      {{"report", "x", "a\nb"}, "RUN: \"a\\nb\" has control characters"},
      {{"eval", "x", "--gr\x1b[31m"}, "--gr\\x1b[31m"},
      {{"record", "--env", "ca\x1b[31m", "--out", "x.gif"}, "there is no env \"ca\\x1b[31m\""},
      // Files that are not there.
      {{"sweep", "absent.toml"}, "grid absent.toml cannot be read"},
      {{"report", "absent"}, "absent: there is no such directory; give the directory of a run"},
      {{"conform", "absent.jsonl.gz"}, "absent.jsonl.gz"},
  };
  for (const auto& [words, sentence] : cases) EXPECT_THAT(Mistake(words), HasSubstr(sentence));
  EXPECT_FALSE(std::filesystem::exists(dir_ / "report.html"));
}

TEST_F(CliTest, SetTakesOneWordEach) {
  // The config after it is not swallowed, and both settings arrive.
  const std::string err = Mistake({"train", "--set", "run.stepps=1", "absent.toml"});
  EXPECT_THAT(err, HasSubstr("absent.toml cannot be read"));
  dir_.Write("a.toml", "");
  const std::string both =
      Mistake({"train", "--set", "run.stepps=1", "a.toml", "--set", "evn.name=catch"});
  EXPECT_THAT(both, HasSubstr("run.stepps"));
  EXPECT_THAT(both, HasSubstr("evn"));
}

TEST_F(CliTest, WhatFleetFindsIsToldWithWhatCoreFinds) {
  dir_.Write("a.toml",
             "[run]\nsteps = -1\n[env]\nname = \"cach\"\n[wire]\nendpoint = "
             "\"tcp://example.com:1\"\n");
  const std::string err = Mistake({"train", "a.toml"});
  EXPECT_THAT(err, HasSubstr("a.toml:2:9: run.steps"));
  EXPECT_THAT(err, HasSubstr("a.toml:4:8: env.name: there is no env \"cach\""));
  EXPECT_THAT(err, HasSubstr("a.toml:6:12: wire.endpoint: "));
}

TEST_F(CliTest, AFleetThatNoMachineCouldHoldIsAMistake) {
  dir_.Write("a.toml",
             "[env]\nname = \"catch\"\npixels = true\n[actors]\ncount = 1024\n"
             "envs_per_actor = 65536\nunroll = 15\n[net]\nkind = \"atari\"\n");
  EXPECT_THAT(Mistake({"train", "a.toml"}), HasSubstr("a.toml:6:18: actors.envs_per_actor"));
}

TEST_F(CliTest, AResultThatCannotBeWrittenIsAFailure) {
  const std::string actor =
      (std::filesystem::path(STARLING_PROGRAM).parent_path() / "starling-actor").string();
  for (const std::string& command :
       {std::string(STARLING_PROGRAM) + " envs", std::string(STARLING_PROGRAM) + " train --help",
        std::string(STARLING_PROGRAM) + " --version", actor + " --help"}) {
    dir_.Write("full.sh", command + " >/dev/full\n");
    const Finished finished = RunProgram(dir_, {"/bin/sh", (dir_.path() / "full.sh").string()});
    EXPECT_EQ(finished.status, kExitFailed) << command;
    EXPECT_THAT(finished.err, HasSubstr("standard output")) << command;
  }
}

// The shell's own words once were "line 10: 1: usage".
TEST_F(CliTest, AFleetLaunchedByHandNeedsItsSize) {
  const std::string script = STARLING_SOURCE_DIR "/scripts/launch-actors";
  for (const char* count : {"", "0", "-1", "x"}) {
    const Finished finished = RunProgram(dir_, {script, count});
    EXPECT_EQ(finished.status, kExitUserError);
    EXPECT_EQ(finished.err,
              "usage: scripts/launch-actors N --run-dir DIR [--envs B]; N is a number from 1\n");
  }
}

TEST_F(CliTest, ZerosBeforeANumberDoNotMakeItOctal) {
  EXPECT_THAT(Mistake({"record", "--env", "catch", "--out", "x.gif", "--fps", "063"}),
              HasSubstr("--fps: \"063\" is not an integer from 1 to 50"));
  const Finished ten =
      Starling({"record", "--env", "catch", "--out", "x.gif", "--episodes", "9", "--steps", "010"});
  EXPECT_THAT(ten.out, HasSubstr(" 10 steps")) << ten.err;
}

}  // namespace
}  // namespace starling::programs
