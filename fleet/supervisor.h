// Starts the learner, the actors and the evaluator as direct children, watches them, restarts and stops them: the
// hands of fleet/supervisor_policy.h. Nothing of theirs is left when it returns.
//
// Must run in the main thread: the kernel ends the children with the thread that started them.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "fleet/run_log.h"
#include "fleet/supervisor_policy.h"
#include "learner/status.h"
#include "monitor/console.h"
#include "monitor/run_history.h"

namespace starling::fleet {

struct SupervisorOptions {
  std::filesystem::path run_dir;
  std::filesystem::path learner_program, actor_program;
  std::vector<std::string> actor_arguments;  // besides --run-dir, --slot and --parent
  bool resume = false;                       // the first learner, too, goes on from a checkpoint
  bool evaluates = false;  // an evaluator beside the actors: also an actor_program
  int actors = 1;          // to start; 0: all come from elsewhere
  monitor::RunFacts facts{};
  bool screen = false;  // on a terminal many lines, drawn again and again; false: the bar
  PolicyLimits limits;
};

struct SupervisorResult {
  int exit_status = 0;  // core/error.h
  std::string error;    // why the run failed, one sentence; "" if it did not
  std::optional<learner::LearnerStatus> status;
  results::FleetCounts counts;
};

// Handles SIGINT, SIGTERM, SIGHUP (unless ignored, as under nohup) and SIGCHLD while it runs.
SupervisorResult Supervise(const SupervisorOptions& options, RunLog& log,
                           monitor::Console& console);

// Holds SIGINT, SIGTERM and SIGHUP back for as long as it lives, except while Supervise runs, so
// that none can come between a run and its summary. What is still held back then is forgotten.
class StopSignalsHeld {
 public:
  StopSignalsHeld();
  ~StopSignalsHeld();
  StopSignalsHeld(const StopSignalsHeld&) = delete;
  StopSignalsHeld& operator=(const StopSignalsHeld&) = delete;
};

}  // namespace starling::fleet
