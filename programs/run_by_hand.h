// What a learner and a mirrored rank 0 have in common as programs: the run directory, and how the
// run reports, to a supervisor or, by hand, on the screen.
#pragma once

#include <CLI/CLI.hpp>
#include <filesystem>
#include <functional>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/clock.h"
#include "core/config/config.h"
#include "learner/run_status.h"
#include "learner/status_reporter.h"
#include "monitor/console.h"

namespace starling::programs {

// The options that both programs have.
struct RunOptions {
  std::string config, run_dir;
  std::vector<std::string> overrides;
  bool resume = false;
  bool restart = false;  // the supervisor has started this run before, with the same settings
  int status_fd = -1;
  int parent = 0;

  bool supervised() const { return status_fd >= 0; }
};
void AddOptions(CLI::App& app, RunOptions& options);

// By hand, a new run has a configuration and gets its directory here; otherwise the supervisor has
// prepared the directory. `check` looks at the configuration before that. Throws UserError.
Config PrepareRun(const RunOptions& options, const std::function<void(const Config&)>& check);

// What a supervisor does before a learner that goes on with a run: does the updates again that a
// killed one took with it (tools/replay/redo.h). Returns the exit status for an end before the
// start, because of a signal, a wrong directory or a full disk; else nullopt.
std::optional<int> RedoByHand(const std::string& run_dir, int stop_fd);

// Writes a line per status to the supervisor, without waiting: if the pipe is full, the line is
// dropped, because every status is complete.
class StatusPipe {
 public:
  explicit StatusPipe(int fd) : fd_(fd) {}

  void Write(const learner::RunStatus& status);

 private:
  bool Take(std::string_view& rest);

  const int fd_;
  bool torn_ = false;  // the last line was cut; the next must start on a line of its own
};

// Without a supervisor the learner shows its progress and sums up at the end. It does not count
// actors that never joined.
class Screen {
 public:
  // Both must outlive it.
  Screen(const Config& config, const Clock& clock);

  void Show(const learner::RunStatus& status);
  // Writes the summary and prints it. `error`: why the run failed, "" if it did not. Returns the
  // exit status of the program.
  int SumUp(const std::string& run_dir, int exit_status, const std::string& error);

 private:
  const Config& config_;
  const Clock& clock_;
  monitor::Console console_;
  monitor::RateMeter rate_;
  std::optional<learner::RunStatus> status_;
  std::set<std::pair<std::int64_t, std::uint64_t>> actors_;  // slots and incarnations
};

// How training ended, as the process that kept the run knows.
struct LearnerEnd {
  bool over = false;                          // all steps are done
  std::string checkpoint_error{}, gave_up{};  // "" if not
};

// Where a run reports: to its supervisor or on the screen, and in a file for its pages.
class Reports {
 public:
  // By hand, serves the pages that `config` asks for, in a process of their own. `status_fd`: the
  // supervisor's pipe; -1: by hand. The references must outlive it. Throws UserError.
  Reports(const Config& config, const RunOptions& options, int status_fd);
  ~Reports();
  Reports(const Reports&) = delete;
  Reports& operator=(const Reports&) = delete;

  learner::StatusReporter::Sinks Sinks();
  // Logs the errors of `end`. Writes and prints the summary, unless a supervisor does. Returns the
  // exit status of the program.
  int SumUp(const LearnerEnd& end);

 private:
  void Publish(const learner::PublishedStatus& published);

  const RunOptions& options_;
  const SteadyClock clock_;
  const std::filesystem::path published_;  // the file
  bool unpublished_ = false;               // it could not be written, which was said
  int pages_pid_ = -1;
  StatusPipe pipe_;
  Screen screen_;
};

}  // namespace starling::programs
