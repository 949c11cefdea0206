#include "core/process.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <unistd.h>

#include <array>

#include "core/check.h"

namespace starling {

namespace {

int stop_fd = -1, reload_fd = -1, pause_fd = -1;

// A signal handler that makes `fd` readable. Async-signal-safe: one write.
template <const int& fd>
void OnSignal(int) {
  const eventfd_t one = 1;
  [[maybe_unused]] const auto written = write(fd, &one, sizeof one);
}

int NewEventFd() {
  const int fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  CHECK(fd >= 0);
  return fd;
}

// SA_ONSTACK: a signal may interrupt a product of matrices (net/cpu/gemm.h).
void Catch(int signal, void (*handler)(int), int more_flags = 0) {
  struct sigaction action {};
  action.sa_handler = handler;
  action.sa_flags = SA_RESTART | SA_ONSTACK | more_flags;
  sigaction(signal, &action, nullptr);
}

bool Ignored(int signal) {
  struct sigaction now {};
  sigaction(signal, nullptr, &now);
  return now.sa_handler == SIG_IGN;
}

}  // namespace

void OccupyStandardDescriptors() {
  // The kernel gives the lowest free number. Read-only: a write is an error (EBADF).
  int fd = 0;
  do {
    fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
  } while (fd >= 0 && fd <= STDERR_FILENO);
  if (fd >= 0) close(fd);
}

int CatchReloadSignal() {
  CHECK(reload_fd < 0);
  reload_fd = NewEventFd();
  Catch(SIGHUP, OnSignal<reload_fd>);
  return reload_fd;
}

int CatchPauseSignal() {
  CHECK(pause_fd < 0);
  if (Ignored(SIGTSTP)) return -1;
  pause_fd = NewEventFd();
  Catch(SIGTSTP, OnSignal<pause_fd>);
  return pause_fd;
}

int CatchStopSignals(bool again_ends, std::initializer_list<int> more) {
  IgnoreFileSizeSignal();
  CHECK(stop_fd < 0);
  stop_fd = NewEventFd();
  for (const int number : more) Catch(number, OnSignal<stop_fd>);
  for (const int number : {SIGTERM, SIGINT, SIGHUP}) {
    if (Ignored(number)) continue;  // nohup stays nohup
    const bool ends = again_ends && number != SIGTERM;
    Catch(number, OnSignal<stop_fd>, ends ? static_cast<int>(SA_RESETHAND) : 0);
  }
  return stop_fd;
}

void IgnoreFileSizeSignal() { signal(SIGXFSZ, SIG_IGN); }

std::uint64_t RaiseOpenFiles() {
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return UINT64_MAX;
  limit.rlim_cur = limit.rlim_max;
  setrlimit(RLIMIT_NOFILE, &limit);
  return limit.rlim_max;
}

std::string HostName() {
  std::array<char, 256> name{};
  return ::gethostname(name.data(), name.size() - 1) == 0 ? name.data() : "an unknown host";
}

std::filesystem::path ProgramDir() {
  return std::filesystem::read_symlink("/proc/self/exe").parent_path();
}

std::string CallName(const std::filesystem::path& path, const std::filesystem::path& from) {
  std::string absolute = path.lexically_normal().string();
  std::string relative = path.lexically_relative(from).string();
  if (relative.empty() || relative.size() >= absolute.size()) return absolute;
  // A bare name would be looked for in PATH.
  return relative.find('/') == std::string::npos ? "./" + relative : relative;
}

std::function<bool()> WatchParent(pid_t parent) {
  if (parent == 0) return [] { return false; };
  return [parent] { return getppid() != parent; };
}

}  // namespace starling
