// /healthz: whether the learner is at work.
#pragma once

#include <cstdint>
#include <string>

#include "learner/bulletin.h"

namespace starling::monitor {

struct Health {
  bool well = false;
  std::string sentence;  // "ok", or what is wrong
};

// Well while the network thread's loop turns and the run goes on, be it that it waits for actors. Not well
// before its first turn (`bulletin` null), once the run is over or was told to stop, and kMostSilentMs after
// its last turn. `now_ms` of the steady clock.
inline constexpr std::int64_t kMostSilentMs = 5000;
Health HealthOf(const learner::Bulletin* bulletin, std::int64_t now_ms);

}  // namespace starling::monitor
