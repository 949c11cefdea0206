#include "fleet/stop_signals.h"

namespace starling::fleet {

sigset_t StopSignals() {
  sigset_t set;
  ::sigemptyset(&set);
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) ::sigaddset(&set, signal);
  return set;
}

StopSignalsHeld::StopSignalsHeld() {
  const sigset_t stop = StopSignals();
  ::sigprocmask(SIG_BLOCK, &stop, nullptr);
}

StopSignalsHeld::~StopSignalsHeld() {
  const sigset_t stop = StopSignals();
  const timespec at_once{};
  while (::sigtimedwait(&stop, nullptr, &at_once) > 0) {
  }
  ::sigprocmask(SIG_UNBLOCK, &stop, nullptr);
}

}  // namespace starling::fleet
