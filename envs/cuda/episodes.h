// Episodes that ended on a GPU. Every step of an env writes one entry of a table (steps, envs).
// Once an unroll the entries are counted and the newest episodes are copied to the host; all of
// them would take longer than the gradient, at millions of steps a second.
//
// Compiled by nvcc, too: nothing in here uses the host.
#pragma once

#include <cstddef>
#include <cstdint>

#include "core/cuda/each.h"
#include "envs/env.h"

namespace starling::envs {

// The episode that ended in one step of one env.
struct EndedEpisode {
  double episode_return = 0;
  std::int64_t length = 0;  // 0: none ended
};

// The entries are counted in (step, env) order, in chunks. A warp counts a chunk.
struct EpisodeTable {
  EndedEpisode* ended;    // (most_steps, envs)
  std::int32_t* steps;    // (envs): since the table was last counted, the same for all
  std::int32_t* counts;   // (chunks)
  long long envs, chunk;  // entries of a chunk
  std::int32_t most_steps, chunks;

  // Ends a step of `env`; the length is 0 if no episode ended.
  HOST_DEVICE void Add(long long env, const EndedEpisode& episode) const {
    const std::int32_t step = steps[env]++;
    if (step < most_steps) ended[step * envs + env] = episode;
  }
  // Index of the first entry of a chunk, or of the end of all entries if no step has reached it.
  HOST_DEVICE long long Begin(long long index) const {
    const long long written = (steps[0] < most_steps ? steps[0] : most_steps) * envs;
    const long long begin = index * chunk;
    return begin < written ? begin : written;
  }
};

// What the host reads.
struct NewestEpisodes {
  struct Episode {
    std::int64_t env;
    EndedEpisode ended;
  };
  std::int64_t steps = 0, count = 0;   // since the last count; all that ended
  Episode newest[kKeptEpisodes] = {};  // the newest first, up to `count`
};

struct CountEpisodes {
  EpisodeTable table;

  template <class Lanes>
  HOST_DEVICE void operator()(long long chunk, Lanes lanes, std::byte*) const {
    std::int32_t ended = 0;
    const long long end = table.Begin(chunk + 1);
    for (long long at = table.Begin(chunk) + lanes.index(); at < end; at += lanes.count()) {
      ended += table.ended[at].length > 0;
    }
    ended = lanes.Sum(ended);
    if (lanes.index() == 0) table.counts[chunk] = ended;
  }
};

// After CountEpisodes.
struct KeepNewestEpisodes {
  EpisodeTable table;
  NewestEpisodes* to;

  template <class Lanes>
  HOST_DEVICE void operator()(long long chunk, Lanes lanes, std::byte*) const {
    // 1. How many ended later, in the chunks behind.
    std::int32_t later = 0;
    for (long long k = chunk + 1 + lanes.index(); k < table.chunks; k += lanes.count()) {
      later += table.counts[k];
    }
    later = lanes.Sum(later);
    if (lanes.index() != 0) return;
    if (chunk == 0) {
      to->steps = table.steps[0];
      to->count = later + table.counts[0];
    }
    // 2. Those of this chunk, from its end.
    const long long begin = table.Begin(chunk);
    long long left = table.counts[chunk];
    for (long long at = table.Begin(chunk + 1) - 1; left > 0 && at >= begin; --at) {
      if (table.ended[at].length == 0) continue;
      if (later >= kKeptEpisodes) return;
      to->newest[later++] = {at % table.envs, table.ended[at]};
      --left;
    }
  }
};

}  // namespace starling::envs
