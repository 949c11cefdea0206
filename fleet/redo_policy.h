// The decisions about the redo, the process that replays the updates that a killed learner had
// applied after its last checkpoint (tools/replay/redo.h). A part of fleet/supervisor_policy.h, and
// as pure.
//
// The rules:
//  - It runs before each learner that goes on with a run. Whatever its end, that learner starts,
//    except after kExitNotNow: then the run ends, to be resumed.
//  - The redo logs which updates are lost. If it dies, or finds the run locked by another process,
//    it is started once more. If that fails as well, the supervisor logs a warning.
//  - If the first redo of a resumed run finds it locked, or no run, the run ends at once: its actors
//    must not join the learner of another supervisor.
//  - One without a status line for `redo_hang_ms` is killed.
//  - If the run ends, it is killed. It has changed nothing, or written a whole checkpoint.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "fleet/supervisor_actions.h"
#include "monitor/redo_status.h"

namespace starling::fleet {

class RedoPolicy {
 public:
  explicit RedoPolicy(const PolicyLimits& limits) : limits_(limits) {}

  // `first`: no process of this run was started before.
  void Start(std::int64_t now_ms, bool first, Actions& out);
  void OnStatus(std::int64_t now_ms, const monitor::RedoStatus& status);
  void OnExit(int pid, const ChildExit& exit, const std::string& reason, Actions& out);
  void Tick(std::int64_t now_ms, Actions& out);
  void Stop(Actions& out);

  bool alive() const { return alive_; }
  // How the run ends, if no learner may start.
  const std::optional<Finish>& gave_up() const { return gave_up_; }
  // Its progress; nullopt: no redo runs, or it has not replayed a record yet.
  const std::optional<monitor::RedoStatus>& status() const { return status_; }

 private:
  const PolicyLimits limits_;
  bool alive_ = false;
  bool retried_ = false;       // since Start
  bool stopped_ = false;       // by us, because the run ends
  std::int64_t heard_ms_ = 0;  // its newest status line, or its start
  std::string killed_why_;     // "" unless we have killed it
  bool first_ = false;
  std::optional<Finish> gave_up_;
  std::optional<monitor::RedoStatus> status_;
};

}  // namespace starling::fleet
