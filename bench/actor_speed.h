// How fast one actor is by itself: its rollouts in this process, without a learner.
//
// Of core, envs, net and actors/rollout alone, so that it is measured where little else builds, too
// (cmake/bare.cmake).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/config/config.h"

namespace starling::bench {

struct ActorSpeed {
  double steps_per_second = 0;   // median of the parts
  double least = 0, most = 0;    // of the parts
  double act = 0, gradient = 0;  // shares of the time; the rest: new weights, episodes
  std::uint64_t steps = 0;       // measured
  std::string where;             // Rollout::where
};

// Unroll after unroll for about `seconds`, in five parts, after a few that do not count; weights
// are sent anew for every one, as in a run. Throws UserError as Rollout, std::runtime_error if a
// gradient is not finite.
ActorSpeed MeasureActor(const Config& config, double seconds);

// bench/minatar.toml, for whoever cannot read it.
Config MinatarConfig();

// One line of the tables of actors.
struct ActorCase {
  std::string key;   // "gpu_4096x8"
  std::string what;  // "games on the GPU, 4,096 envs × 8 steps"
  Config config;
};

// Breakout with the net of the MinAtar paper, net and games on the GPU: 5 million steps a second
// are wanted of the best.
inline constexpr double kWantedOnGpu = 5e6;
std::vector<ActorCase> CasesOnGpu(bool quick);
// The same games on the host, beside a net on the GPU.
std::vector<ActorCase> CasesStaged(bool quick);
ActorCase CaseOnProcessor();

}  // namespace starling::bench
