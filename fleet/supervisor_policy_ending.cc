// The supervisor's policy from the stop of a run to its end.
#include <signal.h>

#include <algorithm>
#include <utility>

#include "core/check.h"
#include "core/error.h"
#include "fleet/supervisor_policy.h"

namespace starling::fleet {

Actions SupervisorPolicy::OnStopSignal(std::int64_t now_ms, int signal) {
  Actions out;
  if (finished_) return out;
  if (first_signal_ms_) {
    if (now_ms - *first_signal_ms_ < limits_.second_signal_ms) return out;
    Add(out, LogLevel::kWarn, "a second signal ({}): everything is killed", SignalName(signal));
    KillAll(out);
    return out;
  }
  first_signal_ms_ = now_ms;
  evaluator_.Stop(out);
  if (ending_) {  // the run ends anyway: hurry
    if (!learner_.alive) actor_term_ms_ = now_ms;
    MaybeFinish(out);
    return out;
  }
  if (learner_.alive && learner_.over && Complete()) {
    BeginEnding(now_ms, kExitDone, out);
    return out;
  }
  Add(out, LogLevel::kWarn, "{}: {}; once more ends it at once", SignalName(signal),
      redo_.alive() ? "what a killed learner had applied is redone at the next --resume; the run "
                      "ends"
      : !learner_.alive ? "the run ends"
      : LearnerStarts() ? "the learner is still starting and has nothing to save; the run ends"
                        : "the learner writes a final checkpoint");
  BeginEnding(now_ms, kExitInterrupted, out);
  return out;
}

void SupervisorPolicy::BeginEnding(std::int64_t now_ms, int exit_status, Actions& out,
                                   std::string error) {
  CHECK(!ending_, "ends twice: {} and {}", exit_status_, exit_status);
  // 1. No process is started from now on.
  ending_ = true;
  exit_status_ = exit_status;
  error_ = std::move(error);
  learner_.start_ms.reset();
  for (Actor& actor : actors_) actor.start_ms.reset();

  // 2. Set the deadlines of those that live.
  actor_term_ms_ = now_ms + limits_.actor_term_ms;
  actor_kill_ms_ = now_ms + limits_.actor_kill_ms;
  learner_kill_ms_ =
      now_ms + (LearnerStarts() ? limits_.starting_kill_ms : limits_.learner_kill_ms);

  // 3. Ask the evaluator and the learner to end. The actors follow the learner.
  if (exit_status == kExitDone) {
    evaluator_.Finish(now_ms, out);
  } else {
    evaluator_.Stop(out);
  }
  redo_.Stop(out);
  if (learner_.alive) {
    out.emplace_back(SendSignal{kLearnerSlot, SIGTERM});
  } else {
    LearnerLeft(now_ms, out);
  }
}

// The actors end by themselves; a grace period later they are signalled.
void SupervisorPolicy::LearnerLeft(std::int64_t now_ms, Actions& out) {
  actor_term_ms_ = std::min(actor_term_ms_, now_ms + limits_.actor_grace_ms);
  const std::int64_t kill_after = limits_.actor_kill_ms - limits_.actor_term_ms;
  actor_kill_ms_ = std::min(actor_kill_ms_, now_ms + limits_.actor_grace_ms + kill_after);
  MaybeFinish(out);
}

void SupervisorPolicy::KillAll(Actions& out) {
  learner_killed_ = actors_killed_ = true;
  evaluator_.Stop(out);
  if (learner_.alive) out.emplace_back(SendSignal{kLearnerSlot, SIGKILL});
  for (const int slot : LivingActors()) out.emplace_back(SendSignal{slot, SIGKILL});
}

void SupervisorPolicy::TickEnding(std::int64_t now_ms, Actions& out) {
  const auto to_actors = [&](int signal) {
    for (const int slot : LivingActors()) {
      if (signal == SIGKILL) Add(out, LogLevel::kWarn, "actor {} hangs: killed", slot);
      out.emplace_back(SendSignal{slot, signal});
    }
  };
  // Each deadline acts once: SIGTERM to the actors, SIGKILL to them, SIGKILL to the learner.
  if (!actors_termed_ && now_ms >= actor_term_ms_) {
    actors_termed_ = true;
    to_actors(SIGTERM);
  }
  if (!actors_killed_ && now_ms >= actor_kill_ms_) {
    actors_killed_ = true;
    to_actors(SIGKILL);
  }
  if (!learner_killed_ && learner_.alive && now_ms >= learner_kill_ms_) {
    learner_killed_ = true;
    Add(out, LogLevel::kWarn, "the learner did not end in time{}: killed",
        LearnerStarts()              ? ", it was still starting"
        : status_ && status_->saving ? ", its last checkpoint does not grow"
                                     : "");
    out.emplace_back(SendSignal{kLearnerSlot, SIGKILL});
  }
}

void SupervisorPolicy::MaybeFinish(Actions& out) {
  const bool any_alive =
      learner_.alive || redo_.alive() || evaluator_.busy() || !LivingActors().empty();
  if (!ending_ || finished_ || any_alive) return;
  finished_ = true;
  out.emplace_back(Finish{exit_status_, error_});
}

}  // namespace starling::fleet
