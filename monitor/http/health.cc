#include "monitor/http/health.h"

#include <fmt/format.h>

namespace starling::monitor {

Health HealthOf(const learner::Bulletin* bulletin, std::int64_t now_ms) {
  if (!bulletin) return {false, "starting: the learner has not begun to listen to actors"};
  if (bulletin->status.at("phase") == "done") {
    return {false, "done: the run is over, or was told to stop"};
  }
  const std::int64_t silent_ms = now_ms - bulletin->at_ms;
  if (silent_ms < kMostSilentMs) return {true, "ok"};
  return {false, fmt::format("stuck: the learner's loop turned {:.1f} s ago for the last time",
                             static_cast<double>(silent_ms) / 1000)};
}

}  // namespace starling::monitor
