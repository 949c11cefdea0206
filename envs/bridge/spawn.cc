#include "envs/bridge/spawn.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <initializer_list>
#include <string_view>

#include "envs/bridge/protocol.h"

namespace starling::envs {
namespace {

constexpr int kFirstFree = kWorkerMemoryFd + 1;  // the child uses the lower descriptors

// Moves `fd` to a number >= kFirstFree, closed on exec; -1 on failure. Closes `fd`.
Fd High(int fd) {
  const Fd low(fd);
  return Fd(::fcntl(fd, F_DUPFD_CLOEXEC, kFirstFree));
}

bool SetNonBlocking(int fd) { return ::fcntl(fd, F_SETFL, ::fcntl(fd, F_GETFL) | O_NONBLOCK) == 0; }

bool SetReceiveLimit(int fd) {
  const timeval limit{.tv_sec = 0, .tv_usec = 10'000};
  return ::setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit) == 0;
}

// A nameless file that holds `text`, at its beginning; /dev/null for no text.
Fd InputOf(const std::string& text) {
  if (text.empty()) return High(::open("/dev/null", O_RDONLY | O_CLOEXEC));
  Fd file = High(::memfd_create("starling-program", MFD_CLOEXEC));
  std::string_view rest = text;
  while (file.get() >= 0 && !rest.empty()) {
    const ssize_t done = ::write(file.get(), rest.data(), rest.size());
    if (done < 0) return Fd();
    rest.remove_prefix(static_cast<std::size_t>(done));
  }
  if (::lseek(file.get(), 0, SEEK_SET) != 0) return Fd();
  return file;
}

std::vector<std::string> EnvironmentWith(const std::vector<std::string>& added) {
  std::vector<std::string> all;
  for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry) {
    all.emplace_back(*entry);
  }
  for (const std::string& entry : added) {
    const std::string name = entry.substr(0, entry.find('=') + 1);
    if (std::ranges::none_of(all, [&](const std::string& s) { return s.starts_with(name); })) {
      all.push_back(entry);
    }
  }
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
  int input, output, control, memory;
  pid_t parent;
};

// Between fork and exec: async-signal-safe calls only.
[[noreturn]] void BecomeWorker(const ChildPlan& plan) {
  struct sigaction action {};
  action.sa_handler = SIG_DFL;
  for (int signal = 1; signal < NSIG; ++signal) ::sigaction(signal, &action, nullptr);
  sigset_t none;
  ::sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
  // A process group of its own: Ctrl-C does not reach it, and its children can be killed with it.
  ::setpgid(0, 0);
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != plan.parent) ::_exit(1);  // the parent died before the line above
  if (::dup2(plan.input, 0) >= 0 && ::dup2(plan.output, 1) >= 0 && ::dup2(plan.output, 2) >= 0 &&
      ::dup2(plan.control, kWorkerControlFd) >= 0 && ::dup2(plan.memory, kWorkerMemoryFd) >= 0) {
    // For descriptors that a library opened without O_CLOEXEC.
    ::close_range(kFirstFree, ~0U, 0);
    ::execve(plan.argv[0], plan.argv, plan.environment);
  }
  const char* reason = ::strerrordesc_np(errno);
  if (reason == nullptr) reason = "unknown error";
  [[maybe_unused]] auto ignored = ::write(2, "cannot be executed: ", 20);
  ignored = ::write(2, reason, ::strlen(reason));
  ::_exit(127);
}

Spawned Failed(int error) {
  Spawned failed;
  failed.error = error;
  return failed;
}

std::string Describe(int status) {
  if (WIFEXITED(status)) return fmt::format("ended with exit status {}", WEXITSTATUS(status));
  const char* name = ::sigabbrev_np(WTERMSIG(status));
  return name != nullptr ? fmt::format("was killed by SIG{}", name)
                         : fmt::format("was killed by signal {}", WTERMSIG(status));
}

}  // namespace

Fd::~Fd() {
  if (fd_ >= 0) ::close(fd_);
}

Spawned Spawn(const SpawnPlan& plan) {
  // 1. Make both ends of every descriptor, out of the way of the child's numbers.
  std::array<int, 2> ends{};
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()) != 0) return Failed(errno);
  Fd ours = High(ends[0]), theirs = High(ends[1]);
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) return Failed(errno);
  Fd output = High(ends[0]), their_output = High(ends[1]);
  const Fd input = InputOf(plan.input);
  const Fd memory(::fcntl(plan.memory_fd, F_DUPFD_CLOEXEC, kFirstFree));
  for (const Fd* fd :
       std::initializer_list<const Fd*>{&ours, &theirs, &output, &their_output, &input, &memory}) {
    if (fd->get() < 0) return Failed(EMFILE);
  }
  if (!SetReceiveLimit(ours.get()) || !SetNonBlocking(output.get())) return Failed(errno);

  // 2. Prepare everything that allocates, then fork.
  std::vector<std::string> words = plan.argv, environment = EnvironmentWith(plan.environment);
  const std::vector<char*> argv = Pointers(words), envp = Pointers(environment);
  const ChildPlan child{.argv = argv.data(),
                        .environment = envp.data(),
                        .input = input.get(),
                        .output = their_output.get(),
                        .control = theirs.get(),
                        .memory = memory.get(),
                        .parent = ::getpid()};
  const pid_t pid = ::fork();
  if (pid < 0) return Failed(errno);
  if (pid == 0) BecomeWorker(child);
  ::setpgid(pid, pid);  // the child does the same; either may be first
  Spawned spawned;
  spawned.pid = pid;
  spawned.control = std::move(ours);
  spawned.output = std::move(output);
  return spawned;
}

std::string FindProgram(const std::string& name) {
  const auto runs = [](const std::string& path) { return ::access(path.c_str(), X_OK) == 0; };
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

std::optional<std::string> EndProcess(int pid, int limit_ms) {
  int status = 0;
  pid_t got = 0;
  for (int waited_ms = 0;; ++waited_ms) {
    got = ::waitpid(pid, &status, WNOHANG);
    if (got != 0 || waited_ms >= limit_ms) break;
    ::poll(nullptr, 0, 1);
  }
  ::kill(-pid, SIGKILL);  // and its children
  if (got == pid) return Describe(status);
  while (got == 0 && (::waitpid(pid, &status, 0) < 0 && errno == EINTR)) {
  }
  return std::nullopt;
}

}  // namespace starling::envs
