// The rules that recorded play reaches rarely or not at all, each from a position set up by hand.
// What the traces show often is held by trace_test.cc.
#include "envs/games/minatar_asterix.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <vector>

namespace starling::envs {
namespace {

using Game = MinatarAsterix;

enum Kind { kEnemy, kGold };
constexpr int kRight = 1, kLeft = -1;
constexpr double kFromLeft = 0.49, kFromRight = 0.5, kIsGold = 0.33, kIsEnemy = 0.34;

struct Entity {
  int row, column, heading;
  Kind kind;
  friend bool operator==(const Entity&, const Entity&) = default;
  friend void PrintTo(const Entity& entity, std::ostream* out) {
    *out << (entity.kind == kGold ? "gold" : "enemy") << " at (" << entity.row << ", "
         << entity.column << "), heading " << entity.heading;
  }
};

void Place(Game& game, const Entity& entity) {
  const int slot = entity.row - Game::kFirstRow;
  const auto bit = static_cast<std::uint8_t>(1u << slot);
  game.present |= bit;
  if (entity.kind == kGold) game.gold |= bit;
  if (entity.heading == kRight) game.rightward |= bit;
  game.columns[slot] = static_cast<std::int8_t>(entity.column);
}

// Nothing is due for long.
Game At(int row, int column, const std::vector<Entity>& entities = {}) {
  Game game;
  game.player_row = static_cast<std::int8_t>(row);
  game.player_column = static_cast<std::int8_t>(column);
  game.entry_timer = game.move_timer = 100;
  for (const Entity& entity : entities) Place(game, entity);
  return game;
}

std::vector<Entity> EntitiesOf(const Game& game) {
  std::vector<Entity> entities;
  for (int slot = 0; slot < Game::kRows; ++slot) {
    if ((game.present >> slot & 1) == 0) continue;
    entities.push_back({slot + Game::kFirstRow, game.columns[slot],
                        game.rightward >> slot & 1 ? kRight : kLeft,
                        game.gold >> slot & 1 ? kGold : kEnemy});
  }
  return entities;
}

std::vector<Draw> Entry(double side, double kind, int free_rows, int chosen) {
  return {Draw::Uniform(side), Draw::Uniform(kind), Draw::Below(free_rows, chosen)};
}

Outcome Play(Game& game, int action = Game::kNoop, const std::vector<Draw>& draws = {}) {
  ScriptedChance chance(draws);
  const Outcome outcome = game.Step(action, chance);
  EXPECT_EQ(chance.Mismatch(), "");
  return outcome;
}

Outcome PlayMoving(Game& game, int action = Game::kNoop) {
  game.move_timer = 0;
  return Play(game, action);
}

Outcome PlayEntering(Game& game, int action, const std::vector<Draw>& draws) {
  game.entry_timer = 0;
  return Play(game, action, draws);
}

TEST(MinatarAsterix, StartsEmptyInTheMiddle) {
  Game game = At(3, 2, {{4, 4, kLeft, kGold}});
  ScriptedChance none({});
  game.Reset(none);
  EXPECT_EQ(none.Mismatch(), "");
  EXPECT_EQ(game, Game{});
  EXPECT_EQ(game.player_row, 5);
  EXPECT_EQ(game.player_column, 5);
  EXPECT_TRUE(EntitiesOf(game).empty());
}

TEST(MinatarAsterix, TheFourDirectionsMoveAndTheWallsHold) {
  struct Case {
    int action, row, column;
  };
  for (const Case& c : {Case{Game::kNoop, 5, 5}, Case{Game::kFire, 5, 5}, Case{Game::kLeft, 5, 4},
                        Case{Game::kRight, 5, 6}, Case{Game::kUp, 4, 5}, Case{Game::kDown, 6, 5}}) {
    Game game = At(5, 5);
    EXPECT_EQ(Play(game, c.action), Outcome{});
    EXPECT_EQ(game.player_row, c.row) << c.action;
    EXPECT_EQ(game.player_column, c.column) << c.action;
  }
  Game upper = At(2, 1), lower = At(7, 8);
  for (int step = 0; step < 3; ++step) {
    for (const int action : {Game::kUp, Game::kLeft}) Play(upper, action);
    for (const int action : {Game::kDown, Game::kRight}) Play(lower, action);
    EXPECT_EQ(upper.player_row, 1);
    EXPECT_EQ(upper.player_column, 0);
    EXPECT_EQ(lower.player_row, 8);
    EXPECT_EQ(lower.player_column, 9);
  }
}

TEST(MinatarAsterix, MinimalActionsAreThoseThatMove) {
  EXPECT_TRUE(std::is_sorted(Game::kMinimalActions.begin(), Game::kMinimalActions.end()));
  for (int action = 0; action < Game::kNumActions; ++action) {
    Game acted = At(5, 5), idle = At(5, 5);
    Play(acted, action);
    Play(idle);
    const bool listed =
        std::count(Game::kMinimalActions.begin(), Game::kMinimalActions.end(), action) == 1;
    EXPECT_EQ(listed, acted != idle || action == Game::kNoop) << action;
  }
}

TEST(MinatarAsterix, ShowsFourChannelsAndTrailsOnTheGridOnly) {
  const Game game = At(5, 3,
                       {{1, 0, kRight, kGold},     // just in: no trail
                        {2, 9, kLeft, kEnemy},     // just in: no trail
                        {3, 9, kRight, kEnemy},    // about to leave: trail at 8
                        {4, 0, kLeft, kGold},      // about to leave: trail at 1
                        {5, 4, kRight, kEnemy}});  // its trail lies under the player
  std::vector<float> seen(400, -1);
  game.Observe(seen.data());
  const auto at = [&](int row, int column, int channel) {
    return seen[static_cast<std::size_t>((row * 10 + column) * 4 + channel)];
  };
  EXPECT_EQ(at(5, 3, 0), 1);
  EXPECT_EQ(at(1, 0, 3), 1);
  EXPECT_EQ(at(2, 9, 1), 1);
  EXPECT_EQ(at(3, 9, 1), 1);
  EXPECT_EQ(at(3, 8, 2), 1);
  EXPECT_EQ(at(4, 0, 3), 1);
  EXPECT_EQ(at(4, 1, 2), 1);
  EXPECT_EQ(at(5, 4, 1), 1);
  EXPECT_EQ(at(5, 3, 2), 1);
  EXPECT_EQ(std::accumulate(seen.begin(), seen.end(), 0.0f), 9) << "and nothing else is lit";
}

TEST(MinatarAsterix, AnEntryDrawsSideKindAndFreeRow) {
  const std::vector<Entity> there = {
      {1, 5, kRight, kEnemy}, {4, 5, kRight, kEnemy}, {8, 5, kRight, kEnemy}};
  const int free_rows[] = {2, 3, 5, 6, 7};
  for (int chosen = 0; chosen < 5; ++chosen) {
    for (const double side : {kFromLeft, kFromRight}) {
      for (const double kind : {kIsGold, kIsEnemy}) {
        Game game = At(5, 5, there);
        PlayEntering(game, Game::kNoop, Entry(side, kind, 5, chosen));
        const Entity entered = {free_rows[chosen], side == kFromLeft ? 0 : 9,
                                side == kFromLeft ? kRight : kLeft,
                                kind == kIsGold ? kGold : kEnemy};
        const std::vector<Entity> now = EntitiesOf(game);
        EXPECT_EQ(now.size(), 4u);
        EXPECT_EQ(std::count(now.begin(), now.end(), entered), 1) << chosen;
        EXPECT_EQ(game.entry_timer, 9) << "due again ten steps later";
      }
    }
  }
}

TEST(MinatarAsterix, AnEntityMovesInTheStepInWhichItEnters) {
  Game left = At(5, 5), right = At(5, 5);
  left.move_timer = right.move_timer = 0;
  PlayEntering(left, Game::kNoop, Entry(kFromLeft, kIsEnemy, 8, 2));
  PlayEntering(right, Game::kNoop, Entry(kFromRight, kIsEnemy, 8, 2));
  EXPECT_EQ(EntitiesOf(left), (std::vector<Entity>{{3, 1, kRight, kEnemy}}));
  EXPECT_EQ(EntitiesOf(right), (std::vector<Entity>{{3, 8, kLeft, kEnemy}}));
}

TEST(MinatarAsterix, AnEntityThatEntersOnThePlayerTouches) {
  Game gold = At(3, 0), enemy = At(3, 9);
  EXPECT_EQ(PlayEntering(gold, Game::kNoop, Entry(kFromLeft, kIsGold, 8, 2)), (Outcome{1, false}));
  EXPECT_TRUE(EntitiesOf(gold).empty());
  EXPECT_EQ(PlayEntering(enemy, Game::kNoop, Entry(kFromRight, kIsEnemy, 8, 2)),
            (Outcome{0, true}));
}

TEST(MinatarAsterix, AnEntryTouchesOnlyAfterThePlayersMove) {
  Game leaves = At(3, 0), arrives = At(2, 0);
  EXPECT_EQ(PlayEntering(leaves, Game::kUp, Entry(kFromLeft, kIsEnemy, 8, 2)), Outcome{});
  EXPECT_EQ(PlayEntering(arrives, Game::kDown, Entry(kFromLeft, kIsEnemy, 8, 2)),
            (Outcome{0, true}));
}

// In at column 0, on to column 1 in the same step, where the player stands.
TEST(MinatarAsterix, AnEntityThatEntersMayReachThePlayerAtOnce) {
  Game game = At(3, 1);
  game.move_timer = 0;
  EXPECT_EQ(PlayEntering(game, Game::kNoop, Entry(kFromLeft, kIsEnemy, 8, 2)), (Outcome{0, true}));
  EXPECT_EQ(EntitiesOf(game), (std::vector<Entity>{{3, 1, kRight, kEnemy}}));
}

std::vector<Entity> EightEnemiesAt(int column) {
  std::vector<Entity> entities;
  for (int row = 1; row <= 8; ++row) entities.push_back({row, column, kRight, kEnemy});
  return entities;
}

TEST(MinatarAsterix, WithNoFreeRowSideAndKindAreDrawnAndNothingEnters) {
  Game game = At(5, 5, EightEnemiesAt(2));
  EXPECT_EQ(PlayEntering(game, Game::kNoop, {Draw::Uniform(0.2), Draw::Uniform(0.2)}), Outcome{});
  EXPECT_EQ(EntitiesOf(game), EightEnemiesAt(2));
  EXPECT_EQ(game.entry_timer, 9);
}

TEST(MinatarAsterix, ARowIsNotFreeInTheStepInWhichItsEntityLeaves) {
  std::vector<Entity> entities = EightEnemiesAt(2);
  entities[3].column = 9;
  Game full = At(5, 5, entities);
  full.move_timer = 0;
  PlayEntering(full, Game::kNoop, {Draw::Uniform(0.2), Draw::Uniform(0.2)});
  EXPECT_EQ(EntitiesOf(full).size(), 7u);

  entities.erase(entities.begin() + 6);
  Game one_free = At(5, 5, entities);
  one_free.move_timer = 0;
  PlayEntering(one_free, Game::kNoop, Entry(kFromRight, kIsGold, 1, 0));
  EXPECT_EQ(EntitiesOf(one_free).size(), 7u) << "one in, one out";
  EXPECT_EQ(EntitiesOf(one_free)[5], (Entity{7, 8, kLeft, kGold}));
}

TEST(MinatarAsterix, EntitiesLeaveAtTheFarEdge) {
  Game game = At(8, 5, {{1, 9, kRight, kGold}, {2, 0, kLeft, kEnemy}, {3, 8, kRight, kGold}});
  EXPECT_EQ(PlayMoving(game), Outcome{});
  EXPECT_EQ(EntitiesOf(game), (std::vector<Entity>{{3, 9, kRight, kGold}}));
  PlayMoving(game);
  Game empty = At(8, 5);
  empty.entry_timer = game.entry_timer;
  empty.move_timer = game.move_timer;
  empty.ramp_timer = game.ramp_timer;
  EXPECT_EQ(game, empty) << "nothing remains of them";
}

TEST(MinatarAsterix, WalkingIntoGoldTakesIt) {
  Game game = At(5, 5, {{5, 6, kLeft, kGold}, {6, 6, kLeft, kGold}});
  game.move_timer = 0;
  EXPECT_EQ(Play(game, Game::kRight), (Outcome{1, false}));
  EXPECT_EQ(EntitiesOf(game), (std::vector<Entity>{{6, 5, kLeft, kGold}}));
  EXPECT_EQ(game.player_column, 6);
}

TEST(MinatarAsterix, GoldThatWalksIntoThePlayerIsTaken) {
  Game game = At(5, 5, {{5, 6, kLeft, kGold}});
  EXPECT_EQ(PlayMoving(game), (Outcome{1, false}));
  EXPECT_TRUE(EntitiesOf(game).empty());
}

TEST(MinatarAsterix, AnEnemyEndsTheEpisodeWhoeverWalks) {
  Game player_walks = At(5, 5, {{5, 6, kRight, kEnemy}});
  EXPECT_EQ(Play(player_walks, Game::kRight), (Outcome{0, true}));
  Game enemy_walks = At(5, 5, {{5, 4, kRight, kEnemy}});
  EXPECT_EQ(PlayMoving(enemy_walks), (Outcome{0, true}));
}

TEST(MinatarAsterix, AnEnemyWalkedIntoStillMovesInTheLastPicture) {
  Game game = At(4, 6, {{5, 6, kRight, kEnemy}, {2, 3, kLeft, kGold}});
  EXPECT_EQ(PlayMoving(game, Game::kDown), (Outcome{0, true}));
  EXPECT_EQ(EntitiesOf(game), (std::vector<Entity>{{2, 2, kLeft, kGold}, {5, 7, kRight, kEnemy}}));
}

// The enemy leaves the grid in the very step in which the player has walked into it.
TEST(MinatarAsterix, AnEnemyThatLeavesStillEndsTheEpisode) {
  Game game = At(5, 8, {{5, 9, kRight, kEnemy}});
  EXPECT_EQ(PlayMoving(game, Game::kRight), (Outcome{0, true}));
  EXPECT_TRUE(EntitiesOf(game).empty());
}

TEST(MinatarAsterix, PlayerAndEnemyNeverPassThroughEachOther) {
  Game game = At(5, 5, {{5, 6, kLeft, kEnemy}});
  EXPECT_TRUE(PlayMoving(game, Game::kRight).terminal);
  Game apart = At(5, 5, {{5, 7, kLeft, kEnemy}});
  EXPECT_TRUE(PlayMoving(apart, Game::kRight).terminal);
}

TEST(MinatarAsterix, WalkingAwayInFrontOfAnEnemySaves) {
  Game game = At(5, 5, {{5, 4, kRight, kEnemy}});
  EXPECT_EQ(PlayMoving(game, Game::kRight), Outcome{});
  EXPECT_EQ(EntitiesOf(game)[0].column, 5);
  EXPECT_EQ(PlayMoving(game, Game::kDown), Outcome{});
}

// The outer wall holds the player, and the enemy arrives.
TEST(MinatarAsterix, AgainstTheWallThereIsNoWalkingAway) {
  Game game = At(5, 9, {{5, 8, kRight, kEnemy}});
  EXPECT_TRUE(PlayMoving(game, Game::kRight).terminal);
}

// Everything comes from the left and is gold; counts the draws.
struct Generous {
  int reals = 0;
  double Uniform() { return static_cast<double>(++reals) * 0; }
  int Below(int) { return 0; }
  int Between(int low, int) { return low; }
};

struct Schedule {
  std::vector<int> entries, moves;  // steps, from 1
};

// When entities enter and move. Row 8 always holds an entity in column 5, to see it move; the
// player, who has nothing to fear from gold, stays in row 7.
Schedule Watch(Game game, int steps) {
  Schedule schedule;
  Generous chance;
  game.player_row = 7;
  for (int step = 1; step <= steps; ++step) {
    Place(game, {8, 5, kRight, kGold});
    const int reals = chance.reals;
    EXPECT_FALSE(game.Step(Game::kNoop, chance).terminal);
    if (chance.reals == reals + 2) schedule.entries.push_back(step);
    if (game.columns[7] == 6) schedule.moves.push_back(step);
  }
  return schedule;
}

// An event in step t comes after the ramps of steps 102, 204, … before t; each takes a step off the
// wait for the next entry, every second one a step off the wait for the next move.
TEST(MinatarAsterix, RampsHurryEntriesEveryTimeAndMovesEveryOtherTime) {
  const Schedule seen = Watch(Game{}, 1500);
  std::vector<int> entries, moves;
  for (int t = 11; t <= 1500; t += std::max(1, 10 - (t - 1) / 102)) entries.push_back(t);
  for (int t = 6; t <= 1500; t += std::max(1, 5 - (t - 1) / 102 / 2)) moves.push_back(t);
  EXPECT_EQ(seen.entries, entries);
  EXPECT_EQ(seen.moves, moves);
  const auto count = [](const std::vector<int>& steps, int from, int to) {
    return std::count_if(steps.begin(), steps.end(), [=](int t) { return t >= from && t <= to; });
  };
  EXPECT_EQ(count(seen.entries, 1, 111), 11) << "11, 21, … 111";
  EXPECT_EQ(seen.entries[11], 120);
  EXPECT_EQ(count(seen.moves, 206, 210), 2) << "206, and four steps later 210";
  EXPECT_EQ(count(seen.moves, 815, 1500), 684) << "816, then every step from 818 on";
  EXPECT_EQ(count(seen.entries, 917, 1500), 583) << "917, then every step from 919 on";
}

TEST(MinatarAsterix, WithoutRampingThePaceStays) {
  Game game;
  game.ramping = false;
  const Schedule seen = Watch(game, 1500);
  std::vector<int> entries, moves;
  for (int t = 11; t <= 1500; t += 10) entries.push_back(t);
  for (int t = 6; t <= 1500; t += 5) moves.push_back(t);
  EXPECT_EQ(seen.entries, entries);
  EXPECT_EQ(seen.moves, moves);
}

TEST(MinatarAsterix, ResetLeavesRampingAsItIs) {
  ScriptedChance none({});
  for (const bool ramping : {true, false}) {
    Game game = At(3, 3), fresh;
    game.ramping = fresh.ramping = ramping;
    game.entry_period = 4;
    game.Reset(none);
    EXPECT_EQ(game, fresh);
  }
}

// At the top of the ramp something enters and everything moves in every step. Entries from the left
// fill the rows from above; row r is entered in step r and left at the end of step r + 9.
TEST(MinatarAsterix, TheGridFillsUpAtTheTopOfTheRamp) {
  Game game = At(8, 9);
  game.entry_period = game.move_period = 1;
  game.entry_timer = game.move_timer = 0;
  for (int step = 1; step <= 8; ++step) {
    EXPECT_EQ(Play(game, Game::kNoop, Entry(kFromLeft, kIsEnemy, 9 - step, 0)), Outcome{});
  }
  const std::vector<Draw> full = {Draw::Uniform(kFromLeft), Draw::Uniform(kIsGold)};
  Play(game, Game::kNoop, full);
  EXPECT_EQ(EntitiesOf(game).size(), 8u);
  Play(game, Game::kNoop, full);
  EXPECT_EQ(EntitiesOf(game).size(), 7u);
  Play(game, Game::kNoop, Entry(kFromRight, kIsGold, 1, 0));
  EXPECT_EQ(EntitiesOf(game).size(), 7u) << "row 1 entered, row 2 left";
  EXPECT_EQ(EntitiesOf(game)[0], (Entity{1, 8, kLeft, kGold}));
  EXPECT_EQ(EntitiesOf(game)[1].row, 3);
}

}  // namespace
}  // namespace starling::envs
