#include "monitor/screen/history.h"

#include <nlohmann/json.hpp>
#include <utility>

#include "results/bottleneck.h"

namespace starling::monitor {

Watch::Watch(ScreenFacts facts, int actors, std::int64_t now_ms)
    : facts_(std::move(facts)), start_ms_(now_ms), crew_(actors) {}

void Watch::Hear(std::int64_t now_ms, const learner::LearnerStatus& status) {
  staleness_ = status.staleness;
  crew_.Hear(now_ms, status);
  time_.Add(now_ms, status.term, status.time);
  meter_.Add(now_ms, status.steps);
  if (status.phase == "waiting") return;
  if (status.mean_return) returns_.Add(SecondsAt(now_ms), *status.mean_return);
  if (status.phase == "running" && meter_.PerSecond() > 0)
    rate_.Add(SecondsAt(now_ms), meter_.PerSecond());
}

ScreenView Watch::Look(std::int64_t now_ms, const Progress& progress,
                       const std::vector<results::ActorStanding>& standings, bool over) {
  if (!over || rows_.empty()) rows_ = crew_.Rows(standings);
  return {.facts = facts_,
          .progress = progress,
          .elapsed_s = SecondsAt(now_ms),
          .returns = &returns_,
          .rate = &rate_,
          .staleness = staleness_,
          .actors = rows_,
          .bottleneck = results::NameBottleneck(results::TimeShares(time_.Last()))};
}

}  // namespace starling::monitor
