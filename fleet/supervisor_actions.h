// The actions that the policies (fleet/supervisor_policy.h and its parts) ask of the supervisor,
// and the limits by which they decide.
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "core/child.h"
#include "core/log.h"

namespace starling::fleet {

struct PolicyLimits {
  std::int64_t backoff_first_ms = 50;
  std::int64_t backoff_max_ms = 1000;
  std::int64_t slot_backoff_max_ms = 60'000;  // of an actor while another works
  // An actor leaves with status 0 at the end of a run. If the learner does not report the end
  // within this time, the actor was stopped from outside and is replaced.
  std::int64_t left_actor_ms = 1000;
  int learner_deaths = 5;              // in a row, without an applied update
  int learner_deaths_checkpoint = 30;  // in a row, without a newer checkpoint
  int actor_deaths = 10;               // in a row in *every* slot, before a first accepted gradient
  int slot_deaths = 15;                // the same in one slot
  bool needs_every_slot = false;       // a slot that is given up ends the run
  // A learner reports several times a second. One that has not for this long is warned of, and one
  // that has not for `hang_ms` is killed. So is an actor that `hang_ms` long was no member.
  std::int64_t silent_ms = 5'000;
  std::int64_t hang_ms = 60'000;
  // The same of a redo, which does not report while it reads or writes a large net.
  std::int64_t redo_hang_ms = 600'000;
  // From the stop of the run on; all of it stays below five seconds, unless the learner reports
  // that its last checkpoint grows:
  // A learner awaits the last gradients for two seconds, and only then dismisses its actors.
  std::int64_t actor_term_ms = 2300;     // SIGTERM to the actors that are left
  std::int64_t actor_kill_ms = 3800;     // SIGKILL to them
  std::int64_t learner_kill_ms = 4200;   // SIGKILL to the learner, after its last progress
  std::int64_t starting_kill_ms = 1000;  // the same before its first status line
  std::int64_t actor_grace_ms = 500;     // from the learner's end to SIGTERM to the actors
  std::int64_t second_signal_ms = 50;    // an earlier signal is the first one, delivered twice
  int evaluator_deaths = 5;              // in a row, without a result
  std::int64_t evaluator_note_ms = 300;  // wait for the evaluator without a message
  int pages_deaths = 10;                 // in a row
  std::int64_t pages_well_ms = 30'000;   // a life of the pages that begins a new row
};

inline constexpr int kLearnerSlot = -1, kEvaluatorSlot = -2, kRedoSlot = -3, kPagesSlot = -4;

struct StartLearner {
  bool resume = false;
  friend bool operator==(const StartLearner&, const StartLearner&) = default;
};
struct StartRedo {  // of the updates that came after the newest cut
  friend bool operator==(const StartRedo&, const StartRedo&) = default;
};
struct StartActor {
  int slot = 0;
  friend bool operator==(const StartActor&, const StartActor&) = default;
};
struct StartEvaluator {
  bool finish = false;  // only evaluate the last weights
  friend bool operator==(const StartEvaluator&, const StartEvaluator&) = default;
};
struct StartPages {
  friend bool operator==(const StartPages&, const StartPages&) = default;
};
struct SendSignal {
  int slot = kLearnerSlot;
  int signal = 0;
  friend bool operator==(const SendSignal&, const SendSignal&) = default;
};
struct Log {
  LogLevel level = LogLevel::kInfo;
  std::string text;
  bool on_screen = false;  // warnings and errors always are
  friend bool operator==(const Log&, const Log&) = default;
};
struct Finish {  // no child is alive; the last action
  int exit_status = 0;
  std::string error{};  // why the run failed, one sentence; "" if it did not
  friend bool operator==(const Finish&, const Finish&) = default;
};
using Action = std::variant<StartLearner, StartRedo, StartActor, StartEvaluator, StartPages,
                            SendSignal, Log, Finish>;
using Actions = std::vector<Action>;

// ---- helpers of the policies

// "the learner (pid 7) was killed by SIGKILL".
inline std::string Who(std::string_view name, int pid, const ChildExit& exit) {
  if (exit.how == ChildExit::How::kNotStarted) return fmt::format("{} {}", name, Describe(exit));
  return fmt::format("{} (pid {}) {}", name, pid, Describe(exit));
}

// "the learner (pid 7) was killed by SIGKILL: out of memory"; `reason` is the child's own, or "".
inline std::string Because(const std::string& what, const std::string& reason) {
  return reason.empty() ? what : what + ": " + reason;
}

// "in 50 ms".
inline std::string Wait(std::int64_t ms) {
  return ms == 0 ? std::string("at once") : fmt::format("in {} ms", ms);
}

template <class... Args>
void Add(Actions& out, LogLevel level, fmt::format_string<Args...> format, Args&&... args) {
  out.emplace_back(Log{level, fmt::format(format, std::forward<Args>(args)...)});
}

// Waiting times of a child that dies again and again.
struct Backoff {
  int deaths = 0;  // in a row
  std::int64_t Next(const PolicyLimits& limits) { return Next(limits, limits.backoff_max_ms); }
  std::int64_t Next(const PolicyLimits& limits, std::int64_t max_ms) {
    ++deaths;
    const int doublings = std::min(deaths - 1, 30);
    return std::min(limits.backoff_first_ms << doublings, max_ms);
  }
};

}  // namespace starling::fleet
