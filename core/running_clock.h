// Counts the time in which this process ran. Silences and deadlines are measured with it, so that a
// stopped machine or a suspended job makes no peer late.
//
// Thread safety: Tick and NowNs from one thread.
#pragma once

#include <algorithm>
#include <cstdint>

#include "core/clock.h"

namespace starling {

class RunningClock final : public Clock {
 public:
  // A longer time between two ticks is a pause, of which only this much counts.
  static constexpr std::int64_t kMaxTickNs = 250'000'000;

  // `clock` must outlive this one.
  explicit RunningClock(const Clock& clock) : clock_(clock), ticked_ns_(clock.NowNs()) {}

  // Call it in every turn of the loop. REQUIRES: a turn, with its waits, takes less than
  // kMaxTickNs; the rest of a longer one is lost.
  void Tick() {
    const std::int64_t now = clock_.NowNs();
    running_ns_ += std::min(now - ticked_ns_, kMaxTickNs);
    ticked_ns_ = now;
  }

  // Nanoseconds of running time since the construction.
  std::int64_t NowNs() const override {
    return running_ns_ + std::min(clock_.NowNs() - ticked_ns_, kMaxTickNs);
  }

 private:
  const Clock& clock_;
  std::int64_t ticked_ns_;       // of `clock_`, at the last tick
  std::int64_t running_ns_ = 0;  // up to then
};

}  // namespace starling
