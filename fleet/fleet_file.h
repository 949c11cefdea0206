// The supervisor's account of its processes (monitor/fleet_status.h), in a file for the pages of
// the run.
//
// Thread safety: one thread.
#pragma once

#include <cstdint>
#include <filesystem>
#include <utility>

#include "fleet/run_log.h"
#include "fleet/supervisor_policy.h"

namespace starling::fleet {

class FleetFile {
 public:
  // `log` must outlive this.
  FleetFile(std::filesystem::path path, RunLog& log) : path_(std::move(path)), log_(log) {}

  // Replaces the file, twice a second at most. A full disk is logged once, and costs the pages
  // news; the run goes on.
  void Write(std::int64_t now_ms, const SupervisorPolicy& policy);

 private:
  const std::filesystem::path path_;
  RunLog& log_;
  std::int64_t written_ms_ = INT64_MIN / 2;  // the last time
  bool failed_ = false;
};

}  // namespace starling::fleet
