// Durations in a simulated fleet, from the section [simulate], in virtual nanoseconds.
#pragma once

#include <cstdint>

#include "core/config/config.h"
#include "core/random.h"
#include "envs/paced.h"

namespace starling::simulate {

std::int64_t NsOf(double ms);  // rounded

// The lanes' time for an update of `gradients` gradients. REQUIRES: gradients >= 1.
std::int64_t ApplyNs(const SimulateConfig& simulate, std::size_t gradients);

// The random durations of one incarnation of an actor. They depend on (run.seed, slot, incarnation)
// and on the number of draws before, not on other actors. Envs with a pace (env.step_ms) keep the
// pace that this actor draws in a real fleet, added to its computing time; a straggler is slow in
// both.
class ActorTimes {
 public:
  ActorTimes(const Config& config, std::uint32_t slot, std::uint32_t incarnation);

  // Draw the duration of the next unroll with its gradient, and of the next push.
  std::int64_t ComputeNs();
  std::int64_t PushNs();

 private:
  const SimulateConfig simulate_;
  const double factor_;  // straggler_factor, or 1
  const std::int64_t unroll_;
  envs::Pace pace_;
  RandomStream computes_, pushes_;
};

}  // namespace starling::simulate
