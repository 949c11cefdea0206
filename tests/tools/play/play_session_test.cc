#include "tools/play/play_session.h"

#include <gmock/gmock.h>

#include "core/error.h"
#include "tests/support/error_of.h"

namespace starling::play {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

EnvConfig Named(const std::string& name) { return {.name = name, .sticky_actions = 0}; }

std::string Status(const PlaySession& session) {
  return session.Lines(Palette::kNone, 100, 30).end()[-2];
}

// In catch a ball falls from the top row to the ninth below: nine steps, then +1 or -1.
TEST(PlaySession, PlaysWhatThePersonPresses) {
  PlaySession session(Named("catch"), 1);
  const auto paddle = [&] { return session.Lines(Palette::kNone, 10, 12).at(9).find('a'); };
  const std::size_t middle = paddle();
  session.OnPress({Key::kLeft}, 0);
  session.Step(0);
  EXPECT_EQ(paddle(), middle - 2) << "two characters a cell";
  session.Step(200);
  EXPECT_EQ(paddle(), middle - 2);
  session.OnPress({Key::kRight}, 300);
  session.Step(300);
  EXPECT_EQ(paddle(), middle);
  EXPECT_EQ(session.steps(), 3);
}

TEST(PlaySession, RowsThatAreObservedStandBelowThePicture) {
  const PlaySession session(Named("grid/courier"), 1);
  const std::vector<std::string> lines = session.Lines(Palette::kNone, 100, 10);
  ASSERT_EQ(lines.size(), 7u + 3);
  EXPECT_EQ(lines[3].substr(6, 2), "aa") << lines[3];
  EXPECT_THAT(lines[7], testing::ContainsRegex("^order( [01]){4}  time 1$"));
  EXPECT_THAT(lines[8], StartsWith("grid/courier  score 0"));
}

TEST(PlaySession, AnEpisodeThatIsOverIsShownUntilTheSpaceBar) {
  PlaySession session(Named("catch"), 1);
  int now = 0;
  while (!session.over()) session.Step(now += 125);
  EXPECT_EQ(session.steps(), 9);
  EXPECT_EQ(std::abs(session.score()), 1);
  const auto end = session.Lines(Palette::kNone, 100, 30);
  EXPECT_THAT(Status(session), HasSubstr("OVER"));
  EXPECT_THAT(Status(session), HasSubstr("episode 1 "));
  // The ball is in the lowest row: nothing is lit above it.
  const auto small = session.Lines(Palette::kNone, 10, 12);
  for (std::size_t row = 0; row < 9; ++row) EXPECT_EQ(small[row], "..........") << row;

  session.Step(now += 125);
  session.OnPress({Key::kLeft}, now);
  session.Step(now += 125);
  EXPECT_EQ(session.Lines(Palette::kNone, 100, 30), end) << "nothing moves";

  session.OnPress({Key::kFire}, now);
  EXPECT_FALSE(session.over());
  EXPECT_EQ(session.steps(), 0);
  EXPECT_EQ(session.score(), 0);
  EXPECT_THAT(Status(session), HasSubstr("episode 2 "));
  EXPECT_NE(session.Lines(Palette::kNone, 10, 12).at(0), "..........") << "a new ball";
}

TEST(PlaySession, PauseHoldsTheGame) {
  PlaySession session(Named("catch"), 1);
  session.OnPress({Key::kPause}, 0);
  EXPECT_TRUE(session.paused());
  for (int i = 0; i < 20; ++i) session.Step(i);
  EXPECT_EQ(session.steps(), 0);
  EXPECT_THAT(Status(session), HasSubstr("PAUSED"));
  session.OnPress({Key::kPause}, 30);
  session.Step(31);
  EXPECT_EQ(session.steps(), 1);
}

TEST(PlaySession, WrappersWorkButThoseOfTheAgentsEyes) {
  EnvConfig config = Named("minatar/breakout");
  config.pixels = true;
  config.stack = 4;
  config.time_limit = 5;
  PlaySession session(config, 1);
  EXPECT_EQ(session.UsualFps(), 8) << "a grid, not pixels";
  EXPECT_EQ(session.Lines(Palette::kNone, 20, 12).at(1), std::string(20, 'd')) << "bricks";
  for (int i = 0; i < 5; ++i) session.Step(i);
  EXPECT_TRUE(session.over());
}

TEST(PlaySession, TheScoreIsTheGames) {
  EnvConfig config = Named("dummy");  // a light: 1 for its side
  config.reward_clip = 0.25;
  config.repeat = 8;
  PlaySession session(config, 1);
  session.OnPress({Key::kLeft}, 0);
  session.Step(0);
  EXPECT_TRUE(session.over()) << "eight frames are an episode";
  EXPECT_GE(session.score(), 1);
  EXPECT_EQ(session.score(), std::floor(session.score()));
}

TEST(PlaySession, FitsAnyTerminal) {
  for (const char* name : {"arcade/pong", "minatar/seaquest", "dummy"}) {
    PlaySession session(Named(name), 1);
    for (const auto& [columns, rows] : {std::pair{1, 1}, {20, 5}, {80, 24}, {300, 90}}) {
      const auto lines = session.Lines(Palette::kNone, columns, rows);
      EXPECT_LE(static_cast<int>(lines.size()), std::max(3, rows));
      for (const auto& line : lines) EXPECT_LE(static_cast<int>(line.size()), columns);
    }
  }
}

TEST(PlaySession, SumsUp) {
  PlaySession session(Named("catch"), 1);
  EXPECT_THAT(session.Summary(), StartsWith("catch: no episode ended"));
  while (!session.over()) session.Step(0);
  EXPECT_THAT(session.Summary(), StartsWith("catch: 1 episode, best "));
}

TEST(PlaySession, HelpNamesTheKeysThatMeanSomething) {
  PlaySession session(Named("catch"), 1);
  EXPECT_EQ(session.Lines(Palette::kNone, 100, 30).back(),
            "arrows or wasd, space; 0-2 actions by number; p pause, q quit");
}

TEST(PlaySession, KeysMakeOneChoice) {
  const auto refusal = [](const char* name) {
    return ErrorOf<UserError>([&] { PlaySession(Named(name), 1); });
  };
  EXPECT_THAT(
      refusal("control/reach"),
      HasSubstr("an action of control/reach is 2 numbers in [-1, 1], and keys make one choice"));
  EXPECT_THAT(refusal("control/steer"), HasSubstr("3 x 3 choices, masked"));
  EXPECT_THAT(refusal("control/steer"), HasSubstr("`starling record`"));
}

TEST(PlaySession, UnknownEnvIsRefused) { EXPECT_THROW(PlaySession(Named("chess"), 1), UserError); }

}  // namespace
}  // namespace starling::play
