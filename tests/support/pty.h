// Whether this machine gives out pseudo-terminals: a bare root without /dev/pts does not.
#pragma once

#include <pty.h>
#include <unistd.h>

namespace starling {

inline constexpr char kNoPty[] = "there are no pseudo-terminals here (/dev/pts)";

inline bool HasPty() {
  int controller = -1, terminal = -1;
  if (::openpty(&controller, &terminal, nullptr, nullptr, nullptr) != 0) return false;
  ::close(controller);
  ::close(terminal);
  return true;
}

}  // namespace starling
