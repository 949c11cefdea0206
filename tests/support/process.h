// Real processes for tests: started, signalled, awaited with a deadline, and looked up
// in the process table. Every child is killed with its Process, and by the kernel should the test
// itself be killed.
#pragma once

#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <filesystem>
#include <optional>
#include <string>
#include <thread>
#include <vector>

namespace starling {

// A deadline against hanging tests, not an expectation: the machine may be loaded tenfold.
inline constexpr std::chrono::seconds kPatience{240};

// Looks at `condition` until it holds; false if it never did.
template <class Condition>
bool Eventually(Condition condition, std::chrono::milliseconds patience = kPatience) {
  const auto end = std::chrono::steady_clock::now() + patience;
  while (!condition()) {
    if (std::chrono::steady_clock::now() > end) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
  return true;
}

// Returns the file's text, the part read so far if it vanishes (a process in /proc), or "".
inline std::string TextOf(const std::filesystem::path& path) {
  std::string text;
  const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return text;
  std::array<char, 1 << 14> buffer{};
  for (ssize_t size = 0; (size = read(fd, buffer.data(), buffer.size())) > 0;) {
    text.append(buffer.data(), static_cast<std::size_t>(size));
  }
  close(fd);
  return text;
}

struct Launch {
  std::filesystem::path program;
  std::vector<std::string> arguments;
  std::filesystem::path directory;          // to run in
  std::filesystem::path output;             // standard output goes to output.out, error to .err
  std::optional<rlim_t> file_size_limit{};  // bytes
  std::vector<std::string> environment{};   // "NAME=value", added to this test's
};

class Process {
 public:
  // In a process group of its own, with an empty standard input.
  explicit Process(Launch launch) : launch_(std::move(launch)) {
    std::vector<std::string> words = {launch_.program.string()};
    words.insert(words.end(), launch_.arguments.begin(), launch_.arguments.end());
    std::vector<char*> argv;
    for (std::string& word : words) argv.push_back(word.data());
    argv.push_back(nullptr);
    const std::string out = Output("out"), err = Output("err");
    pid_ = fork();
    if (pid_ == 0) Become(argv.data(), out.c_str(), err.c_str());
    if (pid_ < 0) ADD_FAILURE() << "fork failed: errno " << errno;
  }
  ~Process() {
    if (!Running()) return;
    Signal(SIGKILL);
    Wait();
  }
  Process(const Process&) = delete;
  Process& operator=(const Process&) = delete;

  pid_t pid() const { return pid_; }
  std::string out() const { return TextOf(Output("out")); }
  std::string err() const { return TextOf(Output("err")); }

  void Signal(int signal) {
    if (Running()) kill(pid_, signal);
  }

  bool Running() {
    if (pid_ <= 0 || exit_) return false;
    int status = 0;
    if (waitpid(pid_, &status, WNOHANG) != pid_) return true;
    exit_ = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
    return false;
  }

  // The exit status, 128 + signal if one killed it. -1, and a failed test, if it does not end.
  int Wait() {
    if (!Eventually([this] { return !Running(); })) {
      ADD_FAILURE() << launch_.program << " does not end; it said:\n" << err();
      return -1;
    }
    return exit_.value_or(-1);
  }

 private:
  std::string Output(const char* which) const { return launch_.output.string() + "." + which; }

  // The test is single-threaded, so that anything may be called between fork and exec.
  [[noreturn]] void Become(char* const* argv, const char* out, const char* err) const {
    setpgid(0, 0);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    // Whatever the tests were started under (nohup, a background job).
    for (const int number : {SIGINT, SIGTERM, SIGHUP, SIGPIPE, SIGXFSZ}) signal(number, SIG_DFL);
    sigset_t none;
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, nullptr);
    const int in_fd = open("/dev/null", O_RDONLY);
    const int out_fd = open(out, O_WRONLY | O_CREAT | O_TRUNC, 0644);
    const int err_fd = open(err, O_WRONLY | O_CREAT | O_TRUNC, 0644);
    if (in_fd < 0 || out_fd < 0 || err_fd < 0 || chdir(launch_.directory.c_str()) != 0) _exit(127);
    dup2(in_fd, 0);
    dup2(out_fd, 1);
    dup2(err_fd, 2);
    close_range(3, ~0U, 0);
    if (launch_.file_size_limit) {
      const rlimit limit{*launch_.file_size_limit, *launch_.file_size_limit};
      setrlimit(RLIMIT_FSIZE, &limit);
    }
    for (const std::string& setting : launch_.environment) putenv(strdup(setting.c_str()));
    execv(launch_.program.c_str(), argv);
    _exit(127);
  }

  const Launch launch_;
  pid_t pid_ = -1;
  std::optional<int> exit_;
};

struct Running {
  pid_t pid = 0;
  std::string program;  // "starling-actor"
  std::vector<std::string> arguments;

  // Returns the argument behind `option` ("--slot"), or "".
  std::string After(const std::string& option) const {
    for (std::size_t i = 0; i + 1 < arguments.size(); ++i) {
      if (arguments[i] == option) return arguments[i + 1];
    }
    return "";
  }
};

// Every live process (zombies have no command line) with `text` in one of its words.
inline std::vector<Running> ProcessesNaming(const std::string& text) {
  std::vector<Running> found;
  for (const auto& entry : std::filesystem::directory_iterator("/proc")) {
    const std::string name = entry.path().filename();
    if (name.find_first_not_of("0123456789") != std::string::npos) continue;
    const std::string line = TextOf(entry.path() / "cmdline");
    if (line.find(text) == std::string::npos) continue;
    Running running{.pid = std::stoi(name), .program = {}, .arguments = {}};
    for (std::size_t begin = 0; begin < line.size();) {
      const std::size_t end = std::min(line.find('\0', begin), line.size());
      running.arguments.push_back(line.substr(begin, end - begin));
      begin = end + 1;
    }
    running.program = std::filesystem::path(running.arguments.front()).filename();
    if (running.pid != getpid()) found.push_back(running);
  }
  return found;
}

// "S", "R", "T" (stopped), "Z"; "" if there is no such process.
inline std::string StateOf(pid_t pid) {
  const std::string stat = TextOf("/proc/" + std::to_string(pid) + "/stat");
  const std::size_t paren = stat.rfind(')');
  return paren == std::string::npos ? "" : stat.substr(paren + 2, 1);
}

}  // namespace starling
