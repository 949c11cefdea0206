// The episodes of envs on a device (episodes.h), from their steps to the host.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "core/check.h"
#include "core/memory.h"
#include "envs/cuda/episodes.h"
#include "envs/env.h"

namespace starling::envs {

// Device: as that of DeviceGames.
template <class Device>
class DeviceEpisodes {
 public:
  // `steps` >= 1: the most between two calls of Queue.
  DeviceEpisodes(const Device& device, std::size_t envs, int steps)
      : device_(device),
        chunk_(std::max(kSmallest, (steps * envs + kMostChunks - 1) / kMostChunks)),
        ended_(steps * envs, memory()),
        steps_(envs, memory()),
        counts_((ended_.size() + chunk_ - 1) / chunk_, memory()),
        newest_(1, memory()),
        newest_here_(kMaxUnderWay, memory().host_side()),
        table_{.ended = ended_.data(),
               .steps = steps_.data(),
               .counts = counts_.data(),
               .envs = static_cast<long long>(envs),
               .chunk = static_cast<long long>(chunk_),
               .most_steps = steps,
               .chunks = static_cast<std::int32_t>(counts_.size())} {
    CHECK(steps >= 1, "steps = {}", steps);
  }

  const EpisodeTable& table() const { return table_; }  // for the steps
  bool waiting() const { return taken_ < queued_; }     // a lot waits for its Take

  // Queues one lot of episodes for one Take. If kMaxUnderWay lots wait already, the oldest is lost.
  void Queue() {
    taken_ = std::max(taken_, queued_ - std::min<std::uint64_t>(queued_, kMaxUnderWay - 1));
    device_.ForEachWarp(table_.chunks, 0, CountEpisodes{table_});
    device_.ForEachWarp(table_.chunks, 0, KeepNewestEpisodes{table_, newest_.data()});
    Read<NewestEpisodes>(memory(), newest_here_.span().subspan(queued_++ % kMaxUnderWay, 1),
                         newest_.span());
    Clear(memory(), steps_.span());
  }

  // Appends the newest episodes of the oldest lot, in (step, env) order. Returns the number of the
  // others. REQUIRES: the device's work up to its Queue was waited for.
  std::uint64_t Take(std::vector<EpisodeEnd>& out) {
    if (!waiting()) return 0;
    const NewestEpisodes& newest = newest_here_.span()[taken_++ % kMaxUnderWay];
    CHECK(newest.steps <= table_.most_steps, "{} steps since episodes were queued, made for {}",
          newest.steps, table_.most_steps);
    const auto all = static_cast<std::uint64_t>(newest.count);
    const std::size_t kept = std::min<std::size_t>(all, kKeptEpisodes);
    for (std::size_t k = kept; k-- > 0;) {
      const auto& [env, ended] = newest.newest[k];
      out.push_back({static_cast<int>(env), ended.episode_return, ended.length});
    }
    return all - kept;
  }

 private:
  // The least entries of a chunk, and the most chunks: one thread searches a chunk, one warp adds
  // up all counts.
  static constexpr std::size_t kSmallest = 256, kMostChunks = 1024;

  Memory& memory() const { return device_.memory(); }

  Device device_;
  const std::size_t chunk_;
  Buffer<EndedEpisode> ended_;
  Buffer<std::int32_t> steps_, counts_;
  Buffer<NewestEpisodes> newest_, newest_here_;  // (1), (kMaxUnderWay)
  std::uint64_t queued_ = 0, taken_ = 0;         // lots so far
  const EpisodeTable table_;
};

}  // namespace starling::envs
