// "minatar/asterix": a player among treasures and enemies that cross a 10 x 10 grid.
//
// Written from a description of the rules and tested against recorded play of the MinAtar package,
// step by step (envs/trace.h). Channels: player, enemy, trail (the cell behind an entity), gold.
// Six actions, of which the four directions have an effect. Reward 1 for a piece of gold; an enemy
// ends the episode.
//
// The player begins in row 5, column 5 and stays within rows 1 to 8, each of which holds at most
// one entity. One step, in this order:
//   entry      when due: an entity appears at one side edge of a free row.
//   player     moves one cell, within the outer walls.
//   touch      gold in the player's cell: +1, and it is removed. An enemy: the episode ends.
//   entities   when due: each moves a cell, also one that has just appeared; past the other edge it
//              is removed. Then the touch again.
//   ramp       when due: the interval of entries is a step shorter, at every second ramp that of
//              moves, too.
//
// Times: entries on step 11 and then every 10th, moves on step 6 and then every 5th, ramps on step
// 102 and then every 102nd. A ramp takes effect after the next entry and the next move. Ramp 9 is
// the last that changes anything: from then on both happen on every step.
//
// Easy to get wrong:
//   - An entry draws three times: side (below a half: the left), kind (below a third: gold), and
//     the index among the free rows, counted from above. Rows are free before the step's moves: a
//     row whose entity leaves in this very step is not.
//   - With no free row, side and kind are drawn, nothing enters, and the next entry is due after
//     the usual time.
//   - The touch is checked twice, so player and entity never pass through each other. But a player
//     who walks away in front of an entity is not touched.
//   - An enemy that the player walked into still moves, if moves are due, in the last picture.
//   - An entity at the edge where it entered has no trail.
#pragma once

#include <array>
#include <bit>
#include <cstdint>

#include "core/bits.h"
#include "envs/chance.h"
#include "envs/game.h"
#include "envs/games/minatar_grid.h"

namespace starling::envs {

struct MinatarAsterix : MinatarGrid<4> {
  static constexpr std::array<int, 5> kMinimalActions = {kNoop, kLeft, kUp, kRight, kDown};
  static constexpr int kPlayerChannel = 0, kEnemyChannel = 1, kTrailChannel = 2, kGoldChannel = 3;
  static constexpr int kFirstRow = 1, kRows = 8;  // rows 1 to 8 are played in
  static constexpr int kEntryPeriod = 10, kMovePeriod = 5, kRampPeriod = 102;  // in steps

  bool ramping = true;  // an option: survives a reset

  int player_row = 5, player_column = 5;
  // Bit i, element i: the entity of row kFirstRow + i.
  std::uint8_t present = 0, gold = 0, rightward = 0;
  int columns[kRows] = {};

  int entry_period = kEntryPeriod, move_period = kMovePeriod;  // steps
  int entry_timer = kEntryPeriod, move_timer = kMovePeriod;    // steps until due; 0: this one
  int ramp_timer = kRampPeriod - 1;
  bool moves_ramp_next = false;  // the next ramp makes moves faster, too

  static EnvSpec Spec() { return SpecOf("asterix"); }

  template <Chance C>
  constexpr void Reset(C&) {
    const bool kept = ramping;
    *this = {};
    ramping = kept;
  }

  template <Chance C>
  constexpr Outcome Step(int action, C& chance) {
    if (Due(entry_timer, entry_period)) Enter(chance);
    MovePlayer(action);
    Outcome outcome = Touch();
    if (Due(move_timer, move_period)) {
      MoveEntities();
      const Outcome moved = Touch();
      outcome.reward += moved.reward;
      outcome.terminal |= moved.terminal;
    }
    if (ramping && Due(ramp_timer, kRampPeriod)) Ramp();
    return outcome;
  }

  constexpr void Observe(float* out) const {
    Clear(out);
    out[Cell(player_row, player_column) + kPlayerChannel] = 1;
    for (unsigned left = present; left != 0; left &= left - 1) {
      const int slot = LowestBit(left);
      const int column = columns[slot], behind = column - StepOf(slot);
      out[Cell(kFirstRow + slot, column) + (Has(gold, slot) ? kGoldChannel : kEnemyChannel)] = 1;
      if (InGrid(behind)) out[Cell(kFirstRow + slot, behind) + kTrailChannel] = 1;
    }
  }

  template <class State>
  constexpr void Fields(State& state) {
    state(player_row, kFirstRow, kFirstRow + kRows - 1);
    state(player_column, 0, kSide - 1);
    state(present);
    state(gold);
    state(rightward);
    state(columns, 0, kSide - 1);
    state(entry_period, 1, kEntryPeriod);
    state(move_period, 1, kMovePeriod);
    state(entry_timer, 0, kEntryPeriod);
    state(move_timer, 0, kMovePeriod);
    state(ramp_timer, 0, kRampPeriod);
    state(moves_ramp_next);
  }

  friend constexpr bool operator==(const MinatarAsterix&, const MinatarAsterix&) = default;

 private:
  static constexpr bool Has(std::uint8_t set, int slot) { return (set >> slot & 1) != 0; }
  constexpr int StepOf(int slot) const { return Has(rightward, slot) ? 1 : -1; }

  // Counts one step down. A timer at 0 is due, and due again in `period` steps.
  static constexpr bool Due(int& timer, int period) {
    const bool due = timer == 0;
    timer = (due ? period : timer) - 1;
    return due;
  }

  template <Chance C>
  constexpr void Enter(C& chance) {
    const bool from_left = chance.Uniform() < 0.5;
    const bool is_gold = chance.Uniform() < 1.0 / 3;
    unsigned free = ~present & 0xffu;
    if (free == 0) return;
    for (int skip = chance.Below(std::popcount(free)); skip > 0; --skip) free &= free - 1;
    const int slot = LowestBit(free);
    columns[slot] = from_left ? 0 : kSide - 1;
    Set(present, slot, true);
    Set(gold, slot, is_gold);
    Set(rightward, slot, from_left);
  }

  static constexpr void Set(std::uint8_t& set, int slot, bool member) {
    const unsigned bit = 1u << slot;
    set = static_cast<std::uint8_t>(member ? set | bit : set & ~bit);
  }

  constexpr void MovePlayer(int action) {
    if (action == kLeft && player_column > 0) --player_column;
    if (action == kRight && player_column < kSide - 1) ++player_column;
    if (action == kUp && player_row > kFirstRow) --player_row;
    if (action == kDown && player_row < kFirstRow + kRows - 1) ++player_row;
  }

  constexpr void MoveEntities() {
    for (unsigned left = present; left != 0; left &= left - 1) {
      const int slot = LowestBit(left);
      columns[slot] += StepOf(slot);
      if (!InGrid(columns[slot])) Remove(slot);
    }
  }

  constexpr Outcome Touch() {
    const int slot = player_row - kFirstRow;
    if (!Has(present, slot) || columns[slot] != player_column) return {};
    if (!Has(gold, slot)) return {.terminal = true};
    Remove(slot);
    return {.reward = 1};
  }

  // Clears every value of a free row, so that equal positions compare equal.
  constexpr void Remove(int slot) {
    Set(present, slot, false);
    Set(gold, slot, false);
    Set(rightward, slot, false);
    columns[slot] = 0;
  }

  constexpr void Ramp() {
    if (entry_period > 1) --entry_period;
    if (moves_ramp_next && move_period > 1) --move_period;
    moves_ramp_next = !moves_ramp_next;
  }
};

}  // namespace starling::envs
