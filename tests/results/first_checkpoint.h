// A checkpoint as a learner leaves it, without one.
#pragma once

#include <cstdint>

#include "core/config/config.h"
#include "learner/counters.h"
#include "learner/storage/checkpoint.h"
#include "learner/storage/start.h"
#include "results/initial_net.h"

namespace starling::results {

// The first weights of `config`'s net, as if they had come after `steps`.
inline learner::Checkpoint FirstCheckpoint(const Config& config, std::uint64_t version = 7,
                                           std::uint64_t steps = 1000) {
  const learner::InitialNet net = InitialNetOf(config);
  return learner::CheckpointOf(config, net.layout, net.spaces,
                               {.state = {.term = 1,
                                          .version = version,
                                          .steps = steps,
                                          .weights = net.initial,
                                          .optimizer_state = {net.initial}},
                                .counters = learner::Counters{}.Save()});
}

}  // namespace starling::results
