#include "fleet/fleet_file.h"

#include <fmt/format.h>

#include <system_error>

#include "core/file.h"
#include "monitor/fleet_status.h"

namespace starling::fleet {

void FleetFile::Write(std::int64_t now_ms, const SupervisorPolicy& policy) {
  constexpr std::int64_t kPauseMs = 500;
  if (now_ms - written_ms_ < kPauseMs) return;
  written_ms_ = now_ms;
  const monitor::FleetStatus status{.learner_alive = policy.learner_alive(),
                                    .learner_silent = policy.learner_silent(),
                                    .over = policy.over(),
                                    .redo = policy.redo(),
                                    .actors = policy.processes()};
  try {
    ReplaceFile(path_, ToText(status));
  } catch (const std::system_error& error) {
    if (std::exchange(failed_, true)) return;
    log_.Log(LogLevel::kInfo, fmt::format("nothing for the status pages: {}", error.what()));
  }
}

}  // namespace starling::fleet
