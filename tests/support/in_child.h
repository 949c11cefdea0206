// Work in a child process: for limits, signals and deaths that hold for a whole process.
#pragma once

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

namespace starling {

// Runs `work` in a child process, which then ends without destructors and exit handlers; its
// status is what `work` returns, or 0. Returns its process id.
template <class Work>
pid_t Fork(const Work& work) {
  const pid_t pid = ::fork();
  if (pid != 0) return pid;
  if constexpr (std::is_void_v<decltype(work())>) {
    work();
    ::_exit(0);
  } else {
    ::_exit(work());
  }
}

// Waits for the end of a child. Returns its exit status, or 128 + the signal that killed it.
inline int StatusOf(pid_t pid) {
  int status = -1;
  EXPECT_EQ(::waitpid(pid, &status, 0), pid);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

template <class Work>
int StatusInChild(const Work& work) {
  return StatusOf(Fork(work));
}

// The largest file that this process may write; beyond it writing fails, as on a full disk.
class FileSizeLimit {
 public:
  explicit FileSizeLimit(rlim_t bytes) : old_handler_(::signal(SIGXFSZ, SIG_IGN)) {
    EXPECT_EQ(::getrlimit(RLIMIT_FSIZE, &before_), 0);
    Set(bytes);
  }
  ~FileSizeLimit() {
    ::setrlimit(RLIMIT_FSIZE, &before_);
    ::signal(SIGXFSZ, old_handler_);
  }
  FileSizeLimit(const FileSizeLimit&) = delete;
  FileSizeLimit& operator=(const FileSizeLimit&) = delete;

  void Set(rlim_t bytes) const {
    const rlimit limit{bytes, before_.rlim_max};
    EXPECT_EQ(::setrlimit(RLIMIT_FSIZE, &limit), 0);
  }

 private:
  rlimit before_{};
  void (*const old_handler_)(int);
};

}  // namespace starling
