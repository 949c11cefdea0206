// The decisions of the supervisor, without processes or clocks: events in (a child died, a status
// line, a signal, a tick), actions out. fleet/supervisor.cc carries them out.
//
// The rules:
//  - An actor that died is replaced in its slot at once. If it died before its first accepted
//    gradient, it waits 50 ms first, doubling with each such death in a row to at most 1 s, or
//    60 s while another actor works. After `slot_deaths` of them the slot is given up with an
//    error and the others go on. The run fails if it needs every slot, as bound 0 does. Nothing is
//    given up during a redo, nor before its learner's first status line: both may take minutes.
//  - Once the learner has reported the end of the run, no actor is replaced: actors leave while the
//    learner writes its last checkpoint.
//  - A learner that died is restarted from its last checkpoint. Before that, and before the first
//    learner of a resumed run, a redo (fleet/redo_policy.h) replays the updates after that
//    checkpoint. The actors of a resumed run start after it. After `learner_deaths` deaths in a row
//    without an applied update the run fails, and if the redo forbids a learner.
//  - Actors from elsewhere, in slots above ours, count when the learner welcomes them. A second
//    actor in a slot within a term counts as a restart.
//  - An actor that leaves with status 0 while the run goes on is replaced after `left_actor_ms`.
//    Without an accepted gradient that counts as a death. If every slot dies `actor_deaths` times
//    in a row, the run fails.
//  - Exit status 2 is the operator's mistake, and the run ends with 2, before a first accepted
//    gradient in the slot, or a first status line of any learner. Later it is a death as any other.
//  - A learner without a status line for `hang_ms` is killed, and so is an actor that joined and
//    then was no member for so long: an environment may never return.
//  - The evaluator (fleet/evaluator_policy.h) can neither delay the run nor make it fail. A
//    finished run waits for the evaluation of its last weights.
//  - The status pages (fleet/pages_policy.h) neither, and nothing waits for them.
//  - The first stop signal goes to the learner, which writes a final checkpoint. Every process has
//    ended `learner_kill_ms` after the checkpoint last grew. A learner that has not reported yet
//    has nothing to save, and `starting_kill_ms`. A second signal kills at once.
//
// All times are milliseconds of one monotonic clock. REQUIRES: they do not go back from call to
// call.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "core/child.h"
#include "fleet/endings.h"
#include "fleet/evaluator_policy.h"
#include "fleet/pages_policy.h"
#include "fleet/redo_policy.h"
#include "fleet/supervisor_actions.h"
#include "learner/run_goal.h"
#include "learner/run_status.h"
#include "monitor/run_history.h"
#include "results/summary.h"

namespace starling::fleet {

class SupervisorPolicy {
 public:
  // `actors` may be 0: then all of them are started elsewhere. Messages refer to `log_path`.
  // `evaluates`: an evaluator runs beside the fleet. `pages`: status pages are served.
  SupervisorPolicy(const PolicyLimits& limits, int actors, const learner::RunGoal& goal,
                   bool resume, std::string log_path, bool evaluates = false, bool pages = false);

  Actions Start(std::int64_t now_ms);
  Actions OnStatus(std::int64_t now_ms, const learner::RunStatus& status);
  // `pid` and `reason` (of EndReason, fleet/child_output.h) are for messages. REQUIRES: every
  // status line of the child was passed in before.
  Actions OnLearnerExit(std::int64_t now_ms, int pid, const ChildExit& exit,
                        const std::string& reason = "");
  Actions OnActorExit(std::int64_t now_ms, int slot, int pid, const ChildExit& exit,
                      const std::string& reason = "");
  // `results`: it has written some since its start.
  Actions OnEvaluatorExit(std::int64_t now_ms, int pid, const ChildExit& exit, bool results);
  Actions OnPagesExit(std::int64_t now_ms, int pid, const ChildExit& exit);
  Actions OnRedoStatus(std::int64_t now_ms, const monitor::RedoStatus& status);
  Actions OnRedoExit(std::int64_t now_ms, int pid, const ChildExit& exit,
                     const std::string& reason = "");
  Actions OnStopSignal(std::int64_t now_ms, int signal);
  Actions Tick(std::int64_t now_ms);

  const results::FleetCounts& counts() const { return counts_; }
  std::vector<monitor::ActorProcess> processes() const;  // by slot
  bool learner_alive() const { return learner_.alive; }
  // Whether the learner lives and does not report.
  bool learner_silent() const { return learner_.silent; }
  // The progress of the redo, if one runs.
  const std::optional<monitor::RedoStatus>& redo() const { return redo_.status(); }
  // Whether the run is about to end. Actors that leave now are not missed.
  bool over() const { return ending_ || learner_.over; }
  // The newest of any learner of this run.
  const std::optional<learner::RunStatus>& last_status() const { return status_; }

 private:
  // The life of an actor that a row of RunStatus::joined describes.
  struct Life {
    std::uint64_t term = 0, incarnation = 0;
    friend bool operator==(const Life&, const Life&) = default;
  };
  struct Actor {
    bool alive = false;
    bool started_before = false;
    bool accepted = false;  // this process has had a gradient accepted
    bool worked = false;    // any process of the slot has
    bool left = false;      // the last process left with status 0
    bool given_up = false;  // no process is started in the slot any more
    std::uint64_t restarts = 0;
    std::optional<std::int64_t> member_ms;  // when the learner last listed this process
    std::string killed_why;                 // "" unless we have killed it
    std::optional<Life> life;               // the newest that the learner listed in this slot
    std::optional<Life> before;             // that of the process before this one
    std::optional<std::int64_t> start_ms;   // time of its next start, if it is dead
    Backoff backoff;
  };
  struct Learner {
    bool alive = false;
    bool over = false;      // it reported the end; it may still write its last checkpoint
    bool progress = false;  // this life has applied an update
    std::optional<std::uint64_t> first_steps;
    std::string first_checkpoint;  // the newest when this life began
    std::optional<std::int64_t> start_ms;
    std::optional<std::int64_t> kill_ms;
    std::optional<std::int64_t> reported_ms, since_ms;  // its newest and its first status line
    bool silent = false;                                // it was warned of
    std::string killed_why;                             // "" unless we have killed it
    Backoff backoff;
    int deaths_checkpoint = 0;
  };

  // The learner has not reported in this life.
  bool LearnerStarts() const { return learner_.alive && !learner_.since_ms; }
  bool Complete() const { return status_ && goal_.Reached(*status_); }
  RunPoint Point(bool worked) const;
  void BringUpFleet(bool resume, Actions& out);
  void BringUpActor(int slot, Actions& out);
  void BringUpLearner(bool resume, Actions& out);
  void RestartLearner(std::int64_t now_ms, Actions& out);
  void NoteJoined(std::int64_t now_ms, const learner::RunStatus& status);
  void NoteGuest(std::int64_t slot, const Life& life);
  void ReplaceActor(std::int64_t now_ms, int slot, const std::string& who,
                    const std::string& reason, Actions& out);
  bool GaveUpOn(std::int64_t now_ms, int slot, const std::string& reason, Actions& out);
  void LearnerEnded(std::int64_t now_ms, const ChildExit& exit, const std::string& who,
                    const std::string& reason, Actions& out);
  void LearnerCrashed(std::int64_t now_ms, const std::string& who, const std::string& reason,
                      Actions& out);
  void LearnerLeft(std::int64_t now_ms, Actions& out);
  void BeginEnding(std::int64_t now_ms, int exit_status, Actions& out, std::string error = "");
  void KillAll(Actions& out);
  void TickLearner(std::int64_t now_ms, Actions& out);
  void TickActor(std::int64_t now_ms, int slot, Actions& out);
  void TickEnding(std::int64_t now_ms, Actions& out);
  void MaybeFinish(Actions& out);
  std::vector<int> LivingActors() const;  // slots

  const PolicyLimits limits_;
  const learner::RunGoal goal_;
  const bool resume_;
  const std::string log_path_;
  std::vector<Actor> actors_;
  std::map<std::int64_t, Life> guests_;  // by slot: actors from elsewhere
  Learner learner_;
  EvaluatorPolicy evaluator_;
  PagesPolicy pages_;
  RedoPolicy redo_;
  std::optional<learner::RunStatus> status_;
  results::FleetCounts counts_;

  bool fleet_started_ = false, ending_ = false, finished_ = false;
  int exit_status_ = 0;
  std::string error_;  // why the run fails; "" if it does not
  std::optional<std::int64_t> first_signal_ms_;
  std::int64_t actor_term_ms_ = 0, actor_kill_ms_ = 0, learner_kill_ms_ = 0;
  bool actors_termed_ = false, actors_killed_ = false, learner_killed_ = false;
};

}  // namespace starling::fleet
