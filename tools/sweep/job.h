// A child process of a sweep, and the last lines that it said.
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
  ~Job();  // kills it, should it still be there
  Job(const Job&) = delete;
  Job& operator=(const Job&) = delete;

  // -1 once its output has ended.
  int output_fd() const { return child_.output.get(); }
  // Takes what it has said; never waits.
  void Read();
  // How it ended, once; nothing as long as it lives.
  std::optional<ChildExit> Reap();
  // To the process; SIGKILL to all that it started, too.
  void Signal(int signal);

  std::vector<std::string> said() const { return {said_.begin(), said_.end()}; }
  std::string reason() const { return reason_.text(); }  // why it ended, by its output

 private:
  Spawned child_;
  std::deque<std::string> said_;
  fleet::EndReason reason_;
  fleet::LineSplitter lines_;
};

}  // namespace starling::sweep
