// Measures the speed of one actor: its rollouts in this process, without a learner.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/config/config.h"
#include "core/gpu.h"

namespace starling::bench {

struct ActorSpeed {
  double steps_per_second = 0;   // median of the parts
  double least = 0, most = 0;    // of the parts
  double act = 0, gradient = 0;  // shares of the time (RolloutGradient)
  double busy = 0;               // share in which a GPU works on recorded work; 0 without one
};

// Runs unroll after unroll for about `seconds`, in five parts, after a warm-up. Every unroll gets
// its weights again, as in a run. Throws UserError as Rollout, std::runtime_error if a gradient is
// not finite.
ActorSpeed MeasureActor(const Config& config, double seconds);

// A line in the table of actors.
struct ActorCase {
  std::string key;   // "4096x5"
  std::string what;  // "games on the GPU, 4,096 envs × 5 steps"
  Config config;
};

// Breakout with the net of the MinAtar paper (`minatar`: bench/minatar.toml), net and games on the
// GPU.
std::vector<ActorCase> CasesOnGpu(const Config& minatar, Precision precision, bool quick);
// The same games on the host, beside a net on the GPU, in f32.
std::vector<ActorCase> CasesStaged(const Config& minatar, bool quick);
ActorCase CaseOnProcessor(const Config& minatar);

}  // namespace starling::bench
