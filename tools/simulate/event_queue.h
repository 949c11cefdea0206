// Virtual time and its future events. Time stands still between two events.
//
// Thread safety: none; one thread. Invariants: time never goes back. Of two events at the same time
// the one added first runs first, so the order depends only on the added events.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <tuple>
#include <utility>
#include <vector>

#include "core/check.h"

namespace starling::simulate {

class EventQueue {
 public:
  using Action = std::function<void()>;

  std::int64_t now_ns() const { return now_ns_; }
  bool empty() const { return events_.empty(); }
  std::size_t size() const { return events_.size(); }

  // Adds an event. REQUIRES: at_ns >= now_ns().
  void At(std::int64_t at_ns, Action action) {
    CHECK(at_ns >= now_ns_, "an event at {} ns, and it is {} ns", at_ns, now_ns_);
    events_.push_back({at_ns, next_number_++, std::move(action)});
    std::ranges::push_heap(events_, Later{});
  }

  // Advances the time to the next event and runs it. REQUIRES: not empty().
  void Next() {
    CHECK(!events_.empty());
    std::ranges::pop_heap(events_, Later{});
    const Event event = std::move(events_.back());
    events_.pop_back();
    now_ns_ = event.at_ns;
    event.action();
  }

 private:
  struct Event {
    std::int64_t at_ns = 0;
    std::uint64_t number = 0;
    Action action;
  };
  struct Later {
    bool operator()(const Event& a, const Event& b) const {
      return std::tie(a.at_ns, a.number) > std::tie(b.at_ns, b.number);
    }
  };

  std::int64_t now_ns_ = 0;
  std::uint64_t next_number_ = 0;
  std::vector<Event> events_;  // a heap with the next event first
};

}  // namespace starling::simulate
