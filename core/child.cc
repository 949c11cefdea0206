#include "core/child.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <utility>

#include "core/check.h"

namespace starling {
namespace {

constexpr int kErrorFd = 4;  // in the child, until exec closes it

class Fd {
 public:
  Fd() = default;
  explicit Fd(int fd) : fd_(fd) {}
  ~Fd() {
    if (fd_ >= 0) ::close(fd_);
  }
  Fd(Fd&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  Fd& operator=(Fd&& other) noexcept {
    std::swap(fd_, other.fd_);
    return *this;
  }
  int get() const { return fd_; }
  int Release() { return std::exchange(fd_, -1); }

 private:
  int fd_ = -1;
};

struct Pipe {
  Fd read, write;
};

// Both ends close on exec, and above the numbers that the child gives a meaning to.
bool MakePipe(Pipe& out) {
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) return false;
  const Fd low_read(ends[0]), low_write(ends[1]);
  out.read = Fd(::fcntl(ends[0], F_DUPFD_CLOEXEC, kErrorFd + 1));
  out.write = Fd(::fcntl(ends[1], F_DUPFD_CLOEXEC, kErrorFd + 1));
  return out.read.get() >= 0 && out.write.get() >= 0;
}

void SetNonBlocking(int fd) { ::fcntl(fd, F_SETFL, ::fcntl(fd, F_GETFL) | O_NONBLOCK); }

struct ChildPlan {
  const char* program;
  char* const* argv;
  int null_fd, output_fd, status_fd, error_fd;
  int death_signal;
  pid_t parent;
};

void ResetSignals() {
  struct sigaction action {};
  action.sa_handler = SIG_DFL;
  for (int signal = 1; signal < NSIG; ++signal) ::sigaction(signal, &action, nullptr);
  action.sa_handler = SIG_IGN;
  for (const int signal : {SIGPIPE, SIGXFSZ}) ::sigaction(signal, &action, nullptr);
  sigset_t none;
  ::sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
}

// Between fork and exec: async-signal-safe calls only. Returns only if something failed, with
// errno.
void BecomeProgram(const ChildPlan& plan) {
  ResetSignals();
  if (::setpgid(0, 0) != 0) return;
  if (plan.death_signal != 0) {
    if (::prctl(PR_SET_PDEATHSIG, plan.death_signal) != 0) return;
    if (::getppid() != plan.parent) ::_exit(1);  // it died before the line above
  }
  if (::dup2(plan.null_fd, 0) < 0 || ::dup2(plan.output_fd, 1) < 0 ||
      ::dup2(plan.output_fd, 2) < 0 || ::dup3(plan.error_fd, kErrorFd, O_CLOEXEC) < 0) {
    return;
  }
  if (plan.status_fd >= 0) {
    if (::dup2(plan.status_fd, kStatusFd) < 0) return;
  } else {
    ::close(kStatusFd);
  }
  // Ours close on exec; this is for what a library opened without saying so. An old kernel without
  // the call is no reason to fail.
  ::close_range(kErrorFd + 1, ~0U, 0);
  ::execv(plan.program, plan.argv);
}

[[noreturn]] void RunChild(const ChildPlan& plan) {
  BecomeProgram(plan);
  const int error = errno;
  // Ours is closed once the child's own is in place; the other way round it could be anything.
  if (::write(plan.error_fd, &error, sizeof error) < 0) {
    [[maybe_unused]] const auto ignored = ::write(kErrorFd, &error, sizeof error);
  }
  ::_exit(127);
}

Spawned Failed(int error) { return {.error = error}; }

}  // namespace

std::string SignalName(int signal) {
  const char* name = ::sigabbrev_np(signal);
  return name != nullptr ? fmt::format("SIG{}", name) : fmt::format("signal {}", signal);
}

std::string Describe(const ChildExit& exit) {
  switch (exit.how) {
    case ChildExit::How::kExited:
      return fmt::format("ended with exit status {}", exit.code);
    case ChildExit::How::kKilled:
      return fmt::format("was killed by {}", SignalName(exit.code));
    case ChildExit::How::kNotStarted:
      break;
  }
  const char* reason = ::strerrordesc_np(exit.code);
  return fmt::format("could not be started ({})", reason != nullptr ? reason : "unknown error");
}

Spawned Spawn(const ChildSpec& spec) {
  Pipe output, status, error;
  if (!MakePipe(output) || !MakePipe(error)) return Failed(errno);
  if (spec.status_pipe && !MakePipe(status)) return Failed(errno);
  const Fd null(::open("/dev/null", O_RDONLY | O_CLOEXEC));
  if (null.get() < 0) return Failed(errno);
  SetNonBlocking(output.read.get());
  const int shared = spec.our_output ? STDERR_FILENO : output.write.get();
  if (spec.status_pipe) {
    SetNonBlocking(status.read.get());
    SetNonBlocking(status.write.get());
  }

  const std::string program = spec.program.string();
  std::vector<std::string> words = {program};
  words.insert(words.end(), spec.arguments.begin(), spec.arguments.end());
  std::vector<char*> argv;
  for (std::string& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);
  const ChildPlan plan{.program = program.c_str(),
                       .argv = argv.data(),
                       .null_fd = null.get(),
                       .output_fd = shared,
                       .status_fd = status.write.get(),
                       .error_fd = error.write.get(),
                       .death_signal = spec.death_signal,
                       .parent = ::getpid()};

  const pid_t pid = ::fork();
  if (pid < 0) return Failed(errno);
  if (pid == 0) RunChild(plan);
  error.write = Fd();  // so that the read below ends when exec closes the child's

  int child_errno = 0;
  ssize_t got = 0;
  do {
    got = ::read(error.read.get(), &child_errno, sizeof child_errno);
  } while (got < 0 && errno == EINTR);
  if (got == sizeof child_errno) {
    while (::waitpid(pid, nullptr, 0) < 0 && errno == EINTR) {
    }
    return Failed(child_errno);
  }
  return {.pid = pid,
          .error = 0,
          .output_fd = spec.our_output ? -1 : output.read.Release(),
          .status_fd = status.read.Release()};
}

std::optional<ChildExit> Reap(int pid) {
  int status = 0;
  pid_t got = 0;
  do {
    got = ::waitpid(pid, &status, WNOHANG);
  } while (got < 0 && errno == EINTR);
  if (got == 0) return std::nullopt;
  CHECK(got == pid, "waitpid({}): {}", pid, ::strerrordesc_np(errno));
  if (WIFEXITED(status)) return ChildExit{ChildExit::How::kExited, WEXITSTATUS(status)};
  return ChildExit{ChildExit::How::kKilled, WTERMSIG(status)};
}

}  // namespace starling
