// The run's `log`: every line of every process of the run, in order of arrival; and what of it the
// operator sees at once: warnings, errors, and whatever is no log line at all (a failed CHECK, a
// sanitizer's report, the message of a UserError).
//
// Thread safety: one thread.
#pragma once

#include <cstddef>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "core/log.h"
#include "monitor/console.h"
#include "results/locked_file.h"

namespace starling::fleet {

class RunLog {
 public:
  // Opens run_dir/log for appending and holds a lock on it as long as this lives: one `starling
  // train` per directory. Throws UserError if it cannot be opened or another process has it.
  RunLog(const std::filesystem::path& run_dir, monitor::Console& console);
  RunLog(const RunLog&) = delete;
  RunLog& operator=(const RunLog&) = delete;

  // The supervisor's own line; on the console only if it is a warning or an error.
  void Say(LogLevel level, std::string_view text);
  // A child's line, without its newline.
  void FromChild(std::string_view line);

 private:
  void Append(std::string_view line);

  monitor::Console& console_;
  results::LockedFile file_;
  bool write_failed_ = false;
  std::string last_shown_;  // of the lines that are no log lines: N actors say the same thing
};

}  // namespace starling::fleet
