// The newest picture of the policy at play, for the readers of a page: starts the process that
// plays (tools/watch/live_play.h) when somebody asks, and again when it has died.
//
// Thread safety: one thread, which must outlive the process.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

#include "core/child.h"
#include "core/clock.h"
#include "fleet/child_output.h"

namespace starling::watch {

// {"png": base64 or "", "html": what the policy makes of it} for the script of a page, from a line
// of the process that plays. Returns nullopt if `line` is none.
std::optional<std::string> PictureOf(std::string_view line);

class LivePicture {
 public:
  LivePicture(std::filesystem::path run_dir, const Clock& clock)
      : run_dir_(std::move(run_dir)), clock_(clock) {}
  ~LivePicture();
  LivePicture(const LivePicture&) = delete;
  LivePicture& operator=(const LivePicture&) = delete;

  // Returns the newest one. Never waits: before the first picture, and after a death, it says so.
  std::string Newest();
  // Ends a process that nobody has asked for lately. Call it now and then.
  void Tend();

 private:
  void Start();
  void Read();
  void Bury(const ChildExit& exit);

  const std::filesystem::path run_dir_;
  const Clock& clock_;
  Spawned child_;
  std::optional<fleet::LineSplitter> pictures_, messages_;  // of this child
  fleet::EndReason reason_;
  std::string line_;                      // the newest; "" before the first
  std::string trouble_;                   // why there is no picture; ""
  std::optional<std::int64_t> start_ms_;  // not before: the last one died
  std::int64_t asked_ms_ = 0;             // Newest, the last time
  int failures_ = 0;                      // deaths in a row without a picture
};

}  // namespace starling::watch
