#include "monitor/screen/actor_rows.h"

#include <algorithm>

#include "core/check.h"

namespace starling::monitor {
namespace {

constexpr std::int64_t kPointMs = 1000, kWindowMs = 10'000;
// A large fleet is told of in turns; whoever is not named for so long is no member.
constexpr std::int64_t kSilentMs = 3000;

}  // namespace

void Crew::Hear(std::int64_t now_ms, const learner::LearnerStatus& status) {
  heard_ms_ = now_ms;
  for (const learner::JoinedActor& row : status.joined) {
    if (row.slot < 0 || row.slot >= static_cast<int>(slots_.size())) continue;  // started by hand
    Slot& slot = slots_[static_cast<std::size_t>(row.slot)];
    slot.heard_ms = now_ms;
    if (slot.term != status.term || slot.newest.incarnation != row.incarnation) slot.points.clear();
    if (!slot.points.empty() && now_ms / kPointMs == slot.points.back().ms / kPointMs) continue;
    slot.term = status.term;
    slot.newest = row;
    slot.points.push_back({now_ms, row.steps, row.wait_ms});
    while (slot.points.size() > 2 && slot.points[1].ms <= now_ms - kWindowMs) {
      slot.points.pop_front();
    }
  }
}

std::vector<ActorRow> Crew::Rows(const std::vector<results::ActorStanding>& standings) const {
  CHECK(standings.size() == slots_.size(), "{} of {}", standings.size(), slots_.size());
  std::vector<ActorRow> rows(slots_.size());
  for (std::size_t i = 0; i < slots_.size(); ++i) {
    const Slot& slot = slots_[i];
    ActorRow& row = rows[i];
    row.slot = static_cast<int>(i);
    row.restarts = standings[i].restarts;
    const bool member = !slot.points.empty() && heard_ms_ - slot.heard_ms < kSilentMs;
    row.state = !standings[i].alive      ? ActorRow::State::kDead
                : !standings[i].accepted ? ActorRow::State::kStarting
                : !member                ? ActorRow::State::kSilent
                                         : ActorRow::State::kAlive;
    if (slot.points.empty() || slot.newest.accepted == 0) continue;
    row.version = slot.newest.version;
    row.lag = slot.newest.staleness;
    const Point &first = slot.points.front(), &last = slot.points.back();
    if (last.ms <= first.ms || row.state != ActorRow::State::kAlive) continue;
    const auto passed_ms = static_cast<double>(last.ms - first.ms);
    row.steps_per_second = static_cast<double>(last.steps - first.steps) * 1000 / passed_ms;
    row.waiting = std::min(1.0, static_cast<double>(last.wait_ms - first.wait_ms) / passed_ms);
  }
  return rows;
}

}  // namespace starling::monitor
