// B copies of a game in the memory of a device: VecGame (envs/vec_env.h) with its arrays elsewhere.
//
// A Device runs kernel bodies: a GPU (gpu.cc), or plain loops in tests. It is a value with
//   Memory& memory() const;
//   void ForEachWarp(long long n, std::size_t bytes, const Body&) const;   as core/cuda/each.h
//
// Reset and Step only queue work: they wait for nothing, allocate nothing, and the work depends on
// no changing state of the host, so that they can be recorded (Gpu::Repeat).
//
// Ended episodes stay in the device's memory until they are taken. Every env has its own row with
// one place for each step, so none is lost and no env waits for another. TakeEpisodes reads back
// only as many places as the busiest env has used.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "core/check.h"
#include "core/config/config.h"
#include "core/cuda/each.h"
#include "core/memory.h"
#include "envs/cuda/play.h"
#include "envs/env.h"
#include "envs/vec_env.h"

namespace starling::envs {

template <Game G, class Device>
class DeviceGames final : public VecEnv {
 public:
  // `steps` >= 1: the most Steps between two calls of TakeEpisodes.
  DeviceGames(const Device& device, const EnvConfig& config, int num_envs, const EnvSeed& seed,
              int steps)
      : device_(device),
        spec_(SpecWith<G>(config)),
        num_envs_(num_envs),
        steps_(steps),
        seats_(envs(), device_.memory()),
        since_(envs(), device_.memory()),
        ended_(envs() * steps, device_.memory()),
        since_here_(envs(), device_.memory().host_side()),
        ended_here_(0, device_.memory().host_side()) {
    CHECK(steps >= 1, "steps = {}", steps);
    CHECK(Table<G>::Bytes(spec_.row()) <= cuda::kMaxScratch, "{} values are too large a picture",
          spec_.row());
    Buffer<Seat<G>> seats(envs(), device_.memory().host_side());
    std::size_t i = 0;
    for (const Player<G>& player : MakePlayers<G>(num_envs, seed, config)) {
      seats.span()[i++] = {.player = player};
    }
    device_.memory().Write(seats_.data(), seats.data(), seats_.span().size_bytes());
    device_.memory().Wait();
  }

  const EnvSpec& spec() const override { return spec_; }
  int size() const override { return num_envs_; }
  bool on_gpu() const override { return true; }

  void Reset(std::span<float> observations) override {
    CHECK(observations.size() == envs() * spec_.row());
    device_.ForEachWarp(num_envs_, Table<G>::Bytes(spec_.row()),
                        ResetGame<G>{.seats = seats_.data(),
                                     .obs_size = spec_.obs_size(),
                                     .row = static_cast<int>(spec_.row()),
                                     .observations = observations.data()});
  }

  void StepAsync(std::span<const std::int32_t> actions) override { actions_ = actions; }

  void StepWait(std::span<float> observations, std::span<float> rewards,
                std::span<std::uint8_t> terminals) override {
    CHECK(actions_.size() == envs() * kActionWidth<G> &&
              observations.size() == envs() * spec_.row() && rewards.size() == envs() &&
              terminals.size() == envs(),
          "{} words of actions, {} observed values, {} rewards, {} terminals for {} envs",
          actions_.size(), observations.size(), rewards.size(), terminals.size(), envs());
    device_.ForEachWarp(num_envs_, Table<G>::Bytes(spec_.row()),
                        StepGame<G>{.n = num_envs_,
                                    .largest = Largest(),
                                    .obs_size = spec_.obs_size(),
                                    .row = static_cast<int>(spec_.row()),
                                    .most_ended = steps_,
                                    .seats = seats_.data(),
                                    .since = since_.data(),
                                    .ended = ended_.data(),
                                    .actions = actions_.data(),
                                    .observations = observations.data(),
                                    .rewards = rewards.data(),
                                    .terminals = terminals.data()});
  }

  void TakeEpisodes(std::vector<EpisodeEnd>& out) override {
    out.insert(out.end(), fetched_.begin(), fetched_.end());
    fetched_.clear();
    FetchEpisodes(out);
  }

  std::string WhyNotSaved() const override { return ""; }
  // The fields of VecGame: a state may move between GPU and host.
  void Fields(StateBytes& state) override {
    FetchEpisodes(fetched_);
    Memory& memory = device_.memory();
    Buffer<Seat<G>> seats(envs(), memory.host_side());
    memory.Read(seats.data(), seats_.data(), seats_.span().size_bytes());
    memory.Wait();
    GameFields<G>(state, seats.span(), fetched_);
    if (!state.reading()) return;
    memory.Write(seats_.data(), seats.data(), seats_.span().size_bytes());
    memory.Wait();
  }

 private:
  std::size_t envs() const { return num_envs_; }

  // The largest value of each choice.
  ActionWords<G> Largest() const {
    ActionWords<G> largest{};
    std::size_t k = 0;
    for (const std::int32_t count : spec_.actions.counts) largest[k++] = count - 1;
    return largest;
  }

  // Moves the episodes that ended from the device to the end of `out`.
  void FetchEpisodes(std::vector<EpisodeEnd>& out) {
    // 1. Read the counts, which show how much there is to read.
    Memory& memory = device_.memory();
    memory.Read(since_here_.data(), since_.data(), since_.span().size_bytes());
    memory.Clear(since_.data(), since_.span().size_bytes());
    memory.Wait();
    SinceTaken most;
    for (const SinceTaken& since : since_here_.span()) {
      most = {std::max(most.steps, since.steps), std::max(most.ended, since.ended)};
    }
    CHECK(most.steps <= steps_, "{} steps since episodes were taken, made for {}", most.steps,
          steps_);
    if (most.ended == 0) return;
    // 2. Read that much, and bring it into order.
    const std::size_t size = most.ended * envs();
    ended_here_.Reserve(size);
    memory.Read(ended_here_.data(), ended_.data(), size * sizeof(EndedEpisode));
    memory.Wait();
    Order(out);
  }

  // Appends the episodes read to `out` in (step, env) order: a counting sort by step.
  void Order(std::vector<EpisodeEnd>& out) const {
    std::vector<std::size_t> place(steps_ + 1, 0);
    EachEnded([&](int, const EndedEpisode& episode) { ++place[episode.step + 1]; });
    place[0] = out.size();
    for (std::size_t step = 1; step < place.size(); ++step) place[step] += place[step - 1];
    out.resize(place.back());
    EachEnded([&](int env, const EndedEpisode& episode) {
      out[place[episode.step]++] = {env, episode.episode_return, episode.length};
    });
  }

  template <class Do>
  void EachEnded(const Do& todo) const {
    for (int env = 0; env < num_envs_; ++env) {
      for (int k = 0; k < since_here_.span()[env].ended; ++k) {
        todo(env, ended_here_.span()[k * envs() + env]);
      }
    }
  }

  Device device_;
  EnvSpec spec_;
  int num_envs_;
  int steps_;
  std::span<const std::int32_t> actions_;  // of the step under way
  Buffer<Seat<G>> seats_;                  // (B)
  Buffer<SinceTaken> since_;               // (B)
  Buffer<EndedEpisode> ended_;             // (steps, B), as StepGame
  Buffer<SinceTaken> since_here_;          // (B), the host's copy, as last read
  Buffer<EndedEpisode> ended_here_;        // (largest `ended` of an env, B), likewise
  std::vector<EpisodeEnd> fetched_;        // for the next TakeEpisodes
};

}  // namespace starling::envs
