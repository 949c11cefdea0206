// Virtual time and its future events. Time stands still between two events.
//
// Thread safety: none; one thread. Invariants: time never goes back. Of two events at the same time
// the one added first runs first, so the order depends only on the added events.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <utility>

#include "core/check.h"

namespace starling::simulate {

class EventQueue {
 public:
  using Action = std::function<void()>;

  std::int64_t now_ns() const { return now_ns_; }
  bool empty() const { return events_.empty(); }

  // Adds an event. REQUIRES: at_ns >= now_ns().
  void At(std::int64_t at_ns, Action action) {
    CHECK(at_ns >= now_ns_, "an event at {} ns, and it is {} ns", at_ns, now_ns_);
    events_.emplace(at_ns, std::move(action));
  }

  // Advances the time to the next event and runs it. REQUIRES: not empty().
  void Next() {
    CHECK(!events_.empty());
    const auto event = events_.extract(events_.begin());  // it may add others
    now_ns_ = event.key();
    event.mapped()();
  }

 private:
  std::int64_t now_ns_ = 0;
  std::multimap<std::int64_t, Action> events_;  // keeps the order of insertion of equal times
};

}  // namespace starling::simulate
