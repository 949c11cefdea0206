// One env on a GPU: the first lane of its warp plays it in memory that the lanes share, then all
// lanes copy the picture out side by side. An env has a warp to itself, because games are full of
// branches: 32 of them in one warp would wait for each other at every one.
//
// Compiled by nvcc, too: nothing in here uses the host.
#pragma once

#include <cstddef>
#include <cstdint>
#include <new>

#include "core/cuda/each.h"
#include "envs/cuda/episodes.h"
#include "envs/env.h"
#include "envs/game.h"

namespace starling::envs {

// The memory that the lanes of an env share: its seat, then its row of observations.
template <Game G>
class Table {
 public:
  static constexpr std::size_t Bytes(std::size_t row) { return kRow + row * sizeof(float); }

  HOST_DEVICE explicit Table(std::byte* scratch) : scratch_(scratch) {}
  HOST_DEVICE Seat<G>& seat() const { return *std::launder(reinterpret_cast<Seat<G>*>(scratch_)); }
  HOST_DEVICE float* row() const { return reinterpret_cast<float*>(scratch_ + kRow); }

  template <class Lanes>
  HOST_DEVICE void CarryIn(const Seat<G>& seat, Lanes lanes) const {
    Carry(scratch_, &seat, lanes);
    lanes.Sync();
  }
  template <class Lanes>
  HOST_DEVICE void CarryOut(int values, Lanes lanes, Seat<G>& seat, float* observation) const {
    lanes.Sync();
    Carry(&seat, scratch_, lanes);
    const float* const from = row();
    for (int k = lanes.index(); k < values; k += lanes.count()) observation[k] = from[k];
  }

 private:
  using Word [[gnu::may_alias]] = std::uint64_t;
  static constexpr int kWords = sizeof(Seat<G>) / sizeof(Word);
  static constexpr std::size_t kRow = (sizeof(Seat<G>) + 15) / 16 * 16;
  static_assert(alignof(Seat<G>) == alignof(Word) && sizeof(Seat<G>) % sizeof(Word) == 0);

  // Copies a seat, its words dealt to the lanes in turn.
  template <class Lanes>
  HOST_DEVICE static void Carry(void* to, const void* from, Lanes lanes) {
    auto* const to_words = static_cast<Word*>(to);
    const auto* const from_words = static_cast<const Word*>(from);
    for (int k = lanes.index(); k < kWords; k += lanes.count()) to_words[k] = from_words[k];
  }

  std::byte* scratch_;
};

// Begins an episode in every env.
template <Game G>
struct ResetGame {
  Seat<G>* seats;       // (n)
  int obs_size, row;    // of EnvSpec
  float* observations;  // (n, row)

  template <class Lanes>
  HOST_DEVICE void operator()(long long i, Lanes lanes, std::byte* scratch) const {
    const Table<G> table(scratch);
    table.CarryIn(seats[i], lanes);
    if (lanes.index() == 0) {
      table.seat().Restart();
      ShowTo(table.row(), obs_size, table.seat().player.game);
    }
    table.CarryOut(row, lanes, seats[i], observations + i * row);
  }
};

// Plays a step in every env, and resets an env whose episode ended.
template <Game G>
struct StepGame {
  ActionWords<G> largest;  // value of each choice
  int obs_size, row;       // of EnvSpec
  Seat<G>* seats;          // (n)
  EpisodeTable episodes;
  const std::int32_t* actions;  // (n, width)
  float* observations;          // (n, row)
  float* rewards;
  std::uint8_t* terminals;

  template <class Lanes>
  HOST_DEVICE void operator()(long long i, Lanes lanes, std::byte* scratch) const {
    const Table<G> table(scratch);
    table.CarryIn(seats[i], lanes);
    if (lanes.index() == 0) {
      Play(i, table.seat());
      ShowTo(table.row(), obs_size, table.seat().player.game);
    }
    table.CarryOut(row, lanes, seats[i], observations + i * row);
  }

 private:
  HOST_DEVICE void Play(long long i, Seat<G>& seat) const {
    const Outcome outcome = seat.Play(Asked(i));
    rewards[i] = outcome.reward;
    terminals[i] = static_cast<std::uint8_t>(outcome.end());
    EndedEpisode ended;
    if (outcome.terminal) {
      ended = {seat.episode_return, seat.length};
      seat.Restart();
    }
    episodes.Add(i, ended);
  }

  // The action of env i, a choice out of range as the nearest of its values.
  HOST_DEVICE ActionOf<G> Asked(long long i) const {
    constexpr int kWidth = kActionWidth<G>;
    ActionWords<G> words{};
    for (int k = 0; k < kWidth; ++k) {
      const std::int32_t asked = actions[i * kWidth + k], last = largest[k];
      words[k] = kHasBox<G> ? asked : asked < 0 ? 0 : asked > last ? last : asked;
    }
    return ActionFrom<G>(words.data());
  }
};

}  // namespace starling::envs
