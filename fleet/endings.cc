#include "fleet/endings.h"

#include <algorithm>
#include <iterator>

#include "core/error.h"

namespace starling::fleet {
namespace {

constexpr EndingRule kRules[] = {
    {LearnerEnding::kMistake, LogLevel::kError, ": its message is above, the run ends",
     kExitUserError},
    {LearnerEnding::kStoppedElsewhere, LogLevel::kWarn,
     ": it was asked to stop, and not by us: the run ends", kExitInterrupted},
    {LearnerEnding::kDone, LogLevel::kInfo, " after the last step", kExitDone},
    {LearnerEnding::kDoneThenKilled, LogLevel::kWarn,
     " after its last status line; the run is done", kExitDone},
    {LearnerEnding::kNoLastCheckpoint, LogLevel::kError, " after the last step", kExitFailed},
};

bool Exited(const ChildExit& exit, int code) {
  return exit.how == ChildExit::How::kExited && exit.code == code;
}

}  // namespace

LearnerEnding ClassifyLearner(const ChildExit& exit, const RunPoint& run) {
  const bool in_order = Exited(exit, kExitDone);
  const bool exited = exit.how == ChildExit::How::kExited;
  if (run.ending) return LearnerEnding::kExpected;
  if (Exited(exit, kExitUserError)) return LearnerEnding::kMistake;
  if (in_order) return run.complete ? LearnerEnding::kDone : LearnerEnding::kStoppedElsewhere;
  if (!run.complete || !run.last_status) return LearnerEnding::kCrashed;
  return exited ? LearnerEnding::kNoLastCheckpoint : LearnerEnding::kDoneThenKilled;
}

ActorEnding ClassifyActor(const ChildExit& exit, const RunPoint& run) {
  if (run.ending || run.dismissed) return ActorEnding::kExpected;
  if (Exited(exit, kExitUserError)) return ActorEnding::kMistake;
  return Exited(exit, kExitDone) ? ActorEnding::kLeft : ActorEnding::kDied;
}

std::optional<EndingRule> RuleFor(LearnerEnding ending) {
  const auto* const rule = std::ranges::find(kRules, ending, &EndingRule::ending);
  return rule == std::end(kRules) ? std::nullopt : std::optional(*rule);
}

}  // namespace starling::fleet
