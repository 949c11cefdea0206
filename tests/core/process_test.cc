#include "core/process.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>

#include "tests/support/temp_dir.h"

namespace starling {
namespace {

TEST(CallName, IsWhatTheOperatorTypesAndTheShorterOfTwo) {
  EXPECT_EQ(CallName("/home/ann/starling/build/release/bin/starling", "/home/ann/starling"),
            "build/release/bin/starling");
  EXPECT_EQ(CallName("/opt/bin/starling", "/home/ann/starling"), "/opt/bin/starling");
  EXPECT_EQ(CallName("/home/ann/bin/starling", "/home/ann/runs"), "../bin/starling");
  EXPECT_EQ(CallName("/opt/bin/starling", "/opt/bin"), "./starling");
}

TEST(ProgramDir, IsWhereThisTestLies) {
  const std::filesystem::path self = std::filesystem::read_symlink("/proc/self/exe");
  EXPECT_TRUE(std::filesystem::exists(ProgramDir() / self.filename()));
}

// In a child: the limit holds for a whole process.
TEST(CatchStopSignals, AWriteBeyondTheFileSizeLimitFailsInsteadOfKilling) {
  TempDir dir;
  const std::string path = (dir / "file").string();
  const pid_t pid = fork();
  if (pid == 0) {
    signal(SIGXFSZ, SIG_DFL);
    CatchStopSignals();
    const rlimit limit{4, 4};
    setrlimit(RLIMIT_FSIZE, &limit);
    const int fd = open(path.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
    const bool some = write(fd, "12345678", 8) == 4;
    const bool none = write(fd, "5678", 4) < 0 && errno == EFBIG;
    _exit(some && none ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(waitpid(pid, &status, 0), pid);
  ASSERT_TRUE(WIFEXITED(status)) << "killed by signal " << WTERMSIG(status);
  EXPECT_EQ(WEXITSTATUS(status), 0);
}

TEST(CatchStopSignals, ASecondSignalEndsTheProcessUnlessSomebodyElseSeesToThat) {
  for (const auto& [signal, again_ends] : {std::pair(SIGINT, true), std::pair(SIGHUP, true),
                                           std::pair(SIGINT, false), std::pair(SIGTERM, true)}) {
    const pid_t pid = fork();
    if (pid == 0) {
      const int fd = CatchStopSignals(again_ends);
      raise(signal);
      raise(signal);
      pollfd stop{.fd = fd, .events = POLLIN, .revents = 0};
      _exit(poll(&stop, 1, 0) == 1 ? 0 : 1);
    }
    int status = 0;
    ASSERT_EQ(waitpid(pid, &status, 0), pid);
    const bool ended = again_ends && signal != SIGTERM;
    EXPECT_EQ(WIFSIGNALED(status), ended) << signal;
    EXPECT_EQ(status == 0, !ended) << signal;
  }
}

}  // namespace
}  // namespace starling
