// The pages of one run, by their paths.
//
// Thread safety: one thread.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>

#include "core/clock.h"
#include "monitor/http/answer.h"
#include "monitor/http/pages.h"
#include "monitor/run_follower.h"
#include "tools/watch/live_picture.h"

namespace starling::watch {

// Whether this is a run directory.
bool IsRun(const std::filesystem::path& dir);

// Answers of other files, for all pages.
monitor::PageAnswer Text(std::string text, std::string content_type);
monitor::PageAnswer WholePage(const std::string& title, const std::string& parts);

// / is the page of the run, /parts what changes in it (made anew at most once a second, for all
// readers together), /play the newest picture of its policy at play; /status.json, /metrics and
// /healthz are for programs.
class RunPages {
 public:
  // `begins`: the run itself has started us, and its processes follow. `clock` must outlive this.
  RunPages(const std::filesystem::path& run_dir, const Clock& clock, bool begins = false)
      : clock_(clock), run_(run_dir, clock), picture_(run_dir, clock), begins_(begins) {}

  // `path` begins with "/".
  monitor::PageAnswer Answer(std::string_view path);
  // What /healthz says.
  monitor::Health Health();
  // Whether a process of the run is at work on this machine.
  bool FindAlive();

 private:
  const std::string& Parts();
  monitor::PageAnswer OfStatus(std::string_view path);

  const Clock& clock_;
  monitor::RunFollower run_;
  LivePicture picture_;
  bool begins_;
  std::string parts_;
  std::int64_t made_ms_ = INT64_MIN / 2;  // parts_
};

}  // namespace starling::watch
