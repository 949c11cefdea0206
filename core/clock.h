// Injected time: loops ask a Clock, and tests pass a FakeClock that they advance by hand.
#pragma once

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

}  // namespace starling
