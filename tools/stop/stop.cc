#include "tools/stop/stop.h"

#include <fmt/format.h>
#include <poll.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <optional>
#include <system_error>

#include "core/config/config.h"
#include "core/error.h"
#include "core/file.h"
#include "core/file_descriptor.h"
#include "core/process.h"
#include "learner/storage/checkpoint.h"
#include "learner/storage/run_lock.h"
#include "results/summary.h"
#include "wire/runtime_dir.h"

namespace starling::stop {
namespace {

constexpr std::int64_t kLookMs = 100;  // between two reads of the clock

// Another process, held by a descriptor, because the kernel may reuse its number.
class OtherProcess {
 public:
  explicit OtherProcess(int pid)
      : pid_(pid), fd_(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0))) {}
  int pid() const { return pid_; }
  bool found() const { return fd_.get() >= 0; }
  bool Send(int signal) const {
    return ::syscall(SYS_pidfd_send_signal, fd_.get(), signal, nullptr, 0) == 0;
  }
  // Waits until `end_ms` of `clock`. Returns whether the process has ended.
  bool AwaitEnd(const Clock& clock, std::int64_t end_ms) const {
    pollfd end{.fd = fd_.get(), .events = POLLIN, .revents = 0};
    while (true) {
      const std::int64_t left_ms = std::max<std::int64_t>(end_ms - clock.NowMs(), 0);
      if (::poll(&end, 1, static_cast<int>(std::min(left_ms, kLookMs))) > 0) return true;
      if (left_ms == 0) return false;
    }
  }

 private:
  int pid_;
  FileDescriptor fd_;
};

// Returns the parent of process `pid` if that is a `starling`, else nullopt.
std::optional<OtherProcess> SupervisorOf(int pid) {
  std::ifstream stat(fmt::format("/proc/{}/stat", pid));
  const std::string text{std::istreambuf_iterator<char>(stat), {}};
  int parent = 0;
  // The text is "PID (NAME) STATE PARENT ..."; the name may contain any character.
  if (std::sscanf(text.substr(std::min(text.rfind(')'), text.size())).c_str(), ") %*c %d",
                  &parent) != 1) {
    return std::nullopt;
  }
  OtherProcess process(parent);
  std::ifstream comm(fmt::format("/proc/{}/comm", parent));
  std::string name;
  std::getline(comm, name);
  if (!process.found() || name != "starling") return std::nullopt;
  return process;
}

OtherProcess FindLearner(const std::filesystem::path& run_dir) {
  const Config config = LoadConfig(run_dir / "config.toml");
  const auto root = wire::RuntimeRoot(config.wire.runtime_dir);
  if (const auto pid = wire::RuntimeDir::FindOwner(root, run_dir)) {
    OtherProcess learner(*pid);
    // The descriptor is of the right process if the owner has not changed meanwhile.
    if (learner.found() && wire::RuntimeDir::FindOwner(root, run_dir) == pid) return learner;
  }
  const std::optional<std::string> holder = learner::LockHolder(run_dir);
  if (holder && holder->ends_with(" on " + HostName())) {
    // A redo (tools/replay/redo.h) before the next learner, or starling prune.
    throw UserError(
        fmt::format("{}: no learner is ready to be stopped, but {} is at work on the "
                    "run; call again",
                    run_dir.string(), *holder));
  }
  throw UserError(
      run_dir.string() +
      ": no learner of yours runs on it on this machine; call this on the learner's machine" +
      (holder ? fmt::format(" ({} has the run)", *holder) : ""));
}

// Returns "" if there is none.
std::string SummaryText(const std::filesystem::path& run_dir) {
  try {
    return ReadRegularFile(run_dir / "summary.json");
  } catch (const std::system_error&) {
    return "";
  }
}

// Returns whether the last checkpoint holds all updates of a learner that has ended, by its
// summary.
bool AllIsSaved(const std::filesystem::path& run_dir, const std::string& summary_before) {
  if (SummaryText(run_dir) == summary_before) return false;
  const auto summary = results::ReadSummary(run_dir);
  return summary && summary->training.checkpoint.find(
                        fmt::format("-v{:012}", summary->training.updates)) != std::string::npos;
}

}  // namespace

int RunStop(const StopOptions& options, const Clock& clock) {
  const std::filesystem::path run_dir = options.run_dir;
  if (!std::filesystem::exists(run_dir / "config.toml")) {
    throw UserError(options.run_dir + " is no run directory: it has no config.toml");
  }
  // 1. Find both processes before either ends.
  const OtherProcess learner = FindLearner(run_dir);
  const auto supervisor = SupervisorOf(learner.pid());
  const std::int64_t end_ms = clock.NowMs() + static_cast<std::int64_t>(options.timeout_s * 1000);
  const std::string summary_before = SummaryText(run_dir);
  // 2. Stop the learner; its supervisor ends after it.
  learner.Send(SIGTERM);
  for (const OtherProcess* process : {&learner, supervisor ? &*supervisor : &learner}) {
    if (process->AwaitEnd(clock, end_ms)) continue;
    std::fprintf(
        stderr,
        "starling: the %s (process %d) did not end within %g s: it may be writing its last "
        "checkpoint; call again to wait longer\n",
        process == &learner ? "learner" : "supervisor", process->pid(), options.timeout_s);
    return kExitFailed;
  }
  // 3. Check that the last checkpoint is complete.
  const auto checkpoints = learner::ListCheckpoints(run_dir / "checkpoints");
  const std::string last = checkpoints.empty() ? "none" : checkpoints.back().string();
  if (!AllIsSaved(run_dir, summary_before)) {
    std::fprintf(
        stderr,
        "starling: the learner (process %d) has ended without a checkpoint of its last updates; "
        "the newest is %s: see its log for the reason. A resume does again what the journal "
        "holds\n",
        learner.pid(), last.c_str());
    return kExitFailed;
  }
  std::printf("the learner (process %d) has ended; its last checkpoint is %s\n", learner.pid(),
              last.c_str());
  return kExitDone;
}

}  // namespace starling::stop
