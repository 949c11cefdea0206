#include "monitor/run_history.h"

#include <algorithm>
#include <utility>

#include "core/check.h"
#include "results/summary.h"

namespace starling::monitor {
namespace {

// "About a second": status lines may come a little early.
constexpr std::int64_t kTimePointMs = 950;

// A learner sets its times back to zero at its first grant.
bool WentBack(const learner::TimeStatus& now, const learner::TimeStatus& before) {
  return now.learner.total() < before.learner.total() || now.actors.total() < before.actors.total();
}

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

std::string_view NameOf(ActorRow::State state) {
  constexpr std::string_view kNames[] = {"dead", "silent", "starting", "alive"};
  return kNames[static_cast<std::size_t>(state)];
}

void ActorRows::Add(std::int64_t now_ms, const learner::RunStatus& status) {
  newest_ms_ = now_ms;
  for (const learner::ActorStatus& actor : status.joined) {
    // Slots beyond ours belong to actors that were started elsewhere.
    if (actor.slot < 0 || std::cmp_greater_equal(actor.slot, slots_.size())) continue;
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
    const learner::ActorStatus &first = points.first().value, &last = points.last().value;
    row.version = last.version;
    row.lag = last.staleness;
    // A rate needs two points, and an actor that still works.
    const auto passed_ms = static_cast<double>(points.passed_ms());
    if (passed_ms <= 0 || row.state != ActorRow::State::kAlive) continue;
    row.steps_per_second = static_cast<double>(last.steps - first.steps) * 1000 / passed_ms;
    row.waiting =
        std::min(1.0, static_cast<double>(last.wait_us - first.wait_us) / (1000 * passed_ms));
  }
  return rows;
}

RunFacts FactsOf(const Config& config) {
  return {.env = config.env.name,
          .seed = config.run.seed,
          .bound = config.staleness.bound,
          .drop = config.staleness.on_exceed == OnExceed::kDrop,
          .goal = learner::GoalOf(config),
          .actors = static_cast<int>(config.actors.count)};
}

RunHistory::RunHistory(RunFacts facts, int actors, std::int64_t start_ms)
    : facts_(std::move(facts)), start_ms_(start_ms), actors_(actors) {}

void RunHistory::AddPast(double at_s, std::uint64_t steps, std::optional<double> mean_return) {
  meter_.Add(start_ms_ + static_cast<std::int64_t>(at_s * 1000), steps);
  if (mean_return) returns_.Add(at_s, *mean_return);
  if (meter_.PerSecond() > 0) rate_.Add(at_s, meter_.PerSecond());
}

void RunHistory::Add(std::int64_t now_ms, const learner::RunStatus& status) {
  status_ = status;
  actors_.Add(now_ms, status);
  AddTime(now_ms, status.term, status.time);
  meter_.Add(now_ms, status.steps);
  if (status.phase == "waiting") return;
  if (status.mean_return) returns_.Add(SecondsAt(now_ms), *status.mean_return);
  if (status.phase == "running" && meter_.PerSecond() > 0) {
    rate_.Add(SecondsAt(now_ms), meter_.PerSecond());
  }
}

void RunHistory::AddTime(std::int64_t now_ms, std::uint64_t term, const learner::TimeStatus& time) {
  const bool restarted = term != term_ || (!time_.empty() && WentBack(time, time_.last().value));
  if (restarted) time_.Clear();
  term_ = term;
  if (time_.empty() || now_ms - time_.last().ms >= kTimePointMs) time_.Add(now_ms, time);
}

Progress RunHistory::progress() const {
  Progress progress = MakeProgress(status_, facts_.goal, meter_.PerSecond(), facts_.actors);
  if (silent_) {
    progress.phase = Progress::Phase::kSilent;
    progress.steps_per_second = 0;
  }
  if (redo_) {
    progress.phase = Progress::Phase::kRedoing;
    progress.redo = *redo_;
  }
  return progress;
}

RunView RunHistory::View(std::int64_t now_ms, const std::vector<ActorProcess>& processes,
                         bool over) {
  if (!over || rows_.empty()) rows_ = actors_.Rows(processes);
  learner::TimeStatus time;
  if (!time_.empty()) {
    time = results::Sum(time_.last().value, time_.first().value, -1);
  }
  return {.facts = facts_,
          .progress = progress(),
          .elapsed_s = SecondsAt(now_ms),
          .returns = &returns_,
          .rate = &rate_,
          .staleness = status_ ? status_->staleness : learner::StalenessStatus{},
          .actors = rows_,
          .bottleneck = results::NameBottleneck(time)};
}

}  // namespace starling::monitor
