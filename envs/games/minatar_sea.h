// Fish, enemy subs, divers and bullets of minatar/seaquest (minatar_seaquest.h has its rules).
#pragma once

#include <cstdint>

#include "envs/games/minatar_grid.h"

namespace starling::envs {

struct MinatarSea : MinatarGrid<10> {
  static constexpr int kLastRow = 8, kEnemyCooldown = 10, kLongestWait = 5;

  // A fish, an enemy sub or a diver.
  struct Swimmer {
    std::int8_t column, row, step;  // step: -1 left, +1 right
    std::int8_t wait;               // steps until it moves
    std::int8_t gun;                // steps until it fires; of enemy subs only

    template <class State>
    constexpr void Fields(State& state) {
      state(column, 0, kSide - 1);
      state(row, 1, kLastRow);
      state(step, -1, 1);
      state(wait, 0, kLongestWait);
      state(gun, 0, kEnemyCooldown);
    }
    friend constexpr bool operator==(const Swimmer&, const Swimmer&) = default;

    // Counts down, or moves a cell and returns true.
    constexpr bool Swim(int next_wait) {
      if (wait > 0) {
        --wait;
        return false;
      }
      wait = Small(next_wait);
      column = Small(column + step);
      return true;
    }
  };
  struct Bullet {
    std::int8_t column, row, step;

    template <class State>
    constexpr void Fields(State& state) {
      state(column, 0, kSide - 1);
      state(row, 0, kLastRow);
      state(step, -1, 1);
    }
    friend constexpr bool operator==(const Bullet&, const Bullet&) = default;
  };

  // At most kMax things in order of age, the oldest first.
  template <class T, int kMax>
  struct List {
    T at[kMax] = {};
    int count = 0;

    // A full list, which no play leads to but a forged state may hold, takes nothing.
    constexpr void Add(const T& item) {
      if (count < kMax) at[count++] = item;
    }
    template <class State>
    constexpr void Fields(State& state) {
      state(count, 0, kMax);
      for (int i = 0; i < count; ++i) state(at[i]);
    }
    constexpr void RemoveAt(int index) {
      --count;
      for (int i = index; i < count; ++i) at[i] = at[i + 1];
    }
    // Removes the oldest thing in a cell. Returns whether there was one.
    constexpr bool RemoveFrom(int row, int column) {
      for (int i = 0; i < count; ++i) {
        if (at[i].row != row || at[i].column != column) continue;
        RemoveAt(i);
        return true;
      }
      return false;
    }
    friend constexpr bool operator==(const List& a, const List& b) {
      bool same = a.count == b.count;
      for (int i = 0; same && i < a.count; ++i) same = a.at[i] == b.at[i];
      return same;
    }
  };

  // The largest possible numbers. A swimmer leaves with its tenth move, and moves at least every
  // sixth step, the first time at most five steps after it entered: it stays for at most
  // 5 + 9 * 6 + 1 = 60 steps. In these at most 60 enemies enter, one a step, and two divers, one in
  // 30. A bullet of ours has nine cells ahead at most, so it leaves in the tenth step, and the
  // third shot is fired in the eleventh.
  static constexpr int kMaxEnemies = 60, kMaxDivers = 2, kMaxBullets = 2;
  using Enemies = List<Swimmer, kMaxEnemies>;

  friend constexpr bool operator==(const MinatarSea&, const MinatarSea&) = default;

 protected:
  // Positions, steps and counts of swimmers and bullets are within [-1, 30].
  static constexpr std::int8_t Small(int value) { return static_cast<std::int8_t>(value); }

  static constexpr Swimmer Entering(bool from_left, int row, int wait) {
    return {.column = Small(from_left ? 0 : kSide - 1),
            .row = Small(row),
            .step = Small(from_left ? 1 : -1),
            .wait = Small(wait),
            .gun = 0};
  }

  // Whether one of `enemies` swims the other way in the same row.
  static constexpr bool Opposes(const Enemies& enemies, const Swimmer& other) {
    for (int i = 0; i < enemies.count; ++i) {
      if (enemies.at[i].row == other.row && enemies.at[i].step != other.step) return true;
    }
    return false;
  }

  template <int kMax>
  static constexpr void Show(const List<Swimmer, kMax>& list, int channel, int trail_channel,
                             float* out) {
    for (int i = 0; i < list.count; ++i) {
      const Swimmer& swimmer = list.at[i];
      out[Cell(swimmer.row, swimmer.column) + channel] = 1;
      const int behind = swimmer.column - swimmer.step;
      if (InGrid(behind)) out[Cell(swimmer.row, behind) + trail_channel] = 1;
    }
  }
};

}  // namespace starling::envs
