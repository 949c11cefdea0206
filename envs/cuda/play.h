// What a GPU does with one env: its first lane plays it in memory that the lanes share, then all of them
// carry the picture out side by side. An env has a warp to itself, because games are all branches:
// 32 of them in one warp would wait for each other at every one.
//
// Compiled by nvcc, too: nothing in here looks at the host.
#pragma once

#include <cstddef>
#include <cstdint>
#include <new>

#include "core/cuda/each.h"
#include "envs/env.h"
#include "envs/game.h"
#include "envs/player.h"

namespace starling::envs {

template <Game G>
struct Seat {
  Player<G> player;
  double episode_return = 0;
  std::int64_t length = 0;

  constexpr void Restart() {
    player.Restart();
    episode_return = 0;
    length = 0;
  }
};

// An episode that ended, in the step of that number since episodes were last taken.
struct EndedEpisode {
  double episode_return = 0;
  std::int64_t length = 0;
  std::int64_t step = 0;
};

// Of one env, since episodes were last taken.
struct SinceTaken {
  std::int32_t steps = 0, ended = 0;
};

// What the lanes of an env share: its seat, and behind it its picture.
template <Game G>
class Table {
 public:
  static constexpr std::size_t Bytes(int obs_size) {
    return kPicture + static_cast<std::size_t>(obs_size) * sizeof(float);
  }

  HOST_DEVICE explicit Table(std::byte* scratch) : scratch_(scratch) {}
  HOST_DEVICE Seat<G>& seat() const { return *std::launder(reinterpret_cast<Seat<G>*>(scratch_)); }
  HOST_DEVICE float* picture() const { return reinterpret_cast<float*>(scratch_ + kPicture); }

  template <class Lanes>
  HOST_DEVICE void CarryIn(const Seat<G>& seat, Lanes lanes) const {
    Carry(scratch_, &seat, lanes);
    lanes.Sync();
  }
  template <class Lanes>
  HOST_DEVICE void CarryOut(int obs_size, Lanes lanes, Seat<G>& seat, float* observation) const {
    lanes.Sync();
    Carry(&seat, scratch_, lanes);
    const float* const from = picture();
    for (int k = lanes.index(); k < obs_size; k += lanes.count()) observation[k] = from[k];
  }

 private:
  using Word [[gnu::may_alias]] = std::uint64_t;
  static constexpr int kWords = sizeof(Seat<G>) / sizeof(Word);
  static constexpr std::size_t kPicture = (sizeof(Seat<G>) + 15) / 16 * 16;
  static_assert(alignof(Seat<G>) == alignof(Word) && sizeof(Seat<G>) % sizeof(Word) == 0);

  // A seat, a word for each lane in turn.
  template <class Lanes>
  HOST_DEVICE static void Carry(void* to, const void* from, Lanes lanes) {
    auto* const to_words = static_cast<Word*>(to);
    const auto* const from_words = static_cast<const Word*>(from);
    for (int k = lanes.index(); k < kWords; k += lanes.count()) to_words[k] = from_words[k];
  }

  std::byte* scratch_;
};

// A fresh episode in every env.
template <Game G>
struct ResetGame {
  Seat<G>* seats;  // (n)
  int obs_size;
  float* observations;  // (n, obs_size)

  template <class Lanes>
  HOST_DEVICE void operator()(long long i, Lanes lanes, std::byte* scratch) const {
    const Table<G> table(scratch);
    table.CarryIn(seats[i], lanes);
    if (lanes.index() == 0) {
      table.seat().Restart();
      table.seat().player.game.Observe(table.picture());
    }
    table.CarryOut(obs_size, lanes, seats[i], observations + i * obs_size);
  }
};

// A step in every env; whoever is over begins anew at once.
template <Game G>
struct StepGame {
  long long n;
  int num_actions, obs_size;
  std::int32_t most_ended;  // rows of `ended`
  Seat<G>* seats;           // (n)
  SinceTaken* since;        // (n)
  EndedEpisode* ended;      // (most_ended, n); row k: the k-th to end of each env
  const std::int32_t* actions;
  float* observations;  // (n, obs_size)
  float* rewards;
  std::uint8_t* terminals;

  template <class Lanes>
  HOST_DEVICE void operator()(long long i, Lanes lanes, std::byte* scratch) const {
    const Table<G> table(scratch);
    table.CarryIn(seats[i], lanes);
    if (lanes.index() == 0) {
      Play(i, table.seat());
      table.seat().player.game.Observe(table.picture());
    }
    table.CarryOut(obs_size, lanes, seats[i], observations + i * obs_size);
  }

 private:
  HOST_DEVICE void Play(long long i, Seat<G>& seat) const {
    const std::int32_t asked = actions[i], last = num_actions - 1;
    const Outcome outcome = seat.player.Play(asked < 0 ? 0 : asked > last ? last : asked);
    seat.episode_return += static_cast<double>(outcome.reward);
    ++seat.length;
    rewards[i] = outcome.reward;
    terminals[i] = static_cast<std::uint8_t>(outcome.terminal ? End::kTerminated : End::kRunning);
    SinceTaken counts = since[i];
    if (outcome.terminal) {
      if (counts.ended < most_ended) {
        ended[counts.ended * n + i] = {seat.episode_return, seat.length, counts.steps};
      }
      ++counts.ended;
      seat.Restart();
    }
    ++counts.steps;
    since[i] = counts;
  }
};

}  // namespace starling::envs
