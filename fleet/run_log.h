// The run's `log`: every line of every process of the run, in order of arrival. The operator sees
// warnings, errors and lines that are no log lines (a failed CHECK, a sanitizer's report, the
// message of a UserError) on the console, too.
//
// Thread safety: one thread.
#pragma once

#include <cstddef>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "core/locked_file.h"
#include "core/log.h"
#include "monitor/console.h"
#include "results/run_dir.h"

namespace starling::fleet {

class RunLog {
 public:
  // Opens run_dir/log for appending and locks it: one `starling train` per directory. Throws
  // UserError if it cannot be opened or another process holds the lock.
  RunLog(const std::filesystem::path& run_dir, monitor::Console& console);
  RunLog(const RunLog&) = delete;
  RunLog& operator=(const RunLog&) = delete;

  // Writes the supervisor's own line.
  void Log(LogLevel level, std::string_view text);
  // Writes a child's line. REQUIRES: no newline.
  void FromChild(std::string_view line);

 private:
  void Append(std::string_view line);

  monitor::Console& console_;
  LockedFile file_;
  bool write_failed_ = false;
  std::string last_shown_;  // no log line: many actors print the same one
};

}  // namespace starling::fleet
