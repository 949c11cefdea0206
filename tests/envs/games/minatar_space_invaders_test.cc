// The rules that recorded play reaches rarely, each from a position set up by hand. What the traces
// show often is held by trace_test.cc.
#include "envs/games/minatar_space_invaders.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <utility>
#include <vector>

namespace starling::envs {
namespace {

using Game = MinatarSpaceInvaders;
using Cells = std::vector<std::pair<int, int>>;  // (row, column), in order

// Nothing but the cannon in column 5 and these aliens, which neither move nor fire for a long time.
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

TEST(MinatarSpaceInvaders, StartsUnderFourRowsOfSix) {
  Game game = With({{9, 9}});
  game.cannon = 0;
  game.heading = 1;
  game.base = 6;
  game.gun_timer = 3;
  Put(game.bullets, 3, 3);
  Put(game.enemy_bullets, 4, 4);
  ScriptedChance none({});
  game.Reset(none);
  EXPECT_EQ(none.Mismatch(), "");
  EXPECT_EQ(game, Game{});
  EXPECT_EQ(Aliens(game).size(), 24u);
  EXPECT_EQ(Aliens(game).front(), std::pair(0, 2));
  EXPECT_EQ(Aliens(game).back(), std::pair(3, 7));
}

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

// Fired in steps 0, 5 and 10; seen in row 8 first, so in row 8 - k after k more steps, and gone
// after nine.
TEST(MinatarSpaceInvaders, FiresEveryFifthStep) {
  Game game = With({{0, 0}});
  for (int step = 0; step < 12; ++step) {
    Play(game, Game::kFire);
    Cells expected;
    for (const int fired : {0, 5, 10}) {
      const int row = 8 - (step - fired);
      if (step >= fired && row >= 0) expected.insert(expected.begin(), {row, 5});
    }
    std::sort(expected.begin(), expected.end());
    EXPECT_EQ(CellsOf(game.bullets), expected) << step;
  }
}

TEST(MinatarSpaceInvaders, ManyAliensMoveEveryTwelfthStep) {
  Game game;
  std::vector<int> moves;
  for (int step = 1; step <= 40; ++step) {
    const Cells before = Aliens(game);
    Play(game, step % 2 == 0 ? Game::kLeft : Game::kNoop);
    if (Aliens(game) != before) moves.push_back(step);
  }
  EXPECT_EQ(moves, (std::vector<int>{13, 25, 37}));
}

TEST(MinatarSpaceInvaders, FewAliensMoveAsOftenAsTheyAre) {
  for (const int count : {1, 2, 5, 11, 12, 13}) {
    Cells aliens;
    for (int i = 0; i < count; ++i) aliens.emplace_back(i / 5, 1 + i % 5);
    Game game = With(aliens);
    game.cannon = 9;
    game.heading = 1;
    game.move_timer = 0;
    std::vector<int> moves;
    for (int step = 0; moves.size() < 3; ++step) {
      const Cells before = Aliens(game);
      Play(game);
      if (Aliens(game) != before) moves.push_back(step);
    }
    const int period = std::min(count, 12);
    EXPECT_EQ(moves, (std::vector<int>{0, period, 2 * period})) << count;
  }
}

TEST(MinatarSpaceInvaders, DropsARowAndTurnsAtEitherEdge) {
  for (const int heading : {-1, 1}) {
    const int edge = heading < 0 ? 0 : 9;
    Game game = With({{2, edge}, {3, 5}});
    game.heading = heading;
    game.move_timer = 0;
    Play(game);
    Cells dropped = {{3, edge}, {4, 5}};
    EXPECT_EQ(Aliens(game), dropped);
    EXPECT_EQ(game.heading, -heading);
    game.move_timer = 0;
    Play(game);
    Cells moved = {{3, edge - heading}, {4, 5 - heading}};
    EXPECT_EQ(Aliens(game), moved) << "the row is not left twice";
    EXPECT_EQ(game.heading, -heading);
  }
}

TEST(MinatarSpaceInvaders, AnAlienInTheCannonsCellEndsTheEpisode) {
  Game marches = With({{9, 6}}), drops = With({{8, 5}, {3, 0}}), met = With({{9, 4}});
  marches.move_timer = drops.move_timer = 0;
  EXPECT_TRUE(Play(marches).terminal);
  EXPECT_EQ(Aliens(marches), (Cells{{9, 5}}));
  EXPECT_TRUE(Play(drops).terminal);
  EXPECT_EQ(Aliens(drops), (Cells{{4, 0}, {9, 5}}));
  EXPECT_FALSE(Play(met).terminal) << "beside it an alien does no harm";
  EXPECT_TRUE(Play(met, Game::kLeft).terminal);
}

TEST(MinatarSpaceInvaders, DrivingIntoAnAlienThatMovesOnEndsTheEpisode) {
  Game game = With({{9, 4}});
  game.move_timer = 0;
  EXPECT_TRUE(Play(game, Game::kLeft).terminal);
  EXPECT_EQ(Aliens(game), (Cells{{9, 3}}));
}

TEST(MinatarSpaceInvaders, DroppingFromTheLastRowEndsTheEpisode) {
  Game game = With({{8, 0}, {9, 2}});
  game.move_timer = 0;
  EXPECT_EQ(Play(game), (Outcome{0, true}));
  EXPECT_EQ(Aliens(game), (Cells{{0, 2}, {9, 0}}));
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

TEST(MinatarSpaceInvaders, TheyFireEveryTenthStepFromWhereTheyHaveMovedTo) {
  Game game = With({{2, 1}});
  game.heading = 1;
  game.move_timer = 10;
  game.enemy_gun_timer = 10;
  for (int step = 1; step <= 10; ++step) Play(game);
  EXPECT_EQ(CellsOf(game.enemy_bullets), Cells{});
  Play(game);
  EXPECT_EQ(CellsOf(game.enemy_bullets), (Cells{{2, 2}}));
  game.move_timer = 1000;
  for (int step = 12; step <= 20; ++step) Play(game);
  EXPECT_EQ(CellsOf(game.enemy_bullets), Cells{}) << "rows 3 to 9 in steps 12 to 18, then gone";
  Play(game);
  EXPECT_EQ(CellsOf(game.enemy_bullets), (Cells{{2, 2}}));
}

TEST(MinatarSpaceInvaders, ABulletThatComesToTheCannonEndsTheEpisode) {
  const auto under = [](int column, int row) {
    Game game = With({{0, 0}});
    Put(game.enemy_bullets, row, column);
    return game;
  };
  Game stays = under(5, 8), leaves = under(5, 8), enters = under(4, 8), late = under(4, 9);
  EXPECT_TRUE(Play(stays).terminal);
  EXPECT_FALSE(Play(leaves, Game::kRight).terminal);
  EXPECT_TRUE(Play(enters, Game::kLeft).terminal);
  EXPECT_FALSE(Play(late, Game::kLeft).terminal) << "that bullet leaves the grid";
  EXPECT_EQ(CellsOf(late.enemy_bullets), Cells{});
}

TEST(MinatarSpaceInvaders, BulletsPassThroughEachOther) {
  Game game = With({{0, 0}});
  Put(game.bullets, 6, 3);
  Put(game.enemy_bullets, 4, 3);
  Play(game);
  EXPECT_EQ(CellsOf(game.bullets), (Cells{{5, 3}}));
  EXPECT_EQ(CellsOf(game.enemy_bullets), (Cells{{5, 3}}));
  Play(game);
  EXPECT_EQ(CellsOf(game.bullets), (Cells{{4, 3}}));
  EXPECT_EQ(CellsOf(game.enemy_bullets), (Cells{{6, 3}}));
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

TEST(MinatarSpaceInvaders, AnAlienIsNotHitInTheCannonsRow) {
  Game game = With({{9, 5}, {0, 0}});
  EXPECT_EQ(Play(game, Game::kFire), (Outcome{0, true})) << "the bullet is in row 8 already";
  EXPECT_EQ(CellsOf(game.bullets), (Cells{{8, 5}}));
}

TEST(MinatarSpaceInvaders, TwoHitsInAStepGiveTwo) {
  Game game = With({{2, 3}, {6, 8}, {0, 0}});
  Put(game.bullets, 3, 3);
  Put(game.bullets, 7, 8);
  EXPECT_EQ(Play(game), (Outcome{2, false}));
  EXPECT_EQ(Aliens(game), (Cells{{0, 0}}));
}

TEST(MinatarSpaceInvaders, AnAlienHitInTheStepOfTheirGunStillFires) {
  Game game = With({{4, 5}, {0, 0}});
  Put(game.bullets, 5, 5);
  game.enemy_gun_timer = 0;
  EXPECT_EQ(Play(game), (Outcome{1, false}));
  EXPECT_EQ(Aliens(game), (Cells{{0, 0}}));
  EXPECT_EQ(CellsOf(game.enemy_bullets), (Cells{{4, 5}}));
}

// The last alien of a wave stands before a bullet of ours.
Game BeforeTheLastHit(int base) {
  Game game = With({{5, 1}});
  Put(game.bullets, 6, 1);
  game.base = base;
  return game;
}

TEST(MinatarSpaceInvaders, ANewWaveComesAtOnceAndChangesNothingElse) {
  Game game = BeforeTheLastHit(12);
  Put(game.bullets, 4, 7);
  Put(game.enemy_bullets, 2, 4);
  game.heading = 1;
  game.move_timer = 3;
  game.enemy_gun_timer = 7;
  EXPECT_EQ(Play(game), (Outcome{1, false}));
  EXPECT_TRUE(IsFreshWave(game));
  EXPECT_EQ(game.heading, 1);
  EXPECT_EQ(game.move_timer, 2);
  EXPECT_EQ(game.enemy_gun_timer, 6);
  EXPECT_EQ(CellsOf(game.enemy_bullets), (Cells{{3, 4}}));
  EXPECT_EQ(CellsOf(game.bullets), (Cells{{3, 7}})) << "in a cell of the new wave";
  EXPECT_EQ(Play(game), (Outcome{1, false}));
  EXPECT_FALSE(game.aliens[2] >> 7 & 1) << "hit with the bullet's next move";
  EXPECT_TRUE(game.aliens[3] >> 7 & 1);
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

TEST(MinatarSpaceInvaders, TheLastStepIsPlayedOut) {
  Game game = BeforeTheLastHit(12);
  Put(game.enemy_bullets, 8, 5);
  EXPECT_EQ(Play(game), (Outcome{1, true}));
  EXPECT_TRUE(IsFreshWave(game));
}

}  // namespace
}  // namespace starling::envs
