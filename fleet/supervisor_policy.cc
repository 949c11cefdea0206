#include "fleet/supervisor_policy.h"

#include <signal.h>

#include <algorithm>
#include <utility>

#include "core/check.h"
#include "core/error.h"

namespace starling::fleet {
namespace {

std::string Wait(std::int64_t ms) {
  return ms == 0 ? std::string("at once") : fmt::format("in {} ms", ms);
}

}  // namespace

SupervisorPolicy::SupervisorPolicy(const PolicyLimits& limits, int actors, std::uint64_t run_steps,
                                   bool resume, std::string log_path, bool evaluates)
    : limits_(limits),
      run_steps_(run_steps),
      resume_(resume),
      log_path_(std::move(log_path)),
      actors_(static_cast<std::size_t>(actors)),
      evaluator_(limits_, evaluates, log_path_) {
  CHECK(actors >= 0, "{} actors", actors);
}

Actions SupervisorPolicy::Start(std::int64_t) {
  Actions out;
  BringUpLearner(resume_, out);
  for (int slot = 0; slot < static_cast<int>(actors_.size()); ++slot) BringUpActor(slot, out);
  evaluator_.Start(out);
  return out;
}

void SupervisorPolicy::BringUpLearner(bool resume, Actions& out) {
  learner_.alive = true;
  learner_.over = learner_.progress = false;
  learner_.first_steps.reset();
  learner_.first_checkpoint = status_ ? status_->checkpoint : "";
  learner_.start_ms.reset();
  learner_.kill_ms.reset();
  out.emplace_back(StartLearner{resume});
}

void SupervisorPolicy::BringUpActor(int slot, Actions& out) {
  Actor& actor = actors_[static_cast<std::size_t>(slot)];
  ++(actor.started_before ? counts_.actors_restarted : counts_.actors_started);
  if (actor.started_before) ++actor.restarts;
  actor.alive = actor.started_before = true;
  actor.accepted = false;
  actor.before = actor.life;
  actor.start_ms.reset();
  out.emplace_back(StartActor{slot});
}

Actions SupervisorPolicy::OnStatus(std::int64_t now_ms, const learner::RunStatus& status) {
  Actions out;
  NoteJoined(status);
  if (!learner_.first_steps) learner_.first_steps = status.steps;
  learner_.progress = learner_.progress || status.steps > *learner_.first_steps;
  if (status.checkpoint != learner_.first_checkpoint) learner_.deaths_checkpoint = 0;
  learner_.over = learner_.over || status.final || status.phase == "done";
  if (status.final && !learner_.kill_ms) learner_.kill_ms = now_ms + limits_.learner_kill_ms;
  status_ = status;
  return out;
}

void SupervisorPolicy::NoteJoined(const learner::RunStatus& status) {
  for (const learner::ActorStatus& row : status.joined) {
    learner_.progress = learner_.progress || row.accepted > 0;
    if (row.slot < 0 || std::cmp_greater_equal(row.slot, actors_.size())) {
      NoteGuest(row.slot, {status.term, row.incarnation});
      continue;
    }
    Actor& actor = actors_[static_cast<std::size_t>(row.slot)];
    actor.life = Life{status.term, row.incarnation};
    if (row.accepted > 0 && actor.alive && actor.life != actor.before) {
      actor.accepted = true;
      actor.backoff.deaths = 0;
    }
  }
}

// Every new term they all join again, which is no restart.
void SupervisorPolicy::NoteGuest(std::int64_t slot, const Life& life) {
  const auto [at, first] = guests_.try_emplace(slot, life);
  if (first) ++counts_.actors_started;
  if (at->second.term == life.term && at->second != life) ++counts_.actors_restarted;
  at->second = life;
}

RunPoint SupervisorPolicy::Point() const {
  return {.ending = ending_,
          .complete = status_ && status_->steps >= run_steps_,
          .dismissed = learner_.over,
          .last_status = status_ && status_->final};
}

Actions SupervisorPolicy::OnActorExit(std::int64_t now_ms, int slot, int pid, const ChildExit& exit,
                                      const std::string& reason) {
  Actions out;
  Actor& actor = actors_[static_cast<std::size_t>(slot)];
  CHECK(actor.alive, "actor {} died twice", slot);
  actor.alive = false;
  const std::string who = Who(fmt::format("actor {}", slot), pid, exit);
  switch (ClassifyActor(exit, Point())) {
    case ActorEnding::kExpected:
      Add(out, LogLevel::kInfo, "{}", who);
      MaybeFinish(out);
      break;
    case ActorEnding::kMistake:
      Add(out, LogLevel::kError, "{}: its message is above, the run ends", who);
      BeginEnding(now_ms, kExitUserError, out, reason.empty() ? who : reason);
      break;
    case ActorEnding::kLeft:
      actor.start_ms = now_ms + limits_.left_actor_ms;
      Add(out, LogLevel::kInfo, "{}; replaced in {} ms unless the run is over", who,
          limits_.left_actor_ms);
      break;
    case ActorEnding::kDied:
      ReplaceActor(now_ms, slot, who, reason, out);
      break;
  }
  return out;
}

// Gives up if no actor of this run ever gets anywhere.
void SupervisorPolicy::ReplaceActor(std::int64_t now_ms, int slot, const std::string& who,
                                    const std::string& reason, Actions& out) {
  Actor& actor = actors_[static_cast<std::size_t>(slot)];
  const std::int64_t wait = actor.accepted ? 0 : actor.backoff.Next(limits_);
  actor.start_ms = now_ms + wait;
  Add(out, LogLevel::kWarn, "{}; replaced {}; at most its gradients in flight are lost", who,
      Wait(wait));
  if (EverySlotHopeless()) {
    const std::string what =
        fmt::format("every actor died {} times in a row before its first accepted gradient",
                    limits_.actor_deaths);
    Add(out, LogLevel::kError, "{}: gave up; the reasons are in {}", what, log_path_);
    BeginEnding(now_ms, kExitFailed, out, Because(what, reason));
  } else if (wait == 0) {
    BringUpActor(slot, out);
  }
}

bool SupervisorPolicy::EverySlotHopeless() const {
  return std::ranges::all_of(
      actors_, [&](const Actor& actor) { return actor.backoff.deaths >= limits_.actor_deaths; });
}

Actions SupervisorPolicy::OnLearnerExit(std::int64_t now_ms, int pid, const ChildExit& exit,
                                        const std::string& reason) {
  Actions out;
  CHECK(learner_.alive, "the learner died twice");
  learner_.alive = false;
  learner_.kill_ms.reset();
  const std::string who = Who("the learner", pid, exit);
  const LearnerEnding ending = ClassifyLearner(exit, Point());
  if (ending == LearnerEnding::kExpected) {
    LearnerEnded(now_ms, exit, who, reason, out);
  } else if (ending == LearnerEnding::kCrashed) {
    LearnerCrashed(now_ms, who, reason, out);
  } else {
    const EndingRule rule = RuleFor(ending).value();
    Add(out, rule.level, "{}{}", who, rule.text);
    std::string error;
    if (ending == LearnerEnding::kMistake) error = reason.empty() ? who : reason;
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
  Add(out, in_order ? LogLevel::kInfo : LogLevel::kWarn, "{}{}", who,
      in_order ? "" : ": what came after its last checkpoint is lost");
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
  Add(out, LogLevel::kWarn, "{} at {} steps; started again {} from {}; what came after it is lost",
      who, status_ ? status_->steps : 0, Wait(wait),
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
    if (!actor.alive && !actor.start_ms) actor.start_ms = now_ms;
  }
  BringUpLearner(/*resume=*/true, out);
}

Actions SupervisorPolicy::OnEvaluatorExit(std::int64_t now_ms, int pid, const ChildExit& exit,
                                          bool results) {
  Actions out;
  evaluator_.OnExit(now_ms, pid, exit, results, out);
  MaybeFinish(out);
  return out;
}

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
  if (learner_.alive && learner_.over && Point().complete) {
    BeginEnding(now_ms, kExitDone, out);
    return out;
  }
  Add(out, LogLevel::kWarn, "{}: {}; once more ends it at once", SignalName(signal),
      learner_.alive ? "the learner writes a final checkpoint" : "the run ends");
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
  learner_kill_ms_ = now_ms + limits_.learner_kill_ms;

  // 3. Ask the evaluator and the learner to end. The actors follow the learner.
  if (exit_status == kExitDone) {
    evaluator_.Finish(now_ms, out);
  } else {
    evaluator_.Stop(out);
  }
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

Actions SupervisorPolicy::Tick(std::int64_t now_ms) {
  Actions out;
  if (finished_) return out;
  // 1. The evaluator, and the deadlines of the end.
  evaluator_.Tick(now_ms, out);
  if (ending_) {
    TickEnding(now_ms, out);
    return out;
  }
  // 2. A learner that hangs, and processes whose back-off is over.
  if (learner_.alive && learner_.kill_ms && now_ms >= *learner_.kill_ms) {
    Add(out, LogLevel::kWarn, "the learner hangs after its last status line: killed");
    learner_.kill_ms.reset();
    out.emplace_back(SendSignal{kLearnerSlot, SIGKILL});
  }
  if (learner_.start_ms && now_ms >= *learner_.start_ms) {
    RestartLearner(now_ms, out);
  }
  for (int slot = 0; slot < static_cast<int>(actors_.size()); ++slot) {
    const Actor& actor = actors_[static_cast<std::size_t>(slot)];
    if (actor.start_ms && now_ms >= *actor.start_ms && !learner_.over) BringUpActor(slot, out);
  }
  return out;
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
    Add(out, LogLevel::kWarn, "the learner did not end in time: killed");
    out.emplace_back(SendSignal{kLearnerSlot, SIGKILL});
  }
}

std::vector<monitor::ActorProcess> SupervisorPolicy::processes() const {
  std::vector<monitor::ActorProcess> processes;
  for (const Actor& actor : actors_) {
    processes.push_back({actor.alive, actor.accepted, actor.restarts});
  }
  return processes;
}

std::vector<int> SupervisorPolicy::LivingActors() const {
  std::vector<int> slots;
  for (std::size_t slot = 0; slot < actors_.size(); ++slot) {
    if (actors_[slot].alive) slots.push_back(static_cast<int>(slot));
  }
  return slots;
}

void SupervisorPolicy::MaybeFinish(Actions& out) {
  const bool any_alive = learner_.alive || evaluator_.busy() || !LivingActors().empty();
  if (!ending_ || finished_ || any_alive) return;
  finished_ = true;
  out.emplace_back(Finish{exit_status_, error_});
}

}  // namespace starling::fleet
