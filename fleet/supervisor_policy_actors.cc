// The supervisor's policy for the actors: when one is started, replaced, given up or killed.
#include <signal.h>

#include <algorithm>
#include <utility>

#include "core/check.h"
#include "core/error.h"
#include "fleet/supervisor_policy.h"

namespace starling::fleet {

void SupervisorPolicy::BringUpActor(int slot, Actions& out) {
  Actor& actor = actors_[static_cast<std::size_t>(slot)];
  ++(actor.started_before ? counts_.actors_restarted : counts_.actors_started);
  if (actor.started_before) ++actor.restarts;
  actor.alive = actor.started_before = true;
  actor.accepted = actor.left = false;
  actor.before = actor.life;
  actor.start_ms.reset();
  actor.member_ms.reset();
  actor.killed_why.clear();
  out.emplace_back(StartActor{slot});
}

void SupervisorPolicy::NoteJoined(std::int64_t now_ms, const learner::RunStatus& status) {
  for (const learner::ActorStatus& row : status.joined) {
    learner_.progress = learner_.progress || row.accepted > 0;
    if (row.slot < 0 || std::cmp_greater_equal(row.slot, actors_.size())) {
      NoteGuest(row.slot, {status.term, row.incarnation});
      continue;
    }
    Actor& actor = actors_[static_cast<std::size_t>(row.slot)];
    actor.life = Life{status.term, row.incarnation};
    if (!actor.alive || actor.life == actor.before) continue;
    actor.member_ms = now_ms;
    if (row.accepted > 0) {
      actor.accepted = actor.worked = true;
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

Actions SupervisorPolicy::OnActorExit(std::int64_t now_ms, int slot, int pid, const ChildExit& exit,
                                      const std::string& reason) {
  Actions out;
  Actor& actor = actors_[static_cast<std::size_t>(slot)];
  CHECK(actor.alive, "actor {} died twice", slot);
  actor.alive = false;
  const std::string who = Because(Who(fmt::format("actor {}", slot), pid, exit), actor.killed_why);
  switch (ClassifyActor(exit, Point(actor.worked))) {
    case ActorEnding::kExpected:
      Add(out, LogLevel::kInfo, "{}", who);
      MaybeFinish(out);
      break;
    case ActorEnding::kMistake:
      Add(out, LogLevel::kError, "{}{}, the run ends", who,
          IsNoProgram(exit) ? "; the first line of a script names an interpreter that is there"
                            : ": its message is above");
      BeginEnding(now_ms, kExitUserError, out, reason.empty() ? who : reason);
      break;
    case ActorEnding::kLeft:
      actor.left = true;
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

void SupervisorPolicy::ReplaceActor(std::int64_t now_ms, int slot, const std::string& who,
                                    const std::string& reason, Actions& out) {
  Actor& actor = actors_[static_cast<std::size_t>(slot)];
  // Beside actors that work, a slot that never works is restarted at longer intervals.
  const std::int64_t longest = std::ranges::any_of(actors_, &Actor::accepted)
                                   ? limits_.slot_backoff_max_ms
                                   : limits_.backoff_max_ms;
  const std::int64_t wait = actor.accepted ? 0 : actor.backoff.Next(limits_, longest);
  if (GaveUpOn(now_ms, slot, reason.empty() ? who : reason, out)) return;
  actor.start_ms = now_ms + wait;
  Add(out, LogLevel::kWarn, "{}; replaced {}; at most its gradients in flight are lost", who,
      Wait(wait));
  if (wait == 0) BringUpActor(slot, out);
}

// Gives up a slot that never gets anywhere, and the run if no slot does. `reason`: of its last end.
bool SupervisorPolicy::GaveUpOn(std::int64_t now_ms, int slot, const std::string& reason,
                                Actions& out) {
  constexpr const char* kEnded = "{} ended {} times in a row before its first accepted gradient";
  if (!status_ || redo_.alive() || LearnerStarts()) return false;
  // 1. The run.
  const auto hopeless = [&](const Actor& a) {
    return a.given_up || a.backoff.deaths >= limits_.actor_deaths;
  };
  if (std::ranges::all_of(actors_, hopeless)) {
    const std::string what = fmt::format(kEnded, "every actor", limits_.actor_deaths);
    Add(out, LogLevel::kError, "{}: gave up; the reasons are in {}", what, log_path_);
    BeginEnding(now_ms, kExitFailed, out, Because(what, reason));
    return true;
  }
  // 2. The slot.
  Actor& actor = actors_[static_cast<std::size_t>(slot)];
  if (actor.backoff.deaths < limits_.slot_deaths) return false;
  actor.given_up = true;
  ++counts_.actors_given_up;
  const std::string what = fmt::format(kEnded, fmt::format("actor {}", slot), actor.backoff.deaths);
  Add(out, LogLevel::kError, "{}: {}; its last end: {}; the reasons are in {}", what,
      limits_.needs_every_slot ? "the run ends, because bound 0 needs every actor"
                               : "its slot is given up, the others go on",
      reason, log_path_);
  if (limits_.needs_every_slot) {
    BeginEnding(now_ms, kExitFailed, out,
                Because(what + ", and bound 0 needs every actor", reason));
  }
  return true;
}

void SupervisorPolicy::TickActor(std::int64_t now_ms, int slot, Actions& out) {
  Actor& actor = actors_[static_cast<std::size_t>(slot)];
  // 1. Replace it. It left in order, but the run goes on.
  if (actor.start_ms && now_ms >= *actor.start_ms && !learner_.over) {
    if (actor.left) {
      Add(out, LogLevel::kWarn, "actor {} left with exit status 0 while the run goes on", slot);
      if (!actor.accepted) ++actor.backoff.deaths;
      actor.start_ms.reset();
      if (GaveUpOn(now_ms, slot, "it left with exit status 0", out)) return;
    }
    return BringUpActor(slot, out);
  }
  // 2. Kill it if it hangs. While the learner is silent, or is new, none is known to.
  if (!actor.alive || !actor.member_ms || !learner_.alive || learner_.over || learner_.silent ||
      !learner_.since_ms) {
    return;
  }
  const std::int64_t absent = now_ms - std::max(*actor.member_ms, *learner_.since_ms);
  if (absent < limits_.hang_ms) return;
  actor.killed_why = fmt::format(
      "it hung, the learner had not heard of it for {} s (an environment that does not return?)",
      absent / 1000);
  actor.member_ms.reset();
  out.emplace_back(SendSignal{slot, SIGKILL});
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

}  // namespace starling::fleet
