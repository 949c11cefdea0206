#include "core/process.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <signal.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cerrno>

#include "tests/support/in_child.h"
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

TEST(OccupyStandardDescriptors, NoFileGetsTheNumberOfAClosedOne) {
  const int status = StatusInChild([] {
    close(STDIN_FILENO);
    close(STDERR_FILENO);
    OccupyStandardDescriptors();
    const bool ours = open("/dev/null", O_WRONLY | O_CLOEXEC) > STDERR_FILENO;
    return ours && write(STDERR_FILENO, "x", 1) < 0 && errno == EBADF ? 0 : 1;
  });
  EXPECT_EQ(status, 0);
}

// In a child: the limit holds for a whole process.
TEST(CatchStopSignals, AWriteBeyondTheFileSizeLimitFailsInsteadOfKilling) {
  TempDir dir;
  const std::string path = (dir / "file").string();
  const int status = StatusInChild([&] {
    signal(SIGXFSZ, SIG_DFL);
    CatchStopSignals();
    const rlimit limit{4, 4};
    setrlimit(RLIMIT_FSIZE, &limit);
    const int fd = open(path.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
    const bool some = write(fd, "12345678", 8) == 4;
    const bool none = write(fd, "5678", 4) < 0 && errno == EFBIG;
    return some && none ? 0 : 1;
  });
  EXPECT_EQ(status, 0);
}

TEST(CatchStopSignals, ASecondSignalEndsTheProcessUnlessSomebodyElseSeesToThat) {
  for (const auto& [signal, again_ends] : {std::pair(SIGINT, true), std::pair(SIGHUP, true),
                                           std::pair(SIGINT, false), std::pair(SIGTERM, true)}) {
    const int status = StatusInChild([&] {
      const int fd = CatchStopSignals(again_ends);
      raise(signal);
      raise(signal);
      pollfd stop{.fd = fd, .events = POLLIN, .revents = 0};
      return poll(&stop, 1, 0) == 1 ? 0 : 1;
    });
    EXPECT_EQ(status, again_ends && signal != SIGTERM ? 128 + signal : 0) << signal;
  }
}

// They may interrupt a product of matrices (net/cpu/gemm.h).
TEST(CatchStopSignals, HandlersRunOnASignalStackIfTheThreadHasOne) {
  const int status = StatusInChild([] {
    CatchStopSignals(/*again_ends=*/true, {SIGUSR1});
    CatchReloadSignal();
    CatchPauseSignal();
    for (const int signal : {SIGTERM, SIGINT, SIGHUP, SIGUSR1, SIGTSTP}) {
      struct sigaction now {};
      sigaction(signal, nullptr, &now);
      if (now.sa_handler == SIG_DFL || (now.sa_flags & SA_ONSTACK) == 0) return signal;
    }
    return 0;
  });
  EXPECT_EQ(status, 0);
}

}  // namespace
}  // namespace starling
