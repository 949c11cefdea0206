#include "fleet/evaluator_policy.h"

#include <signal.h>

#include <utility>

#include "core/check.h"
#include "core/error.h"

namespace starling::fleet {

void EvaluatorPolicy::Start(Actions& out) {
  if (!wanted_) return;
  alive_ = true;
  start_ms_.reset();
  out.emplace_back(StartEvaluator{finish_ms_.has_value()});
}

void EvaluatorPolicy::OnExit(std::int64_t now_ms, int pid, const ChildExit& exit, bool results,
                             Actions& out) {
  CHECK(alive_, "the evaluator died twice");
  alive_ = false;
  const std::string who = Who("the evaluator", pid, exit);
  const bool exited = exit.how == ChildExit::How::kExited;
  if (finish_ms_ && exited && exit.code == kExitDone) wanted_ = false;
  if (!wanted_) {
    Add(out, LogLevel::kInfo, "{}", who);
    return;
  }
  // It died before its work was done: restart it, or abandon it.
  if (results) backoff_.deaths = 0;
  const std::int64_t wait = backoff_.Next(limits_);
  const bool hopeless = backoff_.deaths >= limits_.evaluator_deaths;
  if (!hopeless && !(exited && exit.code == kExitUserError)) {
    start_ms_ = now_ms + wait;
    Add(out, LogLevel::kInfo, "{}; started again in {} ms", who, wait);
    return;
  }
  wanted_ = false;
  Add(out, LogLevel::kWarn, "{}{}: the run goes on without evaluation; the reasons are in {}", who,
      hopeless ? fmt::format(", {} times in a row without a result", backoff_.deaths) : "",
      log_path_);
}

void EvaluatorPolicy::Tick(std::int64_t now_ms, Actions& out) {
  if (start_ms_ && now_ms >= *start_ms_) Start(out);
  const bool waits =
      wanted_ && busy() && finish_ms_ && now_ms - *finish_ms_ >= limits_.evaluator_note_ms;
  if (!waits || std::exchange(noted_, true)) return;
  out.emplace_back(Log{LogLevel::kInfo,
                       "all steps are done; the weights at the end are still being evaluated, "
                       "Ctrl-C skips that",
                       /*on_screen=*/true});
}

void EvaluatorPolicy::Finish(std::int64_t now_ms, Actions& out) {
  if (!wanted_) return;
  finish_ms_ = now_ms;
  if (alive_) out.emplace_back(SendSignal{kEvaluatorSlot, SIGTERM});
}

void EvaluatorPolicy::Stop(Actions& out) {
  if (alive_ && wanted_) out.emplace_back(SendSignal{kEvaluatorSlot, SIGKILL});
  wanted_ = false;
  start_ms_.reset();
}

}  // namespace starling::fleet
