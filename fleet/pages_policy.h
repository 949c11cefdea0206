// The decisions about the process that serves the status pages (tools/watch): as pure as those of
// fleet/supervisor_policy.h.
//
// The rules:
//  - It starts before all others and is killed when they have ended: the pages tell of a start that
//    takes long, and of a last checkpoint that does.
//  - After a death it is started again in 50 ms, doubling to at most 1 s with each death in a row.
//    One that lived for `pages_well_ms` begins a new row.
//  - After `pages_deaths` of them, or at exit status 2, it is abandoned with a warning. The run
//    neither waits for it nor fails because of it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>

#include "fleet/supervisor_actions.h"

namespace starling::fleet {

class PagesPolicy {
 public:
  // Without `wanted` it does nothing. Messages refer to `log_path`.
  PagesPolicy(const PolicyLimits& limits, bool wanted, std::string log_path)
      : limits_(limits), log_path_(std::move(log_path)), wanted_(wanted) {}

  void Start(std::int64_t now_ms, Actions& out);
  void OnExit(std::int64_t now_ms, int pid, const ChildExit& exit, Actions& out);
  void Tick(std::int64_t now_ms, Actions& out);

 private:
  const PolicyLimits limits_;
  const std::string log_path_;
  bool wanted_;                           // until it was abandoned
  std::int64_t started_ms_ = 0;           // the newest start
  std::optional<std::int64_t> start_ms_;  // time of its next start
  Backoff backoff_;
};

}  // namespace starling::fleet
