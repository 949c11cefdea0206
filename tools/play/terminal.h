// Holds the terminal while a person plays: raw keys and the alternate screen. Restores both on
// destruction (so also on an exception), and in the handlers of the signals that end a process.
//
// SIGINT, SIGTERM, SIGHUP and SIGQUIT: the first makes stop_fd() readable, a second one restores
// the terminal and ends the process. SIGABRT, SIGSEGV, SIGBUS, SIGFPE and SIGILL: restore and end
// at once.
//
// Thread safety: one thread. There is at most one Terminal at a time.
#pragma once

#include <string>
#include <string_view>

namespace starling::play {

class Terminal {
 public:
  // Borrows `in` and `out`. Throws UserError unless both are a terminal that can move its cursor.
  Terminal(int in, int out);
  ~Terminal();
  Terminal(const Terminal&) = delete;
  Terminal& operator=(const Terminal&) = delete;

  int in() const { return in_; }
  int stop_fd() const;  // readable after a signal to stop

  struct Size {
    int columns = 80, rows = 24;
  };
  Size size() const;  // now

  // Waits for input and returns it; "" if the terminal is closed.
  std::string Read();
  // Waits until all is written. Returns false if the terminal is closed, or after a signal to stop.
  bool Write(std::string_view bytes);

 private:
  const int in_, out_;
};

}  // namespace starling::play
