// What the end of a child means for the run: an ending is classified first, and then looked up in a
// table. Pure; fleet/supervisor_policy.h acts on the answers.
#pragma once

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <iterator>
#include <optional>

#include "core/child.h"
#include "core/error.h"
#include "core/log.h"

namespace starling::fleet {

// The state of the run when a child ends.
struct RunPoint {
  bool ending = false;       // the supervisor is ending the run
  bool complete = false;     // learner::RunGoal is reached
  bool dismissed = false;    // the learner has sent its actors home
  bool last_status = false;  // the learner has sent its last status line
  bool worked = false;       // a learner has reported, or the slot has had a gradient accepted
};

inline bool Exited(const ChildExit& exit, int code) {
  return exit.how == ChildExit::How::kExited && exit.code == code;
}

enum class LearnerEnding : std::uint8_t {
  kExpected,          // while the run ends
  kMistake,           // exit status 2 at the first start: the operator's mistake
  kGaveUp,            // training cannot go on: another start would not help
  kStoppedElsewhere,  // in order, before the last step: another process stopped it
  kDone,              // in order, after the last step
  kDoneThenKilled,    // after its last status line; all steps are done
  kNoLastCheckpoint,  // after the last step it can fail only at its last checkpoint
  kCrashed,
};
inline LearnerEnding ClassifyLearner(const ChildExit& exit, const RunPoint& run) {
  const bool in_order = Exited(exit, kExitDone);
  const bool exited = exit.how == ChildExit::How::kExited;
  if (run.ending) return LearnerEnding::kExpected;
  if (Exited(exit, kExitUserError) && !run.worked) return LearnerEnding::kMistake;
  if (Exited(exit, kExitGaveUp)) return LearnerEnding::kGaveUp;
  if (in_order) return run.complete ? LearnerEnding::kDone : LearnerEnding::kStoppedElsewhere;
  if (!run.complete || !run.last_status) return LearnerEnding::kCrashed;
  return exited ? LearnerEnding::kNoLastCheckpoint : LearnerEnding::kDoneThenKilled;
}

enum class ActorEnding : std::uint8_t {
  kExpected,  // the run ends, or the learner has sent it home
  kMistake,   // exit status 2, or no start, before the slot has worked: the operator's mistake
  kLeft,      // in order; the learner may be about to report the end
  kDied,
};
// Whether the file is nothing that can be run. Memory for a process may be there later.
inline bool IsNoProgram(const ChildExit& exit) {
  return exit.how == ChildExit::How::kNotStarted &&
         (exit.code == ENOENT || exit.code == ENOEXEC || exit.code == EACCES);
}
inline ActorEnding ClassifyActor(const ChildExit& exit, const RunPoint& run) {
  if (run.ending || run.dismissed) return ActorEnding::kExpected;
  const bool mistake = Exited(exit, kExitUserError) || IsNoProgram(exit);
  if (mistake && !run.worked) return ActorEnding::kMistake;
  return Exited(exit, kExitDone) ? ActorEnding::kLeft : ActorEnding::kDied;
}

// What follows from an ending that ends the run.
struct EndingRule {
  LearnerEnding ending;
  LogLevel level;
  const char* text;  // follows "the learner (pid 7) was killed by SIGKILL"
  int exit_status;   // of the run (core/error.h)
};
inline constexpr EndingRule kEndingRules[] = {
    {LearnerEnding::kMistake, LogLevel::kError, ": its message is above, the run ends",
     kExitUserError},
    {LearnerEnding::kGaveUp, LogLevel::kError, ": it gave up, its message is above", kExitFailed},
    {LearnerEnding::kStoppedElsewhere, LogLevel::kWarn,
     ": it was asked to stop, and not by us: the run ends", kExitInterrupted},
    {LearnerEnding::kDone, LogLevel::kInfo, " after the last step", kExitDone},
    {LearnerEnding::kDoneThenKilled, LogLevel::kWarn,
     " after its last status line; the run is done", kExitDone},
    {LearnerEnding::kNoLastCheckpoint, LogLevel::kError, " after the last step", kExitFailed},
};
// Returns nullopt for kExpected and kCrashed: these do not end a run.
inline std::optional<EndingRule> RuleFor(LearnerEnding ending) {
  const auto* const rule = std::ranges::find(kEndingRules, ending, &EndingRule::ending);
  return rule == std::end(kEndingRules) ? std::nullopt : std::optional(*rule);
}

}  // namespace starling::fleet
