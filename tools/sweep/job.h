// A child process of a sweep and the last lines of its output.
//
// Thread safety: one thread, the main one (core/child.h).
#pragma once

#include <cstddef>
#include <deque>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "core/child.h"
#include "fleet/child_output.h"

namespace starling::sweep {

class Job {
 public:
  Job(const std::filesystem::path& program, const std::vector<std::string>& arguments);
  ~Job();  // kills the process if it is still running
  Job(const Job&) = delete;
  Job& operator=(const Job&) = delete;

  // Returns the file descriptor of its output, or -1 after the end of the output.
  int output_fd() const { return child_.output.get(); }
  // Reads the available output without waiting.
  void Read();
  // Returns how the process ended, once; nullopt while it runs.
  std::optional<ChildExit> Reap();
  // Sends `signal` to the process; SIGKILL to its whole process group.
  void Signal(int signal);

  std::vector<std::string> said() const { return {said_.begin(), said_.end()}; }
  std::string reason() const { return reason_.text(); }  // why it ended, according to its output

 private:
  Spawned child_;
  std::deque<std::string> said_;
  fleet::EndReason reason_;
  fleet::LineSplitter lines_;
};

}  // namespace starling::sweep
