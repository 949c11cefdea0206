// Where the time of actors and learner goes: it names the bottleneck of a run.
//
// Thread safety: none; it belongs to the network thread.
#pragma once

#include <cstdint>
#include <utility>

#include "core/clock.h"
#include "wire/protocol.h"

namespace starling::learner {

// Sums over all actors, from their accepted gradients in this term.
struct ActorTimes {
  std::uint64_t wait_us = 0, refresh_us = 0, act_us = 0, gradient_us = 0, push_us = 0;

  void Add(const wire::Gradient& gradient) {
    wait_us += gradient.wait_us;
    refresh_us += gradient.refresh_us;
    act_us += gradient.act_us;
    gradient_us += gradient.gradient_us;
    push_us += gradient.push_us;
  }
};

// The network thread since the first grant of this term; the three add up to the time that passed.
struct LoopTimes {
  std::int64_t receive_ns = 0;   // receiving, decoding and checking messages, refusals
  std::int64_t dispatch_ns = 0;  // judging, handing updates to the applier, answers, reports
  std::int64_t idle_ns = 0;      // waiting for something to happen
};

// A stopwatch that splits time into laps.
class Laps {
 public:
  explicit Laps(const Clock& clock) : clock_(clock), last_ns_(clock.NowNs()) {}

  // Returns the time since the last call, or since the construction. Costs one look at the clock.
  std::int64_t LapNs() {
    const std::int64_t now = clock_.NowNs();
    return now - std::exchange(last_ns_, now);
  }

 private:
  const Clock& clock_;
  std::int64_t last_ns_;
};

}  // namespace starling::learner
