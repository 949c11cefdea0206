// B copies of a game in the memory of a device: VecGame (envs/vec_env.h) with its arrays elsewhere.
//
// A Device runs kernel bodies: a GPU (gpu.cc), or plain loops in tests. It is a value with
//   Memory& memory() const;
//   void ForEachWarp(long long n, std::size_t bytes, const Body&) const;   as core/cuda/each.h
//
// Reset and Step only queue work: they wait for nothing, allocate nothing, and the work depends on
// no changing state of the host, so that they can be recorded (Gpu::Repeat).
//
// Ended episodes stay in the device's memory until they are queued (device_episodes.h).
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "core/check.h"
#include "core/config/config.h"
#include "core/cuda/each.h"
#include "core/memory.h"
#include "envs/cuda/device_episodes.h"
#include "envs/cuda/play.h"
#include "envs/env.h"
#include "envs/vec_env.h"

namespace starling::envs {

template <Game G, class Device>
class DeviceGames final : public VecEnv {
 public:
  // `steps` >= 1: the most Steps between two calls of QueueEpisodes.
  DeviceGames(const Device& device, const EnvConfig& config, int num_envs, const EnvSeed& seed,
              int steps)
      : device_(device),
        spec_(SpecWith<G>(config)),
        num_envs_(num_envs),
        seats_(envs(), device_.memory()),
        episodes_(device_, envs(), steps) {
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
                        StepGame<G>{.largest = Largest(),
                                    .obs_size = spec_.obs_size(),
                                    .row = static_cast<int>(spec_.row()),
                                    .seats = seats_.data(),
                                    .episodes = episodes_.table(),
                                    .actions = actions_.data(),
                                    .observations = observations.data(),
                                    .rewards = rewards.data(),
                                    .terminals = terminals.data()});
  }

  void QueueEpisodes() override { episodes_.Queue(); }
  void TakeEpisodes(std::vector<EpisodeEnd>& out) override {
    out.insert(out.end(), taken_.begin(), taken_.end());
    taken_.clear();
    untold_ += episodes_.Take(out);
  }
  std::uint64_t untold() const override { return untold_; }

  std::string WhyNotSaved() const override { return ""; }
  // The fields of VecGame: a state may move between GPU and host.
  void Fields(StateBytes& state) override {
    Memory& memory = device_.memory();
    memory.Wait();
    while (episodes_.waiting()) untold_ += episodes_.Take(taken_);
    episodes_.Queue();
    Buffer<Seat<G>> seats(envs(), memory.host_side());
    memory.Read(seats.data(), seats_.data(), seats_.span().size_bytes());
    memory.Wait();
    untold_ += episodes_.Take(taken_);
    GameFields<G>(state, seats.span(), taken_);
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

  Device device_;
  EnvSpec spec_;
  int num_envs_;
  std::span<const std::int32_t> actions_;  // of the step under way
  Buffer<Seat<G>> seats_;                  // (B)
  DeviceEpisodes<Device> episodes_;
  std::vector<EpisodeEnd> taken_;  // for the next TakeEpisodes
  std::uint64_t untold_ = 0;
};

}  // namespace starling::envs
