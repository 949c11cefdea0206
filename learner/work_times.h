// Where the time of actors and learner goes: what names the bottleneck of a run.
//
// Thread safety: none; it belongs to the network thread.
#pragma once

#include <cstdint>
#include <utility>

#include "core/clock.h"
#include "wire/protocol.h"

namespace starling::learner {

// Since the first grant of this term. The actors' times are sums over all of them, as their accepted
// gradients tell; the network thread's add up to the time that has passed.
struct WorkTimes {
  std::uint64_t wait_us = 0, refresh_us = 0, act_us = 0, gradient_us = 0, push_us = 0;
  std::int64_t receive_ns =
      0;  // receiving, decoding and checking messages, answering those refused
  std::int64_t dispatch_ns = 0;  // judging, handing updates to the lanes, answers, reports
  std::int64_t idle_ns = 0;      // waiting for something to happen

  void Add(const wire::Gradient& gradient) {
    wait_us += gradient.wait_us;
    refresh_us += gradient.refresh_us;
    act_us += gradient.act_us;
    gradient_us += gradient.gradient_us;
    push_us += gradient.push_us;
  }
};

// The time between two calls of Lap, which costs as much as looking at the clock.
class Laps {
 public:
  std::int64_t LapNs() {
    const std::int64_t now = clock_.NowNs();
    return now - std::exchange(last_ns_, now);
  }

 private:
  SteadyClock clock_;
  std::int64_t last_ns_ = clock_.NowNs();
};

}  // namespace starling::learner
