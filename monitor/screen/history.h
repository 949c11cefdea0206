// What the operator's screen is drawn from: gathers the learner's status lines over the whole run, in
// bounded room.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "learner/status.h"
#include "monitor/progress.h"
#include "monitor/screen/actor_rows.h"
#include "monitor/screen/recent_time.h"
#include "monitor/screen/series.h"

namespace starling::monitor {

// What does not change in a run.
struct ScreenFacts {
  std::string env;
  std::uint64_t seed = 1;
  std::uint64_t bound = 0;  // kUnbounded: none
  bool drop = false;        // what would be too old is refused
};

// One moment of the run.
struct ScreenView {
  ScreenFacts facts;
  Progress progress;
  double elapsed_s = 0;                // since this program began to watch
  const Series* returns = nullptr;     // not null
  const Series* rate = nullptr;        // steps per second; not null
  learner::StalenessStatus staleness;  // of the run
  std::vector<ActorRow> actors;        // by slot
  std::string bottleneck;              // of the last seconds; may be empty
};

class Watch {
 public:
  Watch(ScreenFacts facts, int actors, std::int64_t now_ms);

  void Hear(std::int64_t now_ms, const learner::LearnerStatus& status);
  // While the fleet goes home its rows stay as they were: `over`. The view points into this.
  ScreenView Look(std::int64_t now_ms, const Progress& progress,
                  const std::vector<results::ActorStanding>& standings, bool over);

 private:
  double SecondsAt(std::int64_t now_ms) const {
    return static_cast<double>(now_ms - start_ms_) / 1000.0;
  }

  const ScreenFacts facts_;
  const std::int64_t start_ms_;
  Crew crew_;
  Series returns_, rate_;
  RateMeter meter_{2000};
  RecentTime time_;
  learner::StalenessStatus staleness_;
  std::vector<ActorRow> rows_;
};

}  // namespace starling::monitor
