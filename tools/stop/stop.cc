#include "tools/stop/stop.h"

#include <fmt/format.h>
#include <poll.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <csignal>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <optional>
#include <string>
#include <utility>

#include "core/clock.h"
#include "core/config/config.h"
#include "core/error.h"
#include "core/file_descriptor.h"
#include "learner/storage/checkpoint.h"
#include "results/summary.h"
#include "wire/runtime_dir.h"

namespace starling::stop {
namespace {

// Another process, by a descriptor: its number may be another's by the time that it is used.
class OtherProcess {
 public:
  explicit OtherProcess(int pid)
      : pid_(pid), fd_(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0))) {}
  int pid() const { return pid_; }
  bool found() const { return fd_.get() >= 0; }
  bool Tell(int signal) const {
    return ::syscall(SYS_pidfd_send_signal, fd_.get(), signal, nullptr, 0) == 0;
  }
  // True: it has ended.
  bool AwaitEnd(std::int64_t patience_ms) const {
    pollfd end{.fd = fd_.get(), .events = POLLIN, .revents = 0};
    return ::poll(&end, 1, static_cast<int>(patience_ms)) > 0;
  }

 private:
  int pid_;
  FileDescriptor fd_;
};

// The `starling` whose child it is, if it is one's.
std::optional<OtherProcess> SupervisorOf(int pid) {
  std::ifstream stat(fmt::format("/proc/{}/stat", pid));
  const std::string text{std::istreambuf_iterator<char>(stat), {}};
  int parent = 0;
  // "PID (NAME) STATE PARENT ...", and the name may hold anything.
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
  if (const auto pid = wire::RunPlace::FindOwner(root, run_dir)) {
    OtherProcess learner(*pid);
    // Still the one that was meant, now that we have hold of it.
    if (learner.found() && wire::RunPlace::FindOwner(root, run_dir) == pid) return learner;
  }
  throw UserError(run_dir.string() +
                  ": no learner of yours is at work on it on this machine; call this where it is");
}

std::string SummaryText(const std::filesystem::path& run_dir) {
  std::ifstream file(run_dir / "summary.json");
  return {std::istreambuf_iterator<char>(file), {}};
}

// Of a learner that has ended: what it applied is in its last checkpoint, as its last summary says.
bool AllIsSaved(const std::filesystem::path& run_dir, const std::string& summary_before) {
  if (SummaryText(run_dir) == summary_before) return false;
  const auto summary = results::ReadSummary(run_dir);
  return summary && summary->training.checkpoint.find(
                        fmt::format("-v{:012}", summary->training.updates)) != std::string::npos;
}

}  // namespace

int RunStop(const StopOptions& options) {
  const std::filesystem::path run_dir = options.run_dir;
  if (!std::filesystem::exists(run_dir / "config.toml")) {
    throw UserError(options.run_dir + " is no run directory: it has no config.toml");
  }
  const OtherProcess learner = FindLearner(run_dir);
  const auto supervisor = SupervisorOf(learner.pid());
  const SteadyClock clock;
  const std::int64_t end = clock.NowMs() + static_cast<std::int64_t>(options.timeout_s * 1000);
  const std::string summary_before = SummaryText(run_dir);
  learner.Tell(SIGTERM);
  for (const OtherProcess* process : {&learner, supervisor ? &*supervisor : &learner}) {
    if (process->AwaitEnd(std::max<std::int64_t>(end - clock.NowMs(), 0))) continue;
    std::fprintf(stderr,
                 "starling: the %s (process %d) was told to end and has not within %g s: it may be "
                 "writing its last checkpoint; call again to go on waiting\n",
                 process == &learner ? "learner" : "supervisor", process->pid(), options.timeout_s);
    return kExitFailed;
  }
  const auto checkpoints = learner::ListCheckpoints(run_dir / "checkpoints");
  const std::string last = checkpoints.empty() ? "none" : checkpoints.back().string();
  if (!AllIsSaved(run_dir, summary_before)) {
    std::fprintf(
        stderr,
        "starling: the learner (process %d) has ended, and what it did after its last checkpoint, "
        "%s, is lost: what it said tells why\n",
        learner.pid(), last.c_str());
    return kExitFailed;
  }
  std::printf("the learner (process %d) has ended; its last checkpoint is %s\n", learner.pid(),
              last.c_str());
  return kExitDone;
}

}  // namespace starling::stop
