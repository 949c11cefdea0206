#include "monitor/screen/recent_time.h"

namespace starling::monitor {
namespace {

constexpr std::int64_t kPointMs = 1000, kWindowMs = 10'000;

learner::TimeStatus Difference(const learner::TimeStatus& a, const learner::TimeStatus& b) {
  return {.actors = {.wait = a.actors.wait - b.actors.wait,
                     .refresh = a.actors.refresh - b.actors.refresh,
                     .act = a.actors.act - b.actors.act,
                     .gradient = a.actors.gradient - b.actors.gradient,
                     .push = a.actors.push - b.actors.push},
          .learner = {.receive = a.learner.receive - b.learner.receive,
                      .dispatch = a.learner.dispatch - b.learner.dispatch,
                      .idle = a.learner.idle - b.learner.idle,
                      .lanes = a.learner.lanes - b.learner.lanes}};
}

// The first grant of a learner sets them back to zero, but for its lanes.
bool WentBack(const learner::TimeStatus& now, const learner::TimeStatus& before) {
  return now.learner.total() < before.learner.total() || now.actors.total() < before.actors.total();
}

}  // namespace

void RecentTime::Add(std::int64_t now_ms, std::uint64_t term, const learner::TimeStatus& time) {
  if (term != term_ || (!points_.empty() && WentBack(time, points_.back().time))) points_.clear();
  term_ = term;
  if (!points_.empty() && now_ms - points_.back().ms < kPointMs - 50) return;
  points_.push_back({now_ms, time});
  while (points_.size() > 2 && points_[1].ms <= now_ms - kWindowMs) points_.pop_front();
}

learner::TimeStatus RecentTime::Last() const {
  if (points_.size() < 2) return {};
  return Difference(points_.back().time, points_.front().time);
}

}  // namespace starling::monitor
