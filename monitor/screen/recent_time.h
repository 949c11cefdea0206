// Where the time went of late: differences of what the learner says since the start.
#pragma once

#include <cstdint>
#include <deque>

#include "learner/status.h"

namespace starling::monitor {

class RecentTime {
 public:
  // A new term begins anew, as does a count that goes back.
  void Add(std::int64_t now_ms, std::uint64_t term, const learner::TimeStatus& time);
  // Of about the last ten seconds; all zero until a second has passed.
  learner::TimeStatus Last() const;

 private:
  struct Point {
    std::int64_t ms = 0;
    learner::TimeStatus time;
  };
  std::uint64_t term_ = 0;
  std::deque<Point> points_;  // a second apart
};

}  // namespace starling::monitor
