#include "fleet/supervisor_policy.h"

#include <signal.h>

#include <algorithm>
#include <utility>

#include "core/check.h"
#include "core/error.h"

namespace starling::fleet {
SupervisorPolicy::SupervisorPolicy(const PolicyLimits& limits, int actors,
                                   const learner::RunGoal& goal, bool resume, std::string log_path,
                                   bool evaluates, bool pages)
    : limits_(limits),
      goal_(goal),
      resume_(resume),
      log_path_(std::move(log_path)),
      actors_(static_cast<std::size_t>(actors)),
      evaluator_(limits_, evaluates, log_path_),
      pages_(limits_, pages, log_path_),
      redo_(limits_) {
  CHECK(actors >= 0, "{} actors", actors);
}

Actions SupervisorPolicy::Start(std::int64_t now_ms) {
  Actions out;
  pages_.Start(now_ms, out);
  if (resume_) {
    redo_.Start(now_ms, /*first=*/true, out);
  } else {
    BringUpFleet(false, out);
  }
  return out;
}

void SupervisorPolicy::BringUpFleet(bool resume, Actions& out) {
  BringUpLearner(resume, out);
  if (std::exchange(fleet_started_, true)) return;
  for (int slot = 0; slot < static_cast<int>(actors_.size()); ++slot) BringUpActor(slot, out);
  evaluator_.Start(out);
}

Actions SupervisorPolicy::OnRedoStatus(std::int64_t now_ms, const monitor::RedoStatus& status) {
  redo_.OnStatus(now_ms, status);
  return {};
}

Actions SupervisorPolicy::OnRedoExit(std::int64_t now_ms, int pid, const ChildExit& exit,
                                     const std::string& reason) {
  Actions out;
  if (redo_.status()) {
    // It took its time: actors have looked for their learner in vain. Its checkpoint is progress.
    for (Actor& actor : actors_) actor.backoff.deaths = 0;
    if (Exited(exit, kExitDone)) learner_.backoff.deaths = learner_.deaths_checkpoint = 0;
  }
  redo_.OnExit(pid, exit, reason, out);
  if (ending_) {
    MaybeFinish(out);
  } else if (const auto& end = redo_.gave_up()) {
    BeginEnding(now_ms, end->exit_status, out, end->error);
  } else if (!redo_.alive()) {
    BringUpFleet(/*resume=*/true, out);
  }
  return out;
}

void SupervisorPolicy::BringUpLearner(bool resume, Actions& out) {
  learner_.alive = true;
  learner_.over = learner_.progress = false;
  learner_.first_steps.reset();
  learner_.first_checkpoint = status_ ? status_->checkpoint : "";
  learner_.start_ms.reset();
  learner_.kill_ms.reset();
  learner_.reported_ms.reset();
  learner_.since_ms.reset();
  learner_.silent = false;
  learner_.killed_why.clear();
  out.emplace_back(StartLearner{resume});
}

Actions SupervisorPolicy::OnStatus(std::int64_t now_ms, const learner::RunStatus& status) {
  Actions out;
  if (learner_.silent) Add(out, LogLevel::kInfo, "the learner reports again");
  learner_.silent = false;
  learner_.reported_ms = now_ms;
  const bool starts = LearnerStarts();
  if (starts) {  // until now no actor could have worked
    learner_.since_ms = now_ms;
    for (Actor& actor : actors_) actor.backoff.deaths = 0;
  }
  NoteJoined(now_ms, status);
  if (!learner_.first_steps) learner_.first_steps = status.steps;
  learner_.progress = learner_.progress || status.steps > *learner_.first_steps;
  if (status.checkpoint != learner_.first_checkpoint) learner_.deaths_checkpoint = 0;
  learner_.over = learner_.over || status.final || status.phase == "done";
  if (status.final && !learner_.kill_ms) learner_.kill_ms = now_ms + limits_.learner_kill_ms;
  // A last checkpoint that grows is waited for.
  const bool grows = status.saving && (!status_ || status_->saving != status.saving);
  if (ending_ && (starts || grows)) learner_kill_ms_ = now_ms + limits_.learner_kill_ms;
  status_ = status;
  return out;
}

RunPoint SupervisorPolicy::Point(bool worked) const {
  return {.ending = ending_,
          .complete = Complete(),
          .dismissed = learner_.over,
          .last_status = status_ && status_->final,
          .worked = worked};
}

Actions SupervisorPolicy::OnLearnerExit(std::int64_t now_ms, int pid, const ChildExit& exit,
                                        const std::string& reason) {
  Actions out;
  CHECK(learner_.alive, "the learner died twice");
  learner_.alive = learner_.silent = false;
  learner_.kill_ms.reset();
  const std::string who = Because(Who("the learner", pid, exit), learner_.killed_why);
  const LearnerEnding ending = ClassifyLearner(exit, Point(/*worked=*/status_.has_value()));
  if (ending == LearnerEnding::kExpected) {
    LearnerEnded(now_ms, exit, who, reason, out);
  } else if (ending == LearnerEnding::kCrashed) {
    LearnerCrashed(now_ms, who, reason, out);
  } else {
    const EndingRule rule = RuleFor(ending).value();
    Add(out, rule.level, "{}{}", who, rule.text);
    std::string error;
    if (ending == LearnerEnding::kMistake || ending == LearnerEnding::kGaveUp) {
      error = reason.empty() ? who : reason;
    }
    if (ending == LearnerEnding::kNoLastCheckpoint) error = Because(who, reason);
    BeginEnding(now_ms, rule.exit_status, out, std::move(error));
  }
  return out;
}

// The learner ends while the run does.
void SupervisorPolicy::LearnerEnded(std::int64_t now_ms, const ChildExit& exit,
                                    const std::string& who, const std::string& reason,
                                    Actions& out) {
  const bool exited = exit.how == ChildExit::How::kExited;
  const bool in_order = exited && exit.code == kExitDone;
  const bool nothing_lost = in_order || !status_;
  Add(out, in_order ? LogLevel::kInfo : LogLevel::kWarn, "{}{}", who,
      nothing_lost ? ""
                   : ": it wrote no last checkpoint; --resume first redoes what came after the "
                     "newest, where that is possible");
  if (exit_status_ == kExitDone && exited && !in_order) {  // no last checkpoint
    exit_status_ = kExitFailed;
    error_ = Because(who, reason);
  }
  if (exit_status_ == kExitDone && !exited && !status_->final) exit_status_ = kExitInterrupted;
  LearnerLeft(now_ms, out);
}

void SupervisorPolicy::LearnerCrashed(std::int64_t now_ms, const std::string& who,
                                      const std::string& reason, Actions& out) {
  if (learner_.progress) learner_.backoff.deaths = 0;
  const std::int64_t wait = learner_.progress ? 0 : learner_.backoff.Next(limits_);
  ++learner_.deaths_checkpoint;
  const bool stuck = !learner_.progress && learner_.backoff.deaths >= limits_.learner_deaths;
  if (stuck || learner_.deaths_checkpoint >= limits_.learner_deaths_checkpoint) {
    const std::string what =
        fmt::format("{}, {} times in a row without {}", who,
                    stuck ? learner_.backoff.deaths : learner_.deaths_checkpoint,
                    stuck ? "an applied update" : "a newer checkpoint");
    Add(out, LogLevel::kError, "{}: gave up; the reasons are in {}", what, log_path_);
    BeginEnding(now_ms, kExitFailed, out, Because(what, reason));
    return;
  }
  const std::string checkpoint = status_ ? status_->checkpoint : "";
  Add(out, LogLevel::kWarn, "{} {}; started again {} from {}", who,
      status_ ? fmt::format("at {} steps", status_->steps) : "before its first report", Wait(wait),
      checkpoint.empty()
          ? std::string("its last checkpoint, if there is one")
          : checkpoint + " or a newer one");  // the last status line may be older than the disk
  learner_.start_ms = now_ms + wait;
  if (wait == 0) RestartLearner(now_ms, out);
}

void SupervisorPolicy::RestartLearner(std::int64_t now_ms, Actions& out) {
  ++counts_.learner_restarted;
  // Actors that left because the run seemed over are started again.
  for (Actor& actor : actors_) {
    if (!actor.alive && !actor.start_ms && !actor.given_up) actor.start_ms = now_ms;
  }
  learner_.start_ms.reset();
  redo_.Start(now_ms, /*first=*/false, out);
}

Actions SupervisorPolicy::OnEvaluatorExit(std::int64_t now_ms, int pid, const ChildExit& exit,
                                          bool results) {
  Actions out;
  evaluator_.OnExit(now_ms, pid, exit, results, out);
  MaybeFinish(out);
  return out;
}

Actions SupervisorPolicy::OnPagesExit(std::int64_t now_ms, int pid, const ChildExit& exit) {
  Actions out;
  pages_.OnExit(now_ms, pid, exit, out);
  return out;
}

Actions SupervisorPolicy::Tick(std::int64_t now_ms) {
  Actions out;
  if (finished_) return out;
  // 1. The evaluator and the pages, and the deadlines of the end.
  evaluator_.Tick(now_ms, out);
  pages_.Tick(now_ms, out);
  if (ending_) {
    TickEnding(now_ms, out);
    return out;
  }
  // 2. Processes that hang, and those whose back-off is over.
  TickLearner(now_ms, out);
  redo_.Tick(now_ms, out);
  for (int slot = 0; slot < static_cast<int>(actors_.size()) && !ending_; ++slot) {
    TickActor(now_ms, slot, out);
  }
  return out;
}

void SupervisorPolicy::TickLearner(std::int64_t now_ms, Actions& out) {
  if (learner_.start_ms && now_ms >= *learner_.start_ms) return RestartLearner(now_ms, out);
  if (!learner_.alive) return;
  if (learner_.kill_ms && now_ms >= *learner_.kill_ms) {
    Add(out, LogLevel::kWarn, "the learner hangs after its last status line: killed");
    learner_.kill_ms.reset();
    out.emplace_back(SendSignal{kLearnerSlot, SIGKILL});
  }
  if (learner_.over || !learner_.reported_ms) return;
  const std::int64_t silent = now_ms - *learner_.reported_ms;
  if (silent >= limits_.silent_ms && !std::exchange(learner_.silent, true)) {
    Add(out, LogLevel::kWarn,
        "the learner has not reported for {} s: it hangs, or this machine is overloaded; it is "
        "killed and started again after {} s",
        silent / 1000, limits_.hang_ms / 1000);
  }
  if (silent < limits_.hang_ms) return;
  learner_.killed_why = fmt::format("it had not reported for {} s", silent / 1000);
  learner_.reported_ms.reset();
  out.emplace_back(SendSignal{kLearnerSlot, SIGKILL});
}

}  // namespace starling::fleet
