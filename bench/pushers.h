// Threads that push gradients as actors do: they copy the newest weights, make a gradient, and wait
// until it is applied.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "core/config/config.h"

namespace starling::bench {

struct PushSpeed {
  double updates_per_second = 0;
  double staleness = 0;  // mean
  double waiting = 0;    // share of the pushers' time from a push to its acknowledgement
};

// For `seconds`, every pusher copies the newest weights, copies one of `gradients` into its own
// buffer, and pushes it.
PushSpeed MeasurePushes(std::string_view way, const Config& config, std::span<const float> weights,
                        const std::vector<std::vector<float>>& gradients, std::size_t pushers,
                        double seconds);

struct TrainedBy {
  double mean_return = 0;  // of the last 100 episodes, or of all if they are fewer
  std::uint64_t updates = 0;
  PushSpeed speed;
};

// Pushers play the configuration's game and push real gradients until run.steps are reached.
TrainedBy TrainByPushes(std::string_view way, const Config& config, std::size_t pushers);

}  // namespace starling::bench
