// The aliens fire and are hit, from positions set up by hand, with the rules that recorded play
// reaches rarely. trace_test.cc holds the others to recorded play.
#include "envs/games/minatar_space_invaders.h"

#include <gtest/gtest.h>

#include <numeric>
#include <utility>
#include <vector>

namespace starling::envs::minatar_space_invaders_test {
namespace {

using Game = MinatarSpaceInvaders;
using Cells = std::vector<std::pair<int, int>>;  // (row, column), in order

// Only the cannon, in column 5, and these aliens, which neither move nor fire for a thousand steps.
Game With(const Cells& aliens) {
  Game game;
  for (Game::Row& row : game.aliens) row = 0;
  for (const auto& [row, column] : aliens) {
    game.aliens[row] = static_cast<Game::Row>(game.aliens[row] | 1u << column);
  }
  game.move_timer = game.enemy_gun_timer = 1000;
  return game;
}

Cells CellsOf(const Game::Row (&rows)[Game::kSide]) {
  Cells cells;
  for (int row = 0; row < Game::kSide; ++row) {
    for (int column = 0; column < Game::kSide; ++column) {
      if (rows[row] >> column & 1) cells.emplace_back(row, column);
    }
  }
  return cells;
}

Cells Aliens(const Game& game) { return CellsOf(game.aliens); }

void Put(Game::Row (&bullets)[Game::kSide], int row, int column) {
  bullets[row] = static_cast<Game::Row>(bullets[row] | 1u << column);
}

Outcome Play(Game& game, int action = Game::kNoop) {
  ScriptedChance none({});
  const Outcome outcome = game.Step(action, none);
  EXPECT_EQ(none.Mismatch(), "") << "a step draws nothing";
  return outcome;
}

bool IsFreshWave(const Game& game) { return Aliens(game) == Aliens(Game{}); }

TEST(MinatarSpaceInvaders, ShowsSixChannels) {
  Game game = With({{2, 3}});
  Put(game.bullets, 5, 0);
  Put(game.enemy_bullets, 6, 9);
  for (const int heading : {-1, 1}) {
    game.heading = heading;
    std::vector<float> seen(600, -1);
    game.Observe(seen.data());
    const auto at = [&](int row, int column, int channel) {
      return seen[static_cast<std::size_t>((row * 10 + column) * 6 + channel)];
    };
    EXPECT_EQ(at(9, 5, 0), 1);
    EXPECT_EQ(at(2, 3, 1), 1);
    EXPECT_EQ(at(2, 3, heading < 0 ? 2 : 3), 1);
    EXPECT_EQ(at(5, 0, 4), 1);
    EXPECT_EQ(at(6, 9, 5), 1);
    EXPECT_EQ(std::accumulate(seen.begin(), seen.end(), 0.0f), 5) << "and nothing else is lit";
  }
}

TEST(MinatarSpaceInvaders, OnlyMinimalActionsDoSomethingAndTheEdgesHold) {
  const Game start = With({{0, 0}});
  std::vector<int> useful = {Game::kNoop};
  Game idle = start;
  Play(idle);
  for (int action = 1; action < Game::kNumActions; ++action) {
    Game game = start;
    Play(game, action);
    if (game != idle) useful.push_back(action);
  }
  // The actions with an effect are those listed; at an edge left and right have none.
  EXPECT_EQ(useful, std::vector<int>(Game::kMinimalActions.begin(), Game::kMinimalActions.end()));
  Game left = start, right = start;
  left.cannon = 1;
  right.cannon = 8;
  for (int step = 0; step < 2; ++step) {
    Play(left, Game::kLeft);
    Play(right, Game::kRight);
    EXPECT_EQ(left.cannon, 0);
    EXPECT_EQ(right.cannon, 9);
  }
}

// The cannon is in (9, 5). Aliens march left, or drop a row from the left edge.
TEST(MinatarSpaceInvaders, AnAlienOrABulletInTheCannonsCellEndsTheEpisode) {
  constexpr std::pair kNoBullet(-1, -1);
  const struct {
    const char* what;
    Cells aliens;
    bool march;
    std::pair<int, int> bullet;  // of theirs, before the step
    int action;
    bool over;
  } cases[] = {
      {"an alien marches in", {{9, 6}}, true, kNoBullet, Game::kNoop, true},
      {"an alien drops in", {{8, 5}, {3, 0}}, true, kNoBullet, Game::kNoop, true},
      {"an alien drops from the last row", {{8, 0}, {9, 2}}, true, kNoBullet, Game::kNoop, true},
      {"an alien is beside", {{9, 4}}, false, kNoBullet, Game::kNoop, false},
      {"the cannon drives into an alien", {{9, 4}}, false, kNoBullet, Game::kLeft, true},
      {"even if the alien moves on", {{9, 4}}, true, kNoBullet, Game::kLeft, true},
      {"a bullet comes", {{0, 0}}, false, {8, 5}, Game::kNoop, true},
      {"the cannon leaves its column", {{0, 0}}, false, {8, 5}, Game::kRight, false},
      {"the cannon drives under a bullet", {{0, 0}}, false, {8, 4}, Game::kLeft, true},
      {"that bullet has left the grid", {{0, 0}}, false, {9, 4}, Game::kLeft, false},
  };
  for (const auto& [what, aliens, march, bullet, action, over] : cases) {
    Game game = With(aliens);
    if (march) game.move_timer = 0;
    if (bullet != kNoBullet) Put(game.enemy_bullets, bullet.first, bullet.second);
    EXPECT_EQ(Play(game, action).terminal, over) << what;
  }
}

TEST(MinatarSpaceInvaders, TheLowestAlienOfTheNearestColumnFires) {
  struct {
    Cells aliens;
    std::pair<int, int> shot;
  } const cases[] = {
      {{{1, 5}, {3, 5}, {4, 6}}, {3, 5}},  // the cannon's own column
      {{{1, 3}, {2, 7}}, {1, 3}},          // equally near: left
      {{{1, 2}, {2, 7}}, {2, 7}},          // 3 to the left, 2 to the right
      {{{1, 3}, {2, 8}}, {1, 3}},          // 2 to the left, 3 to the right
      {{{0, 0}}, {0, 0}},
      {{{9, 9}, {0, 0}}, {9, 9}},  // 5 to the left, 4 to the right
  };
  for (const auto& [aliens, shot] : cases) {
    Game game = With(aliens);
    game.enemy_gun_timer = 0;
    Play(game);
    EXPECT_EQ(CellsOf(game.enemy_bullets), Cells{shot});
  }
}

// A bullet goes from (5, 3) to (4, 3).
TEST(MinatarSpaceInvaders, HitsAreLookedForWhenBothHaveMoved) {
  struct {
    const char* what;
    Cells aliens;
    bool moves;
    Cells left;
  } const cases[] = {
      {"stands ahead", {{4, 3}, {0, 5}}, false, {{0, 5}}},
      {"steps aside", {{4, 3}, {0, 5}}, true, {{0, 4}, {4, 2}}},
      {"steps in", {{4, 4}, {0, 5}}, true, {{0, 4}}},
      {"drops in from above", {{3, 3}, {0, 0}}, true, {{1, 0}}},
      {"drops past the bullet", {{4, 3}, {0, 0}}, true, {{1, 0}, {5, 3}}},
  };
  for (const auto& [what, aliens, moves, left] : cases) {
    Game game = With(aliens);
    Put(game.bullets, 5, 3);
    if (moves) game.move_timer = 0;
    const bool hit = left.size() == 1;
    EXPECT_EQ(Play(game), (Outcome{hit ? 1.0f : 0.0f, false})) << what;
    EXPECT_EQ(Aliens(game), left) << what;
    EXPECT_EQ(CellsOf(game.bullets), (hit ? Cells{} : Cells{{4, 3}})) << what;
  }
}

// The last alien of a wave stands before a bullet of ours.
Game BeforeTheLastHit(int base) {
  Game game = With({{5, 1}});
  Put(game.bullets, 6, 1);
  game.base = base;
  return game;
}

TEST(MinatarSpaceInvaders, EveryWaveMovesSoonerDownToSix) {
  int base = 12;
  for (const int expected : {11, 10, 9, 8, 7, 6, 6, 6}) {
    Game game = BeforeTheLastHit(base);
    game.move_timer = 1;
    Play(game);
    EXPECT_EQ(base = game.base, expected);
    Play(game);  // 24 of them move for the first time, min(24, base) steps before the second
    EXPECT_EQ(game.move_timer, expected - 1);
    EXPECT_EQ(Aliens(game).front(), std::pair(0, 1));
  }
}

TEST(MinatarSpaceInvaders, WithoutRampingTheBaseStays) {
  Game game = BeforeTheLastHit(12);
  game.ramping = false;
  EXPECT_EQ(Play(game), (Outcome{1, false}));
  EXPECT_TRUE(IsFreshWave(game));
  EXPECT_EQ(game.base, 12);
  ScriptedChance none({});
  game.Reset(none);
  EXPECT_FALSE(game.ramping) << "an option outlives the episode";
}

}  // namespace
}  // namespace starling::envs::minatar_space_invaders_test
