// The decisions about the process that evaluates a run (fleet/eval_process.h): a part of
// fleet/supervisor_policy.h, and as pure.
//
// The rules:
//  - It starts with the fleet. After a death it is restarted in 50 ms, doubling to at most 1 s with
//    each death in a row. After `evaluator_deaths` of them without a result, or at exit status 2,
//    it is abandoned with a warning, and training goes on.
//  - At the end of the run it is asked to finish, and the supervisor waits for it.
//  - If the run ends in any other way, or at a signal, it is killed: its results are on the disk.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>

#include "fleet/supervisor_actions.h"

namespace starling::fleet {

class EvaluatorPolicy {
 public:
  // Without `wanted` it does nothing. Messages refer to `log_path`.
  EvaluatorPolicy(const PolicyLimits& limits, bool wanted, std::string log_path)
      : limits_(limits), log_path_(std::move(log_path)), wanted_(wanted) {}

  void Start(Actions& out);
  // `results`: it has written some since its start.
  void OnExit(std::int64_t now_ms, int pid, const ChildExit& exit, bool results, Actions& out);
  void Tick(std::int64_t now_ms, Actions& out);
  void Finish(std::int64_t now_ms, Actions& out);
  void Stop(Actions& out);

  // Whether it is alive, or will be restarted.
  bool busy() const { return alive_ || start_ms_; }

 private:
  const PolicyLimits limits_;
  const std::string log_path_;
  bool wanted_;  // until it has finished, or was abandoned or stopped
  bool alive_ = false;
  std::optional<std::int64_t> start_ms_;   // time of its next start
  std::optional<std::int64_t> finish_ms_;  // time of the request to finish
  bool noted_ = false;                     // the message about the wait was logged
  Backoff backoff_;
};

}  // namespace starling::fleet
