// What the supervisor decides about the process that evaluates a run (fleet/eval_process.h): a part of
// fleet/supervisor_policy.h, as pure.
//
// The rules:
//  - It is started with the fleet. One that died is started again, after 50 ms, doubling to at most 1 s
//    with each death in a row; after `evaluator_deaths` without a result, or at exit status 2, it is
//    given up, with a warning, and training goes on.
//  - When the run is done it is asked to finish, and waited for.
//  - When the run ends in any other way, or a signal comes, it is killed: what it has is on the disk.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>

#include "fleet/supervisor_actions.h"

namespace starling::fleet {

class EvaluatorPolicy {
 public:
  // Not `wanted`: nothing is ever done. `log_path` is named to the operator.
  EvaluatorPolicy(const PolicyLimits& limits, bool wanted, std::string log_path)
      : limits_(limits), log_path_(std::move(log_path)), wanted_(wanted) {}

  void Start(Actions& out);
  // `results`: it has left some since it was started.
  void OnExit(std::int64_t now_ms, int pid, const ChildExit& exit, bool results, Actions& out);
  void Tick(std::int64_t now_ms, Actions& out);
  void Finish(std::int64_t now_ms, Actions& out);
  void Stop(Actions& out);

  // It is alive, or will be: there is something to wait for.
  bool busy() const { return alive_ || start_ms_; }

 private:
  const PolicyLimits limits_;
  const std::string log_path_;
  bool wanted_;  // until it has finished, is given up or stopped
  bool alive_ = false;
  std::optional<std::int64_t> start_ms_;   // when to start it again
  std::optional<std::int64_t> finish_ms_;  // since when it is to finish
  bool said_ = false;                      // that it is waited for
  Backoff backoff_;
};

}  // namespace starling::fleet
