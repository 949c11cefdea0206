// A program in a terminal of its own, made by the test, which reads the output and types keys.
#pragma once

#include <fcntl.h>
#include <poll.h>
#include <pty.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <termios.h>
#include <unistd.h>

#include <chrono>
#include <cstring>
#include <regex>
#include <string>
#include <vector>

namespace starling::play {

class ProgramInTerminal {
 public:
  ProgramInTerminal(const std::vector<std::string>& words, int columns, int rows,
                    const std::vector<std::string>& environment = {}) {
    winsize size{};
    size.ws_col = static_cast<unsigned short>(columns);
    size.ws_row = static_cast<unsigned short>(rows);
    if (::openpty(&controller_, &terminal_, nullptr, nullptr, &size) != 0) return;
    ::fcntl(controller_, F_SETFD, FD_CLOEXEC);
    ::fcntl(controller_, F_SETFL, O_NONBLOCK);  // a program that does not read must not hold us
    ::tcgetattr(terminal_, &before_);
    pid_ = ::fork();
    if (pid_ == 0) Become(words, environment);
  }

  ~ProgramInTerminal() {
    if (pid_ > 0) {
      ::kill(pid_, SIGKILL);
      ::waitpid(pid_, nullptr, 0);
    }
    ::close(controller_);
    ::close(terminal_);
  }
  ProgramInTerminal(const ProgramInTerminal&) = delete;
  ProgramInTerminal& operator=(const ProgramInTerminal&) = delete;

  void Type(const std::string& keys) {
    [[maybe_unused]] const ssize_t written = ::write(controller_, keys.data(), keys.size());
  }
  void Resize(int columns, int rows) {
    winsize size{};
    size.ws_col = static_cast<unsigned short>(columns);
    size.ws_row = static_cast<unsigned short>(rows);
    ::ioctl(controller_, TIOCSWINSZ, &size);
  }
  void Signal(int signal) { ::kill(pid_, signal); }

  // Reads until `text` has been shown since the last one waited for, and types `keys` again and
  // again until then. False after a long time.
  bool Shows(const std::string& text, const std::string& keys = "") {
    return Until([&] {
      const std::size_t at = shown_.find(text, seen_);
      if (at == std::string::npos) {
        Type(keys);
        return false;
      }
      seen_ = at + text.size();
      return true;
    });
  }

  // Reads until anything shown so far matches. False after a long time.
  bool ShowsSomethingLike(const std::regex& pattern) {
    return Until([&] { return std::regex_search(shown_, pattern); });
  }

  // Reads on until the program is gone: its exit status or 128 + signal; -1 after a long time.
  int Wait() {
    int status = 0;
    const bool gone = Until([&] { return ::waitpid(pid_, &status, WNOHANG) == pid_; });
    if (!gone) return -1;
    pid_ = -1;
    Drain(0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  }

  const std::string& shown() const { return shown_; }

  // Whether the terminal's modes are those from before the program.
  bool IsAsBefore() const {
    termios now{};
    ::tcgetattr(terminal_, &now);
    return now.c_iflag == before_.c_iflag && now.c_oflag == before_.c_oflag &&
           now.c_lflag == before_.c_lflag && now.c_cflag == before_.c_cflag &&
           std::memcmp(now.c_cc, before_.c_cc, sizeof now.c_cc) == 0;
  }

 private:
  [[noreturn]] void Become(const std::vector<std::string>& words,
                           const std::vector<std::string>& environment) {
    ::setsid();
    ::ioctl(terminal_, TIOCSCTTY, 0);
    for (int fd = 0; fd < 3; ++fd) ::dup2(terminal_, fd);
    ::setenv("TERM", "xterm-256color", 1);
    ::setenv("LC_ALL", "C.UTF-8", 1);
    ::unsetenv("NO_COLOR");
    ::unsetenv("COLORTERM");
    for (const std::string& setting : environment) ::putenv(::strdup(setting.c_str()));
    std::vector<char*> argv;
    for (const std::string& word : words) argv.push_back(::strdup(word.c_str()));
    argv.push_back(nullptr);
    ::execv(argv[0], argv.data());
    ::_exit(126);
  }

  void Drain(int timeout_ms) {
    pollfd ready{.fd = controller_, .events = POLLIN, .revents = 0};
    while (::poll(&ready, 1, timeout_ms) == 1) {
      char bytes[4096];
      const ssize_t read = ::read(controller_, bytes, sizeof bytes);
      if (read <= 0) return;
      shown_.append(bytes, static_cast<std::size_t>(read));
      timeout_ms = 0;
    }
  }

  template <class Condition>
  bool Until(const Condition& condition) {
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(240);
    while (!condition()) {
      if (std::chrono::steady_clock::now() > end) return false;
      Drain(20);
    }
    return true;
  }

  int controller_ = -1, terminal_ = -1;
  pid_t pid_ = -1;
  termios before_{};
  std::string shown_;
  std::size_t seen_ = 0;
};

}  // namespace starling::play
