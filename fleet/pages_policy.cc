#include "fleet/pages_policy.h"

#include "fleet/endings.h"

namespace starling::fleet {

void PagesPolicy::Start(std::int64_t now_ms, Actions& out) {
  if (!wanted_) return;
  started_ms_ = now_ms;
  start_ms_.reset();
  out.emplace_back(StartPages{});
}

void PagesPolicy::OnExit(std::int64_t now_ms, int pid, const ChildExit& exit, Actions& out) {
  if (now_ms - started_ms_ >= limits_.pages_well_ms) backoff_.deaths = 0;
  const std::int64_t wait = backoff_.Next(limits_);
  const std::string who = Who("the server of the status pages", pid, exit);
  const bool hopeless = backoff_.deaths >= limits_.pages_deaths;
  if (!hopeless && !Exited(exit, kExitUserError) && !IsNoProgram(exit)) {
    start_ms_ = now_ms + wait;
    Add(out, LogLevel::kWarn, "{}; started again in {} ms", who, wait);
    return;
  }
  wanted_ = false;
  Add(out, LogLevel::kWarn, "{}{}: the run goes on without status pages; the reasons are in {}",
      who, hopeless ? fmt::format(", {} times in a row", backoff_.deaths) : "", log_path_);
}

void PagesPolicy::Tick(std::int64_t now_ms, Actions& out) {
  if (start_ms_ && now_ms >= *start_ms_) Start(now_ms, out);
}

}  // namespace starling::fleet
