#include "fleet/process.h"

#include <signal.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "core/check.h"

namespace starling::fleet {

namespace {

int stop_fd = -1;

void OnStop(int) {
  // Async-signal-safe: one write. The handler is gone after its first call (SA_RESETHAND).
  const eventfd_t one = 1;
  [[maybe_unused]] const auto written = write(stop_fd, &one, sizeof one);
}

}  // namespace

int CatchStopSignals() {
  CHECK(stop_fd < 0);
  stop_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  CHECK(stop_fd >= 0);
  struct sigaction action {};
  action.sa_handler = OnStop;
  action.sa_flags = static_cast<int>(SA_RESETHAND | SA_RESTART);
  for (int number : {SIGINT, SIGTERM, SIGHUP}) {
    struct sigaction before {};
    sigaction(number, nullptr, &before);
    if (before.sa_handler != SIG_IGN) sigaction(number, &action, nullptr);  // nohup stays nohup
  }
  return stop_fd;
}

std::function<bool()> WatchParent(pid_t parent) {
  if (parent == 0) return [] { return false; };
  return [parent] { return getppid() != parent; };
}

}  // namespace starling::fleet
