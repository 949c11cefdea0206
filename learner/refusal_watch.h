// Notices that training cannot go on: every gradient is refused, without end. A net that diverged
// computes no finite gradient ever again.
//
// Thread safety: none; it belongs to the network thread.
#pragma once

#include <array>
#include <cstdint>
#include <string>

#include "core/config/config.h"
#include "wire/protocol.h"

namespace starling::learner {

// So many refusals in a row, and so long without an accepted gradient, end a run.
struct RefusalLimits {
  std::uint64_t count = 1000;
  std::int64_t ms = 60'000;
};

class RefusalWatch {
 public:
  explicit RefusalWatch(const RefusalLimits& limits) : limits_(limits) {}

  // A gradient of a member was refused, or accepted (kNone).
  void Count(std::int64_t now_ms, wire::Outcome outcome);
  // Returns whether both limits are reached.
  bool hopeless() const { return refused_ >= limits_.count && last_ms_ - first_ms_ >= limits_.ms; }
  // Returns how many were refused, the most frequent reason and the keys that matter.
  std::string Describe(const Config& config) const;

 private:
  const RefusalLimits limits_;
  std::uint64_t refused_ = 0;  // since the last accepted gradient
  std::int64_t first_ms_ = 0, last_ms_ = 0;
  std::array<std::uint64_t, wire::kOutcomes> reasons_{};  // of those
};

}  // namespace starling::learner
