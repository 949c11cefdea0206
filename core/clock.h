// Injected time: loops ask a Clock, and tests pass a FakeClock that they advance by hand.
#pragma once

#include <time.h>

#include <algorithm>
#include <chrono>
#include <cstdint>

namespace starling {

class Clock {
 public:
  virtual ~Clock() = default;
  // Nanoseconds since an arbitrary origin; never decreases.
  virtual std::int64_t NowNs() const = 0;
  std::int64_t NowMs() const { return NowNs() / 1'000'000; }
};

class SteadyClock final : public Clock {
 public:
  std::int64_t NowNs() const override {
    return std::chrono::duration_cast<std::chrono::nanoseconds>(
               std::chrono::steady_clock::now().time_since_epoch())
        .count();
  }
};

class FakeClock final : public Clock {
 public:
  std::int64_t NowNs() const override { return now_ns_; }
  void AdvanceMs(std::int64_t ms) { now_ns_ += ms * 1'000'000; }

 private:
  std::int64_t now_ns_ = 0;
};

// Processor time of this process: pauses and other programs do not count.
class CpuClock final : public Clock {
 public:
  std::int64_t NowNs() const override {
    timespec now{};
    ::clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return static_cast<std::int64_t>(now.tv_sec) * 1'000'000'000 + now.tv_nsec;
  }
};

// Counts the time in which this process ran. Silences and deadlines are measured with it, so that a
// stopped machine or a suspended job makes no peer late.
//
// Thread safety: Tick and NowNs from one thread.
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
