// Episodes that ended on a GPU. Every step writes its place of a table (steps, envs); now and then
// the table is counted, and only its newest episodes are moved to where the host reads them: at
// millions of steps a second the rest would take longer than the gradient.
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

// The places of the table are counted in (step, env) order, in chunks. A warp counts a chunk.
struct EpisodeTable {
  EndedEpisode* ended;    // (most_steps, envs)
  std::int32_t* steps;    // (envs): since the table was last counted, the same for all
  std::int32_t* counts;   // (chunks)
  long long envs, chunk;  // of `chunk` places
  std::int32_t most_steps, chunks;

  // Keeps the step of an env, of which an episode may have ended.
  HOST_DEVICE void Add(long long env, const EndedEpisode& episode) const {
    const std::int32_t step = steps[env]++;
    if (step < most_steps) ended[step * envs + env] = episode;
  }
  // The first place of a chunk, or behind all places that are written.
  HOST_DEVICE long long Place(long long chunk_index) const {
    const long long written = (steps[0] < most_steps ? steps[0] : most_steps) * envs;
    const long long place = chunk_index * chunk;
    return place < written ? place : written;
  }
};

// What the host reads.
struct NewestEpisodes {
  struct Episode {
    std::int64_t env;
    EndedEpisode ended;
  };
  std::int64_t steps = 0, count = 0;   // since it was last made; `count`: all that ended
  Episode newest[kKeptEpisodes] = {};  // the newest first, up to `count`
};

struct CountEpisodes {
  EpisodeTable table;

  template <class Lanes>
  HOST_DEVICE void operator()(long long chunk, Lanes lanes, std::byte*) const {
    std::int32_t ended = 0;
    const long long end = table.Place(chunk + 1);
    for (long long at = table.Place(chunk) + lanes.index(); at < end; at += lanes.count()) {
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
    const long long begin = table.Place(chunk);
    long long left = table.counts[chunk];
    for (long long at = table.Place(chunk + 1) - 1; left > 0 && at >= begin; --at) {
      if (table.ended[at].length == 0) continue;
      if (later >= kKeptEpisodes) return;
      to->newest[later++] = {at % table.envs, table.ended[at]};
      --left;
    }
  }
};

}  // namespace starling::envs
