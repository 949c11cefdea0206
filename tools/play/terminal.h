// The operator's terminal while a person plays: keys come in one by one, the screen is ours, and
// both are given back whatever happens: on destruction (so also on an exception), and from the
// handlers of the signals that end a process.
//
// SIGINT, SIGTERM, SIGHUP and SIGQUIT: the first makes stop_fd() readable, a second one gives the
// terminal back and ends the process. SIGABRT, SIGSEGV, SIGBUS, SIGFPE and SIGILL: at once.
//
// Thread safety: one thread. There is at most one Terminal at a time.
#pragma once

#include <string>
#include <string_view>

namespace starling::play {

class Terminal {
 public:
  // `in` and `out` are borrowed. Throws UserError if they are not both a terminal that can move its
  // cursor.
  Terminal(int in, int out);
  ~Terminal();
  Terminal(const Terminal&) = delete;
  Terminal& operator=(const Terminal&) = delete;

  int in() const { return in_; }
  int stop_fd() const;  // readable once the process was asked to stop

  struct Size {
    int columns = 80, rows = 24;
  };
  Size size() const;  // now

  // What has been typed; waits for it. Empty: there is nobody at the terminal any more.
  std::string Read();
  // Waits until all is written. False: nobody is there any more.
  bool Write(std::string_view bytes);

 private:
  const int in_, out_;
};

}  // namespace starling::play
