// Helpers for tests of the supervisor's decisions: ends of children, status lines, actions.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "fleet/supervisor_policy.h"

namespace starling::fleet {

inline constexpr ChildExit kKilled9{ChildExit::How::kKilled, SIGKILL};
inline constexpr ChildExit kAborted{ChildExit::How::kKilled, SIGABRT};
inline constexpr ChildExit Exit(int status) { return {ChildExit::How::kExited, status}; }

// Returns the actions without messages.
inline Actions Deeds(Actions actions) {
  std::erase_if(actions, [](const Action& action) { return std::holds_alternative<Log>(action); });
  return actions;
}

// Matches exactly these actions, in this order.
template <class... Deed>
auto Are(const Deed&... deeds) {
  return testing::ElementsAre(Action(deeds)...);
}
// Matches the end of the run alone.
inline auto End(int status, const std::string& error = "") { return Are(Finish{status, error}); }

inline std::string Said(const Actions& actions, LogLevel least = LogLevel::kInfo) {
  std::string text;
  for (const Action& action : actions) {
    const Log* line = std::get_if<Log>(&action);
    if (line != nullptr && line->level >= least) text += line->text + "\n";
  }
  return text;
}

inline learner::RunStatus StatusAt(std::uint64_t steps,
                                   const std::string& checkpoint = "checkpoints/a") {
  learner::RunStatus status;
  status.phase = "running";
  status.term = 1;
  status.steps = steps;
  status.checkpoint = checkpoint;
  return status;
}

inline learner::RunStatus Joined(std::uint64_t term, std::vector<learner::ActorStatus> rows) {
  learner::RunStatus status = StatusAt(0);
  status.term = term;
  status.joined = std::move(rows);
  return status;
}

inline learner::RunStatus Final(std::uint64_t steps) {
  learner::RunStatus status = StatusAt(steps);
  status.phase = "done";
  status.final = true;
  return status;
}

// The learner has done all steps, and writes its last checkpoint.
inline learner::RunStatus Done() {
  learner::RunStatus done = Final(1000);
  done.final = false;
  return done;
}

// One run of 1000 steps, started at time 0.
inline SupervisorPolicy Started(int actors) {
  SupervisorPolicy policy(PolicyLimits{}, actors, {1000}, /*resume=*/false, "run/log");
  policy.Start(0);
  return policy;
}

// Expects the start of a redo, and behind it that of the learner alone.
inline void ExpectLearnerAgain(SupervisorPolicy& policy, const Actions& actions,
                               std::int64_t now_ms) {
  EXPECT_THAT(Deeds(actions), Are(StartRedo{}));
  EXPECT_THAT(Deeds(policy.OnRedoExit(now_ms, 75, Exit(0))), Are(StartLearner{true}));
}

template <int kActors>
class PolicyOf : public testing::Test {
 protected:
  SupervisorPolicy policy_ = Started(kActors);
};

}  // namespace starling::fleet
