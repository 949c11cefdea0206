// How long things take in a simulated fleet: the section [simulate], in virtual nanoseconds.
#pragma once

#include <cstdint>

#include "core/config/config.h"
#include "core/random.h"
#include "envs/paced.h"

namespace starling::simulate {

std::int64_t NsOf(double ms);  // rounded

// The lanes' time for an update of so many gradients, at least 1.
std::int64_t ApplyNs(const SimulateConfig& simulate, std::size_t gradients);

// What one life of one actor takes. Its draws depend on (run.seed, slot, incarnation) and on how
// many went before, not on what any other actor does. Envs with a pace of their own (env.step_ms)
// keep the one that this actor would draw in a real fleet, beside what it computes; a straggler is
// slow in both.
class ActorTimes {
 public:
  ActorTimes(const Config& config, std::uint32_t slot, std::uint32_t incarnation);

  // Draws: of the next unroll and its gradient, and of the next gradient's way to the learner.
  std::int64_t ComputeNs();
  std::int64_t PushNs();

 private:
  const SimulateConfig simulate_;
  const double factor_;  // of this actor
  const std::int64_t unroll_;
  envs::Pace pace_;
  RandomStream computes_, pushes_;
};

}  // namespace starling::simulate
