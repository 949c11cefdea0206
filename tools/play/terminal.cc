#include "tools/play/terminal.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <system_error>
#include <utility>

#include "core/check.h"
#include "core/error.h"

namespace starling::play {
namespace {

// Switches to the alternate screen without a cursor, and back.
constexpr std::string_view kEnter = "\033[?1049h\033[?25l\033[2J";
constexpr std::string_view kLeave = "\033[0m\033[?25h\033[?1049l";

constexpr int kStops[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT};
constexpr int kCrashes[] = {SIGABRT, SIGSEGV, SIGBUS, SIGFPE, SIGILL};

// The data of the signal handlers, which may run at any moment: set before the handlers are
// installed, and valid until they are removed.
struct Held {
  std::atomic<bool> held{false};
  std::atomic<bool> asked{false};  // a signal to stop has arrived
  int in = -1, out = -1;
  int stop[2] = {-1, -1};  // a pipe
  termios before{};
  struct sigaction stops[std::size(kStops)], crashes[std::size(kCrashes)];
} held;

// Restores the terminal. Calls only async-signal-safe functions.
void GiveBack() {
  if (!held.held.exchange(false)) return;
  // The modes first: a terminal that reads no output blocks the rest.
  ::tcsetattr(held.in, TCSANOW, &held.before);
  std::string_view left = kLeave;
  while (!left.empty()) {
    pollfd ready{.fd = held.out, .events = POLLOUT, .revents = 0};
    if (::poll(&ready, 1, 500) != 1) break;
    const ssize_t written = ::write(held.out, left.data(), left.size());
    if (written <= 0 && errno != EINTR) break;  // the terminal is closed
    if (written > 0) left.remove_prefix(static_cast<std::size_t>(written));
  }
}

void EndBy(int signal) {
  GiveBack();
  ::signal(signal, SIG_DFL);
  ::raise(signal);
}

void OnStop(int signal) {
  const int error = errno;
  if (held.asked.exchange(true)) EndBy(signal);
  const char byte = 1;
  [[maybe_unused]] const ssize_t written = ::write(held.stop[1], &byte, 1);
  errno = error;
}

template <std::size_t n>
void Install(const int (&signals)[n], void (*handler)(int), struct sigaction (&before)[n]) {
  struct sigaction action {};
  action.sa_handler = handler;
  action.sa_flags = SA_ONSTACK;  // no SA_RESTART: a signal interrupts a blocked write
  ::sigemptyset(&action.sa_mask);
  for (std::size_t i = 0; i < n; ++i) ::sigaction(signals[i], &action, &before[i]);
}

template <std::size_t n>
void Uninstall(const int (&signals)[n], const struct sigaction (&before)[n]) {
  for (std::size_t i = 0; i < n; ++i) ::sigaction(signals[i], &before[i], nullptr);
}

termios Raw(termios mode) {
  ::cfmakeraw(&mode);
  mode.c_oflag |= OPOST | ONLCR;  // lines of other writers begin at the left
  return mode;
}

}  // namespace

Terminal::Terminal(int in, int out) : in_(in), out_(out) {
  // 1. Check for a usable terminal, and save its modes.
  CHECK(!held.held, "a second terminal");
  const char* kind = std::getenv("TERM");
  const bool able = kind != nullptr && *kind != '\0' && std::string_view(kind) != "dumb";
  if (!able || ::isatty(out) == 0 || ::tcgetattr(in, &held.before) != 0) {
    throw UserError(
        "starling play needs a terminal for its input and its output, and a TERM that can move the "
        "cursor; for pictures without one there is starling record");
  }
  if (::pipe2(held.stop, O_CLOEXEC | O_NONBLOCK) != 0) {
    throw std::system_error(errno, std::generic_category(), "pipe");
  }
  // 2. Install the handlers with all their data, then change the modes.
  held.in = in;
  held.out = out;
  held.asked = false;
  Install(kStops, OnStop, held.stops);
  Install(kCrashes, EndBy, held.crashes);
  held.held = true;
  const termios raw = Raw(held.before);
  ::tcsetattr(in, TCSANOW, &raw);
  Write(kEnter);
}

Terminal::~Terminal() {
  GiveBack();
  Uninstall(kStops, held.stops);
  Uninstall(kCrashes, held.crashes);
  for (int& fd : held.stop) ::close(std::exchange(fd, -1));
}

int Terminal::stop_fd() const { return held.stop[0]; }

Terminal::Size Terminal::size() const {
  winsize size{};
  if (::ioctl(out_, TIOCGWINSZ, &size) != 0 || size.ws_col == 0 || size.ws_row == 0) return {};
  return {size.ws_col, size.ws_row};
}

std::string Terminal::Read() {
  char bytes[256];
  while (true) {
    const ssize_t read = ::read(in_, bytes, sizeof bytes);
    if (read < 0 && errno == EINTR) continue;
    return read <= 0 ? std::string() : std::string(bytes, static_cast<std::size_t>(read));
  }
}

bool Terminal::Write(std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t written = ::write(out_, bytes.data(), bytes.size());
    if (written > 0) {
      bytes.remove_prefix(static_cast<std::size_t>(written));
      continue;
    }
    if (errno == EAGAIN) {
      pollfd ready{.fd = out_, .events = POLLOUT, .revents = 0};
      ::poll(&ready, 1, 1000);
    } else if (errno != EINTR) {
      return false;
    }
    if (held.asked) return false;
  }
  return true;
}

}  // namespace starling::play
