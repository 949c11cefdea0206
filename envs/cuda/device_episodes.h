// The episodes of envs on a device (episodes.h), from their steps to the host.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
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
        newest_here_(1, memory().host_side()),
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

  // Queues what the next Take takes. It may be recorded.
  void Queue() {
    device_.ForEachWarp(table_.chunks, 0, CountEpisodes{table_});
    device_.ForEachWarp(table_.chunks, 0, KeepNewestEpisodes{table_, newest_.data()});
    Read<NewestEpisodes>(memory(), newest_here_.span(), newest_.span());
    Clear(memory(), steps_.span());
  }

  // Appends the newest of those that had ended at the last Queue, in (step, env) order; once.
  // Returns how many more there were. REQUIRES: the device's memory was waited for since then.
  std::uint64_t Take(std::vector<EpisodeEnd>& out) {
    NewestEpisodes& newest = newest_here_.span()[0];
    CHECK(newest.steps <= table_.most_steps, "{} steps since episodes were queued, made for {}",
          newest.steps, table_.most_steps);
    const std::int64_t all = std::exchange(newest.count, 0);
    const auto kept = static_cast<std::size_t>(std::min<std::int64_t>(all, kKeptEpisodes));
    for (std::size_t k = kept; k-- > 0;) {
      const auto& [env, ended] = newest.newest[k];
      out.push_back({static_cast<int>(env), ended.episode_return, ended.length});
    }
    return static_cast<std::uint64_t>(all) - kept;
  }

 private:
  // Places of a chunk. A thread looks through one of them, a warp through the counts of all.
  static constexpr std::size_t kSmallest = 256, kMostChunks = 1024;

  Memory& memory() const { return device_.memory(); }

  Device device_;
  const std::size_t chunk_;
  Buffer<EndedEpisode> ended_;
  Buffer<std::int32_t> steps_, counts_;
  Buffer<NewestEpisodes> newest_, newest_here_;  // (1); newest_here_: the host's copy, as last read
  const EpisodeTable table_;
};

}  // namespace starling::envs
