// What the end of a child means for the run: an ending is classified first, and then looked up in a
// table. Pure; fleet/supervisor_policy.h acts on the answers.
#pragma once

#include <cstdint>
#include <optional>

#include "core/child.h"
#include "core/log.h"

namespace starling::fleet {

// The state of the run when a child ends.
struct RunPoint {
  bool ending = false;       // the supervisor is ending the run
  bool complete = false;     // all steps are done
  bool dismissed = false;    // the learner has sent its actors home
  bool last_status = false;  // the learner has sent its last status line
};

enum class LearnerEnding : std::uint8_t {
  kExpected,          // while the run ends
  kMistake,           // exit status 2: the operator's mistake
  kStoppedElsewhere,  // in order, before the last step: another process stopped it
  kDone,              // in order, after the last step
  kDoneThenKilled,    // after its last status line; all steps are done
  kNoLastCheckpoint,  // after the last step it can fail only at its last checkpoint
  kCrashed,
};
LearnerEnding ClassifyLearner(const ChildExit& exit, const RunPoint& run);

enum class ActorEnding : std::uint8_t {
  kExpected,  // the run ends, or the learner has sent it home
  kMistake,   // exit status 2: the operator's mistake
  kLeft,      // in order; the learner may be about to report the end
  kDied,
};
ActorEnding ClassifyActor(const ChildExit& exit, const RunPoint& run);

// What follows from an ending that ends the run.
struct EndingRule {
  LearnerEnding ending;
  LogLevel level;
  const char* text;  // follows "the learner (pid 7) was killed by SIGKILL"
  int exit_status;   // of the run (core/error.h)
};
// Returns nullopt for kExpected and kCrashed: these do not end a run.
std::optional<EndingRule> RuleFor(LearnerEnding ending);

}  // namespace starling::fleet
