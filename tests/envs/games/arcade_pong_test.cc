// The rules with their arithmetic written out, in 1/256 pixel; then whole games by simple players.
#include "envs/games/arcade_pong.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <numeric>
#include <vector>

#include "core/random.h"

namespace starling::envs::arcade_pong_test {
namespace {

using Game = ArcadePong;
constexpr int kPixel = 256;
using Draws = std::vector<Draw>;

struct Ball {
  int x, y, speed_x, speed_y;  // x, y: of its left upper corner
  friend bool operator==(const Ball&, const Ball&) = default;
  friend void PrintTo(const Ball& ball, std::ostream* out) {
    *out << "(" << ball.x << ", " << ball.y << ") heading (" << ball.speed_x << ", " << ball.speed_y
         << ")";
  }
};

// The paddles' upper edges are at 39 pixels, their middles at 45.
Game At(const Ball& ball) {
  Game game;
  game.ball_x = ball.x;
  game.ball_y = ball.y;
  game.speed_x = ball.speed_x;
  game.speed_y = ball.speed_y;
  game.paddle = game.opponent = 39 * kPixel;
  return game;
}

Ball BallOf(const Game& game) { return {game.ball_x, game.ball_y, game.speed_x, game.speed_y}; }

// A step that draws exactly `draws`.
Outcome Play(Game& game, Draws draws = {}, int action = Game::kNoop) {
  ScriptedChance chance(std::move(draws));
  const Outcome outcome = game.Step(action, chance);
  EXPECT_EQ(chance.Mismatch(), "");
  return outcome;
}

Draw Error(int error) { return Draw::Integer(-2048, 2049, error); }
Draws Serve(int side, int slope, int error = 0) {
  return {Draw::Below(2, side), Draw::Integer(-320, 321, slope), Error(error)};
}

std::vector<float> Seen(const Game& game) {
  std::vector<float> seen(84 * 84, -1);
  game.Observe(seen.data());
  return seen;
}

float Pixel(const std::vector<float>& seen, int row, int column) {
  return seen[static_cast<std::size_t>(row * 84 + column)];
}

TEST(ArcadePong, AnEpisodeBeginsWithAServeFromTheMiddle) {
  for (const int side : {0, 1}) {
    ScriptedChance chance(Serve(side, -100, 77));
    Game game = At({5, 6, 7, 8});
    game.points = game.opponent_points = 20;
    game.Reset(chance);
    EXPECT_EQ(chance.Mismatch(), "");
    // 41 + 2/2 = 42 = 84/2; 44 + 2/2 = 45 = (7 + 83)/2.
    EXPECT_EQ(BallOf(game), (Ball{41 * kPixel, 44 * kPixel, side == 0 ? -320 : 320, -100}));
    EXPECT_EQ(game.error, 77);
    EXPECT_EQ(game.points + game.opponent_points, 0);
    EXPECT_EQ(game.paddle, 39 * kPixel);
    EXPECT_EQ(game.opponent, 39 * kPixel);
  }
}

TEST(ArcadePong, OurPaddleMovesTwoPixelsAndStaysOnTheField) {
  Game game = At({40 * kPixel, 45 * kPixel, 0, 0});
  Play(game, {}, Game::kUp);
  EXPECT_EQ(game.paddle, 37 * kPixel);
  Play(game, {}, Game::kDown);
  Play(game, {}, Game::kDown);
  EXPECT_EQ(game.paddle, 41 * kPixel);
  Play(game);
  EXPECT_EQ(game.paddle, 41 * kPixel);
  game.paddle = 8 * kPixel;
  Play(game, {}, Game::kUp);
  EXPECT_EQ(game.paddle, 7 * kPixel);
  game.paddle = 70 * kPixel;
  Play(game, {}, Game::kDown);
  EXPECT_EQ(game.paddle, 71 * kPixel) << "its lower edge at 83";
}

// Our face is at 74 pixels, so the ball touches it at x = 72; the opponent's is at 10. The walls
// are at 7 and, for the ball's upper edge, at 81.
constexpr int kOurs = 72 * kPixel, kTheirs = 10 * kPixel, kTop = 7 * kPixel, kLow = 81 * kPixel;
constexpr int kMiddle = 44 * kPixel;  // level with both paddles' middles

TEST(ArcadePong, TheBallFliesIsThrownBackAndMisses) {
  const struct {
    const char* what;
    Ball before;
    Draws draws;  // the opponent's next error, where our paddle hits
    Ball after;
  } cases[] = {
      {"it flies straight", {10000, 11520, 320, -77}, {}, {10320, 11443, 320, -77}},
      // 100 to the wall, 300 to go: 200 back.
      {"the upper wall", {10000, kTop + 100, 320, -300}, {}, {10320, kTop + 200, 320, 300}},
      {"the lower wall", {10000, kLow - 100, -320, 300}, {}, {9680, kLow - 200, -320, -300}},
      {"just to a wall", {10000, kTop + 300, 320, -300}, {}, {10320, kTop, 320, -300}},
      {"and there it turns", {10320, kTop, 320, -300}, {}, {10640, kTop + 300, 320, 300}},
      // 100 to go of 320, so 220 back; each hit of ours makes it faster by 32.
      {"our middle", {kOurs - 100, kMiddle, 320, 0}, {Error(5)}, {kOurs - 220, kMiddle, -352, 0}},
      {"their middle", {kTheirs + 100, kMiddle, -320, 0}, {}, {kTheirs + 220, kMiddle, 352, 0}},
      // Half of the step is flown when they touch: 50 below the middle.
      {"the slope before does not matter",
       {kOurs - 160, kMiddle, 320, 100},
       {Error(5)},
       {kOurs - 160, kMiddle + 100, -352, 352 * 50 / 1792}},
      // Seven pixels off the middle.
      {"above it", {kOurs, kMiddle - 1792, 320, 0}, {}, {kOurs + 320, kMiddle - 1792, 320, 0}},
      {"below it", {kOurs, kMiddle + 1792, 320, 0}, {}, {kOurs + 320, kMiddle + 1792, 320, 0}},
      {"behind the paddle", {kOurs + 1, kMiddle, 320, 0}, {}, {kOurs + 321, kMiddle, 320, 0}},
  };
  for (const auto& [what, before, draws, after] : cases) {
    Game game = At(before);
    EXPECT_EQ(Play(game, draws), Outcome{}) << what;
    EXPECT_EQ(BallOf(game), after) << what;
    EXPECT_EQ(game.error, draws.empty() ? 0 : 5) << what;
  }
}

// Middles h apart at the touch give a slope of h / 1792 (7 pixels); 352 sideways.
TEST(ArcadePong, WhereTheBallMeetsThePaddleDecidesItsSlope) {
  const struct {
    int height, slope;
  } cases[] = {{896, 176}, {-896, -176}, {1791, 351}, {-1791, -351}, {256, 50}};
  for (const auto& [height, slope] : cases) {
    Game ours = At({72 * kPixel, 44 * kPixel + height, 320, 0});
    Play(ours, {Error(0)});
    EXPECT_EQ(BallOf(ours), (Ball{72 * kPixel - 320, 44 * kPixel + height, -352, slope}));
    Game theirs = At({10 * kPixel, 44 * kPixel + height, -320, 0});
    theirs.error = height;  // it stands where it wants to stand
    Play(theirs);
    EXPECT_EQ(BallOf(theirs), (Ball{10 * kPixel + 320, 44 * kPixel + height, 352, slope}));
  }
}

TEST(ArcadePong, OurPaddleMovesBeforeTheBallMeetsIt) {
  Game saved = At({72 * kPixel, 44 * kPixel + 1792, 320, 0});
  Play(saved, {Error(0)}, Game::kDown);
  EXPECT_EQ(saved.speed_y, 352 * (1792 - 512) / 1792);
  Game missed = At({72 * kPixel, 44 * kPixel + 1700, 320, 0});
  Play(missed, {}, Game::kUp);
  EXPECT_EQ(missed.speed_x, 320);
}

// At the touch it is thrown back by the wall already: 100 up, 60 of them back.
TEST(ArcadePong, AWallBetweenTheBallAndThePaddleIsHeededAtTheTouch) {
  Game game = At({72 * kPixel - 160, 7 * kPixel + 40, 320, -200});
  game.paddle = 7 * kPixel;  // its middle at 13 pixels
  Play(game, {Error(0)});
  // Touch after half of the step: 7 pixels + 60, middle 8 pixels + 60: 1220 above the paddle's.
  EXPECT_EQ(BallOf(game), (Ball{72 * kPixel - 160, 7 * kPixel + 160, -352, -352 * 1220 / 1792}));
}

TEST(ArcadePong, TheBallGrowsFasterByHitsToALimit) {
  int speed = 320;
  for (int hit = 1; hit <= 12; ++hit) {
    Game game = At({72 * kPixel, 44 * kPixel, speed, 0});
    Play(game, {Error(0)});
    EXPECT_EQ(game.speed_x, -std::min(320 + 32 * hit, 640)) << hit;
    speed = -game.speed_x;
  }
  EXPECT_EQ(speed, 640);
}

TEST(ArcadePong, APointIsMadeWhenNothingOfTheBallIsLeft) {
  Game won = At({-2 * kPixel + 321, 44 * kPixel, -320, 0});
  won.paddle = 50 * kPixel;
  EXPECT_EQ(Play(won), Outcome{}) << "1/256 of it is still there";
  EXPECT_EQ(Play(won, Serve(1, 30, 9)), (Outcome{1, false}));
  EXPECT_EQ(won.points, 1);
  EXPECT_EQ(won.opponent_points, 0);
  EXPECT_EQ(BallOf(won), (Ball{41 * kPixel, 44 * kPixel, 320, 30}));
  EXPECT_EQ(won.error, 9);
  EXPECT_EQ(won.paddle, 50 * kPixel) << "paddles stay";

  Game lost = At({84 * kPixel - 321, 44 * kPixel, 320, 0});
  EXPECT_EQ(Play(lost), Outcome{});
  EXPECT_EQ(Play(lost, Serve(0, 0)), (Outcome{-1, false}));
  EXPECT_EQ(lost.opponent_points, 1);
}

TEST(ArcadePong, TwentyOneOfEitherEndTheEpisode) {
  Game won = At({-2 * kPixel + 1, 44 * kPixel, -320, 0});
  won.points = 20;
  won.opponent_points = 20;
  EXPECT_EQ(Play(won), (Outcome{1, true})) << "and nothing is drawn any more";
  Game lost = At({84 * kPixel - 1, 44 * kPixel, 320, 0});
  lost.opponent_points = 20;
  EXPECT_EQ(Play(lost), (Outcome{-1, true}));
  Game not_yet = At({-2 * kPixel + 1, 44 * kPixel, -320, 0});
  not_yet.points = 19;
  EXPECT_EQ(Play(not_yet, Serve(0, 0)), (Outcome{1, false}));
}

TEST(ArcadePong, TheOpponentFollowsTheBallOnePixelAStep) {
  // Its middle at 45 pixels, the ball's at 61: sixteen steps.
  for (const int speed_x : {0, 1, -1}) {
    Game game = At({40 * kPixel, 60 * kPixel, speed_x, 0});
    for (int step = 1; step <= 16; ++step) {
      Play(game);
      EXPECT_EQ(game.opponent, (39 + step) * kPixel);
    }
    Play(game);
    EXPECT_EQ(game.opponent, 55 * kPixel) << "there";
  }
}

TEST(ArcadePong, TheOpponentStandsOffByItsErrorAndStaysOnTheField) {
  Game game = At({40 * kPixel, 44 * kPixel, 0, 0});
  game.error = 100;
  Play(game);
  EXPECT_EQ(game.opponent, 39 * kPixel - 100) << "its middle above the ball's";
  Game upper = At({40 * kPixel, 7 * kPixel, 0, 0}), lower = At({40 * kPixel, 81 * kPixel, 0, 0});
  for (int step = 0; step < 100; ++step) {
    Play(upper);
    Play(lower);
  }
  EXPECT_EQ(upper.opponent, 7 * kPixel);
  EXPECT_EQ(lower.opponent, 71 * kPixel);
}

TEST(ArcadePong, DrawsPaddlesWallsAndPoints) {
  Game game = At({40 * kPixel, 44 * kPixel, 0, 0});
  game.points = 2;
  game.opponent_points = 1;
  const std::vector<float> seen = Seen(game);
  for (int row = 0; row < 84; ++row) {
    const bool paddle = row >= 39 && row < 51, wall = row == 6 || row == 83;
    for (const int column : {8, 9, 74, 75}) {
      EXPECT_EQ(Pixel(seen, row, column), paddle ? 0.75f : wall ? 0.25f : 0.0f) << row;
    }
    const bool tick = row == 2 || row == 3;
    for (const int column : {0, 83, 81}) {
      EXPECT_EQ(Pixel(seen, row, column), tick ? 0.5f : wall ? 0.25f : 0.0f) << row;
    }
  }
  // 2 walls of 84, 2 paddles of 24, 3 ticks of 2, a ball of 4.
  EXPECT_EQ(std::accumulate(seen.begin(), seen.end(), 0.0),
            2 * 84 * 0.25 + 2 * 24 * 0.75 + 3 * 2 * 0.5 + 4);
}

TEST(ArcadePong, APixelIsAsBrightAsItIsCovered) {
  Game game = At({40 * kPixel + 64, 20 * kPixel + 128, 0, 0});
  game.paddle = 39 * kPixel + 192;
  const std::vector<float> seen = Seen(game);
  const float across[] = {0.75f, 1, 0.25f}, down[] = {0.5f, 1, 0.5f};
  for (int row = 0; row < 3; ++row) {
    for (int column = 0; column < 3; ++column) {
      EXPECT_EQ(Pixel(seen, 20 + row, 40 + column), down[row] * across[column]);
    }
  }
  EXPECT_EQ(Pixel(seen, 39, 74), 0.75f * 0.25f);
  EXPECT_EQ(Pixel(seen, 50, 75), 0.75f);
  EXPECT_EQ(Pixel(seen, 51, 75), 0.75f * 0.75f);
  EXPECT_EQ(Pixel(seen, 52, 75), 0.0f);
}

TEST(ArcadePong, ABallThatLeavesThePictureIsCutOff) {
  // 1.5 of its 2 pixels are gone, on either side.
  for (const int x : {-384, 83 * kPixel + 128}) {
    const std::vector<float> seen = Seen(At({x, 44 * kPixel, 0, 0}));
    const int column = x < 0 ? 0 : 83;
    EXPECT_EQ(Pixel(seen, 44, column), 0.5f);
    EXPECT_EQ(Pixel(seen, 45, column), 0.5f);
    EXPECT_EQ(std::accumulate(seen.begin(), seen.end(), 0.0), 2 * 84 * 0.25 + 2 * 24 * 0.75 + 1);
  }
}

TEST(ArcadePong, TheLastPictureOfAnEpisodeIsDrawnWithoutTheBall) {
  Game game = At({-2 * kPixel + 1, 44 * kPixel, -320, 0});
  game.points = 20;
  Play(game);
  const std::vector<float> seen = Seen(game);
  EXPECT_EQ(std::ranges::max(seen), 0.75f);
}

// Games against the opponent, each from its own seed; the player decides every four steps, as with
// env.repeat = 4. Won points less lost ones, the mean over the games.
double MeanResult(const std::function<int(const Game&, RandomStream&)>& player) {
  constexpr int kGames = 20;
  int result = 0;
  for (std::uint64_t seed = 1; seed <= kGames; ++seed) {
    RandomStream stream({.seed = seed, .purpose = Purpose::kEnv});
    RandomStream policy({.seed = seed, .purpose = Purpose::kAction});
    RandomChance chance(stream);
    Game game;
    game.Reset(chance);
    for (int step = 0, action = 0;; ++step) {
      if (step % 4 == 0) action = player(game, policy);
      if (game.Step(action, chance).terminal) break;
      if (step > 100'000) return -1000;
    }
    result += game.points - game.opponent_points;
  }
  return static_cast<double>(result) / kGames;
}

TEST(ArcadePong, ARandomPlayerLosesClearly) {
  const double result =
      MeanResult([](const Game&, RandomStream& policy) { return int(policy.Below(3)); });
  EXPECT_LT(result, -12);
  EXPECT_GT(result, -21) << "it wins a point now and then, from which to learn";
}

TEST(ArcadePong, APlayerThatFollowsTheBallWins) {
  const double result = MeanResult([](const Game& game, RandomStream&) {
    const int above = game.ball_y + 1 * kPixel - (game.paddle + 6 * kPixel);  // its middle to ours
    return above > 4 * kPixel ? Game::kDown : above < -4 * kPixel ? Game::kUp : Game::kNoop;
  });
  EXPECT_GT(result, 10);
}

}  // namespace
}  // namespace starling::envs::arcade_pong_test
