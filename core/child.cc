#include "core/child.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <span>
#include <string_view>
#include <utility>

#include "core/check.h"

namespace starling {
namespace {

struct Pipe {
  FileDescriptor read, write;
};

// Returns a copy of `fd` that closes on exec, with a number of at least `least`: the child gives
// those below a meaning of their own.
FileDescriptor CopyAbove(int fd, int least) {
  return FileDescriptor(::fcntl(fd, F_DUPFD_CLOEXEC, least));
}

bool MakePipe(int least, Pipe& out) {
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) return false;
  const FileDescriptor low_read(ends[0]), low_write(ends[1]);
  out.read = CopyAbove(ends[0], least);
  out.write = CopyAbove(ends[1], least);
  return out.read.get() >= 0 && out.write.get() >= 0;
}

void SetNonBlocking(int fd) { ::fcntl(fd, F_SETFL, ::fcntl(fd, F_GETFL) | O_NONBLOCK); }

// Returns a nameless file that holds `text`, at its beginning; /dev/null for no text.
FileDescriptor InputOf(const std::string& text, int least) {
  const FileDescriptor file(text.empty() ? ::open("/dev/null", O_RDONLY | O_CLOEXEC)
                                         : ::memfd_create("starling-input", MFD_CLOEXEC));
  std::string_view rest = text;
  while (file.get() >= 0 && !rest.empty()) {
    const ssize_t done = ::write(file.get(), rest.data(), rest.size());
    if (done < 0) return FileDescriptor();
    rest.remove_prefix(static_cast<std::size_t>(done));
  }
  if (!text.empty() && ::lseek(file.get(), 0, SEEK_SET) != 0) return FileDescriptor();
  return CopyAbove(file.get(), least);
}

std::vector<std::string> WordsOf(const ChildSpec& spec) {
  std::vector<std::string> words = {spec.program.string()};
  words.insert(words.end(), spec.arguments.begin(), spec.arguments.end());
  return words;
}

std::vector<std::string> EnvironmentOf(const ChildSpec& spec) {
  std::vector<std::string> all = spec.settings;
  const auto add = [&all](const std::string& entry) {
    const std::string name = entry.substr(0, entry.find('=') + 1);
    if (std::ranges::none_of(all, [&](const std::string& s) { return s.starts_with(name); })) {
      all.push_back(entry);
    }
  };
  for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry) add(*entry);
  for (const std::string& entry : spec.environment) add(entry);
  return all;
}

std::vector<char*> Pointers(std::vector<std::string>& words) {
  std::vector<char*> pointers;
  for (std::string& word : words) pointers.push_back(word.data());
  pointers.push_back(nullptr);
  return pointers;
}

struct ChildPlan {
  char* const* argv;
  char* const* environment;
  int input, output;
  std::span<const int> descriptors;  // from 3 on
  int error;
  int death_signal;
  pid_t parent;

  int error_fd() const { return kStatusFd + static_cast<int>(descriptors.size()); }
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

// Between fork and exec: async-signal-safe calls only. Returns only on failure, with errno set.
void BecomeProgram(const ChildPlan& plan) {
  ResetSignals();
  if (::setpgid(0, 0) != 0) return;
  if (plan.death_signal != 0) {
    if (::prctl(PR_SET_PDEATHSIG, plan.death_signal) != 0) return;
    if (::getppid() != plan.parent) ::_exit(1);  // it died before the line above
  }
  const int error_fd = plan.error_fd();
  if (::dup2(plan.input, 0) < 0 || ::dup2(plan.output, 1) < 0 || ::dup2(plan.output, 2) < 0 ||
      ::dup3(plan.error, error_fd, O_CLOEXEC) < 0) {
    return;
  }
  for (std::size_t i = 0; i < plan.descriptors.size(); ++i) {
    if (::dup2(plan.descriptors[i], kStatusFd + static_cast<int>(i)) < 0) return;
  }
  // Ours close on exec; this is for those that a library opened without O_CLOEXEC. An old kernel
  // without the call is no reason to fail.
  ::close_range(static_cast<unsigned>(error_fd) + 1, ~0U, 0);
  ::execve(plan.argv[0], plan.argv, plan.environment);
}

[[noreturn]] void RunChild(const ChildPlan& plan) {
  BecomeProgram(plan);
  const int error = errno;
  // Before the copies are made only our number of the error pipe is open, after it only the
  // child's.
  if (::write(plan.error, &error, sizeof error) < 0) {
    [[maybe_unused]] const auto ignored = ::write(plan.error_fd(), &error, sizeof error);
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
  CHECK(!spec.status_pipe || spec.descriptors.empty(), "a status pipe and other descriptors");
  // 1. Make every descriptor, with numbers above those that the child gives a meaning to.
  const std::size_t count = spec.status_pipe ? 1 : spec.descriptors.size();
  const int least = kStatusFd + static_cast<int>(count) + 1;
  Pipe output, status, error;
  if (!MakePipe(least, output) || !MakePipe(least, error)) return Failed(errno);
  if (spec.status_pipe && !MakePipe(least, status)) return Failed(errno);
  const FileDescriptor input = InputOf(spec.input, least);
  if (input.get() < 0) return Failed(errno);
  std::vector<FileDescriptor> copies;
  std::vector<int> descriptors;
  for (const int fd : spec.descriptors) {
    copies.push_back(CopyAbove(fd, least));
    descriptors.push_back(copies.back().get());
    if (copies.back().get() < 0) return Failed(errno);
  }
  SetNonBlocking(output.read.get());
  if (spec.status_pipe) {
    SetNonBlocking(status.read.get());
    SetNonBlocking(status.write.get());
    descriptors.push_back(status.write.get());
  }

  // 2. Prepare everything that allocates, then fork.
  std::vector<std::string> words = WordsOf(spec);
  std::vector<std::string> environment = EnvironmentOf(spec);
  const std::vector<char*> argv = Pointers(words), envp = Pointers(environment);
  const ChildPlan plan{.argv = argv.data(),
                       .environment = envp.data(),
                       .input = input.get(),
                       .output = spec.our_output ? STDERR_FILENO : output.write.get(),
                       .descriptors = descriptors,
                       .error = error.write.get(),
                       .death_signal = spec.death_signal,
                       .parent = ::getpid()};
  const pid_t pid = ::fork();
  if (pid < 0) return Failed(errno);
  if (pid == 0) RunChild(plan);

  // 3. Wait until exec closes the child's end of the error pipe, or an errno arrives.
  error.write = FileDescriptor();
  int child_errno = 0;
  const auto got = TEMP_FAILURE_RETRY(::read(error.read.get(), &child_errno, sizeof child_errno));
  if (got == sizeof child_errno) {
    TEMP_FAILURE_RETRY(::waitpid(pid, nullptr, 0));
    return Failed(child_errno);
  }
  Spawned spawned{.pid = pid};
  if (!spec.our_output) spawned.output = std::move(output.read);
  spawned.status = std::move(status.read);
  return spawned;
}

int Become(const ChildSpec& spec) {
  std::vector<std::string> words = WordsOf(spec);
  std::vector<std::string> environment = EnvironmentOf(spec);
  const std::vector<char*> argv = Pointers(words), envp = Pointers(environment);
  ResetSignals();
  ::execve(argv[0], argv.data(), envp.data());
  return errno;
}

std::optional<ChildExit> Reap(int pid) {
  int status = 0;
  const auto got = TEMP_FAILURE_RETRY(::waitpid(pid, &status, WNOHANG));
  if (got == 0) return std::nullopt;
  CHECK(got == pid, "waitpid({}): {}", pid, ::strerrordesc_np(errno));
  if (WIFEXITED(status)) return ChildExit{ChildExit::How::kExited, WEXITSTATUS(status)};
  return ChildExit{ChildExit::How::kKilled, WTERMSIG(status)};
}

void PauseChild(int pid, int limit_ms) {
  ::kill(pid, SIGTSTP);
  for (int waited_ms = 0; waited_ms < limit_ms; ++waited_ms) {
    siginfo_t news{};
    ::waitid(P_PID, static_cast<id_t>(pid), &news, WSTOPPED | WEXITED | WNOHANG | WNOWAIT);
    if (news.si_pid != 0) return;
    ::poll(nullptr, 0, 1);
  }
  ::kill(pid, SIGSTOP);
}

std::optional<ChildExit> EndChild(int pid, int limit_ms) {
  std::optional<ChildExit> exit = Reap(pid);
  for (int waited_ms = 0; !exit && waited_ms < limit_ms; ++waited_ms) {
    ::poll(nullptr, 0, 1);
    exit = Reap(pid);
  }
  ::kill(-pid, SIGKILL);  // and its children
  if (!exit) TEMP_FAILURE_RETRY(::waitpid(pid, nullptr, 0));
  return exit;
}

std::vector<int> ChildrenOf(int pid) {
  std::ifstream file(fmt::format("/proc/{0}/task/{0}/children", pid));
  return {std::istream_iterator<int>(file), {}};
}

std::string FindProgram(const std::string& name) {
  const auto runs = [](const std::string& path) {
    std::error_code ignored;
    return ::access(path.c_str(), X_OK) == 0 && !std::filesystem::is_directory(path, ignored);
  };
  if (name.find('/') != std::string::npos) return runs(name) ? name : "";
  const char* variable = std::getenv("PATH");
  std::string_view rest = variable != nullptr ? variable : "/usr/bin:/bin";
  while (!rest.empty()) {
    const std::string_view folder = rest.substr(0, rest.find(':'));
    rest.remove_prefix(std::min(rest.size(), folder.size() + 1));
    const std::string path = fmt::format("{}/{}", folder.empty() ? "." : folder, name);
    if (runs(path)) return path;
  }
  return "";
}

}  // namespace starling
