#include "monitor/run_history.h"

#include <utility>

#include "results/bottleneck.h"

namespace starling::monitor {
namespace {

constexpr std::int64_t kTimePointMs =
    950;  // "about a second": status lines may come a little early

// A learner sets its times back to zero at its first grant.
bool WentBack(const learner::TimeStatus& now, const learner::TimeStatus& before) {
  return now.learner.total() < before.learner.total() || now.actors.total() < before.actors.total();
}

}  // namespace

RunHistory::RunHistory(RunFacts facts, int actors, std::int64_t now_ms)
    : facts_(std::move(facts)), start_ms_(now_ms), actors_(actors) {}

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
  return MakeProgress(status_, facts_.steps, meter_.PerSecond(), facts_.actors);
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
