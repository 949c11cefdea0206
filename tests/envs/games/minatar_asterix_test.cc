// The rules of touching as a table, and those that recorded play reaches rarely or not at all, each
// from a position set up by hand. trace_test.cc holds all the others to recorded play.
#include "envs/games/minatar_asterix.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <vector>

namespace starling::envs::minatar_asterix_test {
namespace {

using Game = MinatarAsterix;

enum Kind { kEnemy, kGold };
constexpr int kRight = 1, kLeft = -1;
constexpr double kFromRight = 0.5, kIsGold = 0.33;

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

// No entry and no move is due for a hundred steps.
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

constexpr int kGone = -1;

TEST(MinatarAsterix, TouchIsLookedForAfterThePlayersMoveAndAfterTheEntities) {
  const Outcome gold{1, false}, end{0, true}, nothing{};
  const struct {
    const char* what;
    int column;  // of the player, in row 5
    Entity entity;
    int action;
    bool moves;  // the entities are due to move in this step
    Outcome outcome;
    int left;  // the column in which the entity is left
  } meetings[] = {
      {"walks into gold", 5, {5, 6, kLeft, kGold}, Game::kRight, false, gold, kGone},
      {"gold walks in", 5, {5, 6, kLeft, kGold}, Game::kNoop, true, gold, kGone},
      {"walks into an enemy", 5, {5, 6, kRight, kEnemy}, Game::kRight, false, end, 6},
      {"an enemy walks in", 5, {5, 4, kRight, kEnemy}, Game::kNoop, true, end, 5},
      {"they do not pass through each other", 5, {5, 6, kLeft, kEnemy}, Game::kRight, true, end, 5},
      {"an enemy walked into still moves", 5, {4, 5, kRight, kEnemy}, Game::kUp, true, end, 6},
      {"even off the grid", 8, {5, 9, kRight, kEnemy}, Game::kRight, true, end, kGone},
      {"walks away in front of it", 5, {5, 4, kRight, kEnemy}, Game::kRight, true, nothing, 5},
      {"but not against a wall", 9, {5, 8, kRight, kEnemy}, Game::kRight, true, end, 9},
  };
  for (const auto& [what, column, entity, action, moves, outcome, left] : meetings) {
    Game game = At(5, column, {entity});
    if (moves) game.move_timer = 0;
    EXPECT_EQ(Play(game, action), outcome) << what;
    std::vector<Entity> expected;
    if (left != kGone) expected.push_back({entity.row, left, entity.heading, entity.kind});
    EXPECT_EQ(EntitiesOf(game), expected) << what;
  }
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

// Every entity enters from the left and is gold. Counts the draws of reals.
struct Generous {
  int reals = 0;
  double Uniform() { return static_cast<double>(++reals) * 0; }
  int Below(int) { return 0; }
  int Between(int low, int) { return low; }
};

struct Schedule {
  std::vector<int> entries, moves;  // steps, from 1
};

// The steps in which entities enter and move. Row 8 always holds an entity in column 5, which shows
// the moves; the player stays in row 7, where gold ends nothing.
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

// The ramps of steps 102, 204, … before t precede an event in step t; each takes a step off the
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

}  // namespace
}  // namespace starling::envs::minatar_asterix_test
