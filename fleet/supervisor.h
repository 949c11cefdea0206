// Starts the learner, the actors, the evaluator, the redo and the status pages as direct children,
// watches, restarts and stops them: carries out the decisions of fleet/supervisor_policy.h. No
// child is left when it returns.
//
// REQUIRES: the main thread. The kernel ends the children with the thread that started them.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "actors/own_program.h"
#include "core/child.h"
#include "fleet/learner_command.h"
#include "fleet/run_log.h"
#include "fleet/supervisor_policy.h"
#include "learner/run_status.h"
#include "monitor/console.h"
#include "monitor/run_history.h"

namespace starling::fleet {

struct SupervisorOptions {
  std::filesystem::path run_dir;
  LearnerCommand learner;
  std::filesystem::path actor_program;
  std::filesystem::path redo_program;        // `starling`: it has the command replay
  std::vector<std::string> actor_arguments;  // besides --run-dir, --slot and --parent
  // Instead of actor_program: actors.command, and the place of its learner, but for run and slot.
  std::vector<std::string> own_actor{};
  actors::ToldPlace own_actor_place{};
  double redo_s = 30;   // checkpoint.redo_s
  bool resume = false;  // the first learner starts from a checkpoint, too
  // Called before the first learner: a redo before it reads the configuration of the last one.
  std::function<void()> before_learner{};
  bool evaluates = false;            // an evaluator runs beside the actors, also an actor_program
  std::optional<ChildSpec> pages{};  // the process that serves the status pages, if there are any
  // The file for the state of the processes (monitor/fleet_status.h); empty: none is written.
  std::filesystem::path fleet_status{};
  int actors = 1;  // to start; 0: all are started elsewhere, or play as ranks
  monitor::RunFacts facts{};
  bool screen = false;  // a terminal shows the screen; false: the bar
  PolicyLimits limits;
};

struct SupervisorResult {
  int exit_status = 0;  // core/error.h
  std::string error;    // why the run failed, one sentence; "" if it did not
  std::optional<learner::RunStatus> status;
  results::FleetCounts counts;
};

// Handles SIGINT, SIGTERM, SIGCHLD, and SIGHUP and SIGTSTP unless they are ignored (as under
// nohup), while it runs. At SIGTSTP all children are stopped, too, and go on with this process.
SupervisorResult Supervise(const SupervisorOptions& options, RunLog& log,
                           monitor::Console& console);

}  // namespace starling::fleet
