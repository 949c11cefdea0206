// The built `starling play`, in a terminal made by the test; the table of `starling envs`.
#include "tools/play/play.h"

#include <gmock/gmock.h>

#include <cmath>
#include <sstream>
#include <utility>

#include "core/error.h"
#include "envs/registry.h"
#include "tests/support/fleet_fixtures.h"
#include "tests/support/pty.h"
#include "tests/tools/play/pty.h"

namespace starling::play {
namespace {

using testing::ContainsRegex;
using testing::HasSubstr;
using testing::Not;

const std::string kEnter = "\033[?1049h\033[?25l", kLeave = "\033[0m\033[?25h\033[?1049l";

std::vector<std::string> Words(std::vector<std::string> words) {
  words.insert(words.begin(), {STARLING_PROGRAM, "play"});
  return words;
}

class Play : public testing::Test {
 protected:
  void SetUp() override {
    if (!HasPty()) GTEST_SKIP() << kNoPty;
  }
};

// The screen is given back last, after everything that was drawn on it.
void ExpectGivenBack(const ProgramInTerminal& program) {
  EXPECT_TRUE(program.IsAsBefore());
  const std::size_t left = program.shown().rfind(kLeave);
  ASSERT_NE(left, std::string::npos);
  EXPECT_EQ(program.shown().find("\033", left + kLeave.size()), std::string::npos);
}

TEST_F(Play, APersonPlaysAnEpisodeAndQuits) {
  ProgramInTerminal program(Words({"catch", "--fps", "100"}), 80, 24);
  EXPECT_TRUE(program.Shows(kEnter));
  EXPECT_TRUE(program.Shows("▀"));
  EXPECT_TRUE(program.Shows("catch  score 0  episode 1"));
  EXPECT_FALSE(program.IsAsBefore());
  EXPECT_TRUE(program.Shows("OVER: space goes on"));
  program.Type(" ");
  EXPECT_TRUE(program.Shows("episode 2"));
  program.Type("q");
  EXPECT_EQ(program.Wait(), 0);
  ExpectGivenBack(program);
  EXPECT_THAT(program.shown(), HasSubstr("catch: "));
}

TEST_F(Play, CtrlCIsAnInterruption) {
  ProgramInTerminal program(Words({"arcade/pong"}), 100, 50);
  EXPECT_TRUE(program.Shows("arcade/pong  score 0"));
  program.Type("\003");
  EXPECT_EQ(program.Wait(), kExitInterrupted);
  ExpectGivenBack(program);
}

TEST_F(Play, SignalsAndACrashGiveTheTerminalBack) {
  for (const int signal : {SIGTERM, SIGHUP, SIGINT, SIGQUIT, SIGABRT, SIGSEGV}) {
    const bool crash = signal == SIGABRT || signal == SIGSEGV;
    ProgramInTerminal program(Words({"catch"}), 80, 24);
    EXPECT_TRUE(program.Shows("score"));
    program.Signal(signal);
    EXPECT_EQ(program.Wait(), crash ? 128 + signal : kExitInterrupted) << signal;
    ExpectGivenBack(program);
  }
}

TEST_F(Play, WithoutColorsThereAreLetters) {
  ProgramInTerminal program(Words({"minatar/breakout"}), 80, 24, {"NO_COLOR=1"});
  EXPECT_TRUE(program.Shows(std::string(40, 'd'))) << "bricks, four characters a cell";
  program.Type("q");
  EXPECT_EQ(program.Wait(), 0);
  EXPECT_THAT(program.shown(), Not(HasSubstr("\033[38")));
}

TEST_F(Play, PicturesFollowTheSizeOfTheTerminal) {
  ProgramInTerminal program(Words({"arcade/pong"}), 84, 44, {"COLORTERM=truecolor"});
  EXPECT_TRUE(program.Shows("\033[42;1H")) << "42 lines";
  EXPECT_TRUE(program.Shows("\033[43;1Harcade/pong"));
  program.Resize(60, 23);
  EXPECT_TRUE(program.Shows("\033[22;1Harcade/pong")) << "shrunk by two: 21 lines";
  program.Type("q");
  EXPECT_EQ(program.Wait(), 0);
}

// In 80 x 24 a cell of catch is four characters wide and two lines high, the paddle in line 20.
TEST_F(Play, KeysMoveThePaddle) {
  ProgramInTerminal program(Words({"catch", "--fps", "50"}), 80, 24, {"NO_COLOR=1"});
  EXPECT_TRUE(program.Shows("\033[20;1Haaaa....", "\033[D "));
  EXPECT_TRUE(program.Shows("\033[20;1H................aaaa", "d "));
  program.Type("q");
  EXPECT_EQ(program.Wait(), 0);
}

TEST_F(Play, IsRefusedWithoutATerminal) {
  TempDir dir;
  const Finished finished = RunProgram(dir, Words({"catch"}));
  EXPECT_EQ(finished.status, kExitUserError);
  EXPECT_THAT(finished.err, HasSubstr("needs a terminal"));
  EXPECT_EQ(finished.out, "");
}

TEST_F(Play, IsRefusedWhereTheCursorCannotMove) {
  ProgramInTerminal program(Words({"catch"}), 80, 24, {"TERM=dumb"});
  EXPECT_TRUE(program.Shows("needs a terminal"));
  EXPECT_EQ(program.Wait(), kExitUserError);
  EXPECT_TRUE(program.IsAsBefore());
  EXPECT_THAT(program.shown(), Not(HasSubstr("\033")));
}

TEST_F(Play, MistakesAreALineAndLeaveTheTerminalAlone) {
  const struct {
    std::vector<std::string> words;
    const char* said;
  } cases[] = {{{"cathc"}, "did you mean \"catch\"?"},
               {{"catch", "--set", "run.steps=5"}, "only keys of [env]"},
               {{"catch", "--set", "env.stick=1"}, "env.stick"},
               {{"catch", "--set", "env.life_loss_ends=true"}, "no lives"},
               {{"control/steer"}, "is 3 x 3 choices, masked, and keys"},
               {{"catch", "--fps", "0"}, "--fps"}};
  for (const auto& mistake : cases) {
    ProgramInTerminal program(Words(mistake.words), 80, 24);
    EXPECT_TRUE(program.Shows(mistake.said)) << mistake.said;
    EXPECT_EQ(program.Wait(), kExitUserError);
    EXPECT_THAT(program.shown(), Not(HasSubstr("\033")));
  }
}

TEST(EnvTable, FitsAHundredColumns) {
  std::istringstream lines(EnvTable());
  for (std::string line; std::getline(lines, line);) EXPECT_LE(line.size(), 100u) << line;
}

TEST(EnvTable, EveryBundledEnvHasALine) {
  const std::string table = EnvTable();
  for (const std::string& name : envs::EnvNames()) {
    EXPECT_THAT(table, HasSubstr("\n" + name + " "));
  }
}

TEST(EnvTable, SaysShapeActionsAndOptions) {
  const std::string table = EnvTable();
  EXPECT_THAT(table, ContainsRegex("control/reach +1x1x7 +2 numbers in .-1, 1. +-\n"));
  EXPECT_THAT(table, ContainsRegex("grid/courier +7x7x2.4.1 +5 .stay up down left right. "));
  EXPECT_THAT(table, ContainsRegex("control/steer +1x1x7 +3 x 3 choices, masked +-\n"));
  EXPECT_THAT(table, ContainsRegex("arcade/pong +84x84x1 +3 .noop up down. +-\n"));
  EXPECT_THAT(
      table,
      ContainsRegex("minatar/breakout +10x10x4 +6 .noop left up right down fire. +minimal=3\n"));
  EXPECT_THAT(table, ContainsRegex("minatar/seaquest +10x10x10 .* ramps\n"));
  EXPECT_THAT(table, ContainsRegex("minatar/space_invaders .* minimal=4, ramps\n"));
}

TEST(ActionsOf, SaysWhatAnActionIs) {
  const auto of = [](ActionSpace actions) {
    return ActionsOf({.name = "x", .actions = std::move(actions), .action_names = {}});
  };
  ActionSpace masked = ActionSpace::Choices({2, 3, 4});
  masked.masked = true;
  EXPECT_EQ(of(masked), "2 x 3 x 4 choices, masked");
  EXPECT_EQ(of(ActionSpace::Box({-2}, {2})), "1 number in [-2, 2]");
  EXPECT_EQ(of(ActionSpace::Box({0, 0}, {INFINITY, INFINITY})), "2 numbers in [0, inf]");
  EXPECT_EQ(of(ActionSpace::Box({0, 0}, {1, 2})), "2 numbers, each with bounds of its own");
}

TEST(EnvTable, SaysHowToNameOthers) {
  EXPECT_THAT(EnvTable(), HasSubstr("gym:ALE/Pong-v5"));
  EXPECT_THAT(EnvTable(), HasSubstr("plugin:./mine.so"));
}

}  // namespace
}  // namespace starling::play
