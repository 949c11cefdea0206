#include "monitor/actor_rows.h"

#include <algorithm>

#include "core/check.h"

namespace starling::monitor {
namespace {

constexpr std::int64_t kPointMs = 1000;
// A status line lists a part of a large fleet, in turns: an actor that no line has listed for this
// long is no member.
constexpr std::int64_t kSilentMs = 3000;

ActorRow::State StateOf(const ActorProcess& process, bool member) {
  if (!process.alive) return ActorRow::State::kDead;
  if (!process.accepted) return ActorRow::State::kStarting;
  return member ? ActorRow::State::kAlive : ActorRow::State::kSilent;
}

}  // namespace

void ActorRows::Add(std::int64_t now_ms, const learner::RunStatus& status) {
  newest_ms_ = now_ms;
  for (const learner::JoinedActor& actor : status.joined) {
    // Slots beyond ours belong to actors that were started elsewhere.
    if (actor.slot < 0 || actor.slot >= static_cast<int>(slots_.size())) continue;
    Slot& slot = slots_[static_cast<std::size_t>(actor.slot)];
    slot.member_ms = now_ms;
    auto& points = slot.points;
    if (!points.empty()) {
      const bool same_life =
          slot.term == status.term && points.last().value.incarnation == actor.incarnation;
      if (!same_life) {
        points.Clear();
      } else if (now_ms / kPointMs == points.last().ms / kPointMs) {
        continue;
      }
    }
    slot.term = status.term;
    points.Add(now_ms, actor);
  }
}

std::vector<ActorRow> ActorRows::Rows(const std::vector<ActorProcess>& processes) const {
  CHECK(processes.size() == slots_.size(), "{} of {}", processes.size(), slots_.size());
  std::vector<ActorRow> rows(slots_.size());
  for (std::size_t i = 0; i < slots_.size(); ++i) {
    const auto& points = slots_[i].points;
    const bool member = !points.empty() && newest_ms_ - slots_[i].member_ms < kSilentMs;
    ActorRow& row = rows[i];
    row.slot = static_cast<int>(i);
    row.restarts = processes[i].restarts;
    row.state = StateOf(processes[i], member);
    if (points.empty() || points.last().value.accepted == 0) continue;
    const learner::JoinedActor &first = points.first().value, &last = points.last().value;
    row.version = last.version;
    row.lag = last.staleness;
    // A rate needs two points, and an actor that still works.
    const auto passed_ms = static_cast<double>(points.passed_ms());
    if (passed_ms <= 0 || row.state != ActorRow::State::kAlive) continue;
    row.steps_per_second = static_cast<double>(last.steps - first.steps) * 1000 / passed_ms;
    row.waiting = std::min(1.0, static_cast<double>(last.wait_ms - first.wait_ms) / passed_ms);
  }
  return rows;
}

}  // namespace starling::monitor
