#include "fleet/redo_policy.h"

#include <signal.h>

#include <utility>

#include "core/check.h"
#include "core/error.h"
#include "fleet/endings.h"

namespace starling::fleet {

void RedoPolicy::Start(std::int64_t now_ms, bool first, Actions& out) {
  alive_ = true;
  first_ = first;
  heard_ms_ = now_ms;
  retried_ = false;
  killed_why_.clear();
  out.emplace_back(StartRedo{});
}

void RedoPolicy::OnStatus(std::int64_t now_ms, const monitor::RedoStatus& status) {
  heard_ms_ = now_ms;
  status_ = status;
}

void RedoPolicy::OnExit(int pid, const ChildExit& exit, const std::string& reason, Actions& out) {
  CHECK(alive_, "the redo died twice");
  alive_ = false;
  status_.reset();
  const std::string who = Because(Who("the redo", pid, exit), killed_why_);
  const bool reported = Exited(exit, kExitDone) || Exited(exit, kExitFailed);
  if (stopped_ || reported) {
    Add(out, LogLevel::kInfo, "{}", who);
  } else if (Exited(exit, kExitNotNow) || (first_ && Exited(exit, kExitUserError))) {
    Add(out, LogLevel::kError, "{}: its message is above, the run ends", who);
    const int status = Exited(exit, kExitNotNow) ? kExitFailed : kExitUserError;
    gave_up_ = Finish{status, Because(who, reason)};
  } else if (killed_why_.empty() && !std::exchange(retried_, true)) {
    Add(out, LogLevel::kWarn, "{}; tried once more", Because(who, reason));
    alive_ = true;
    out.emplace_back(StartRedo{});
  } else {
    Add(out, LogLevel::kWarn,
        "{}: updates after the newest checkpoint may be lost, the learner counts them when it "
        "resumes",
        Because(who, reason));
  }
}

void RedoPolicy::Tick(std::int64_t now_ms, Actions& out) {
  if (!alive_ || !killed_why_.empty() || now_ms - heard_ms_ < limits_.redo_hang_ms) return;
  killed_why_ = fmt::format("it had not reported for {} s", (now_ms - heard_ms_) / 1000);
  out.emplace_back(SendSignal{kRedoSlot, SIGKILL});
}

void RedoPolicy::Stop(Actions& out) {
  if (!alive_ || std::exchange(stopped_, true)) return;
  out.emplace_back(SendSignal{kRedoSlot, SIGKILL});
}

}  // namespace starling::fleet
