#include "envs/bridge/spawn.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <string>

#include "core/check.h"
#include "envs/bridge/worker.h"
#include "tests/envs/bridge/fake_worker.h"
#include "tests/support/temp_dir.h"

namespace starling::envs {
namespace {

struct Ran {
  std::string printed;
  std::string ended;
};

// A shell with `script`, its memory being `memory`.
Spawned Start(const std::string& script, const Fd& memory, SpawnPlan plan = {}) {
  plan.argv = {"/bin/sh", "-c", script};
  plan.memory_fd = memory.get();
  return Spawn(plan);
}

// Runs sh with `script` until it ends by itself.
Ran Shell(const std::string& script, SpawnPlan plan = {}) {
  const Fd memory(::memfd_create("test", MFD_CLOEXEC));
  const Spawned spawned = Start(script, memory, std::move(plan));
  CHECK(spawned.pid > 0, "{}", spawned.error);
  Ran run{.printed = "", .ended = EndProcess(spawned.pid, 60'000).value_or("killed")};
  char some[4096];
  for (ssize_t got = 0; (got = ::read(spawned.output.get(), some, sizeof some)) > 0;) {
    run.printed.append(some, static_cast<std::size_t>(got));
  }
  return run;
}

TEST(Spawn, GivesTheDescriptorsTheirMeaning) {
  const Ran run = Shell("cat; echo out; echo err >&2; printf memory >&4; ls /proc/self/fd | wc -l",
                        {.argv = {}, .environment = {}, .input = "in\n", .memory_fd = -1});
  // 0 to 4, and the one with which ls reads the folder.
  EXPECT_EQ(run.printed, "in\nout\nerr\n6\n");
  EXPECT_EQ(run.ended, "ended with exit status 0");
}

TEST(Spawn, AddsToTheEnvironmentWhatIsNotThere) {
  ASSERT_EQ(::setenv("STARLING_TEST_SET", "mine", 1), 0);
  const Ran run = Shell("echo $STARLING_TEST_SET $STARLING_TEST_NEW",
                        {.argv = {},
                         .environment = {"STARLING_TEST_SET=theirs", "STARLING_TEST_NEW=new"},
                         .input = "",
                         .memory_fd = -1});
  ::unsetenv("STARLING_TEST_SET");
  EXPECT_EQ(run.printed, "mine new\n");
}

TEST(Spawn, SaysHowAProcessEnded) {
  EXPECT_EQ(Shell("exit 3").ended, "ended with exit status 3");
  EXPECT_EQ(Shell("kill -SEGV $$").ended, "was killed by SIGSEGV");
}

TEST(Spawn, SaysWhyAProgramCannotRun) {
  const TempDir dir;
  const auto path = dir.Write("program", "no program at all");
  const Fd memory(::memfd_create("test", MFD_CLOEXEC));
  const Spawned spawned =
      Spawn({.argv = {path.string()}, .environment = {}, .input = "", .memory_fd = memory.get()});
  ASSERT_GT(spawned.pid, 0);
  EXPECT_EQ(EndProcess(spawned.pid, 60'000), "ended with exit status 127");
  char some[100];
  const ssize_t got = ::read(spawned.output.get(), some, sizeof some);
  ASSERT_GT(got, 0);
  EXPECT_THAT(std::string(some, static_cast<std::size_t>(got)),
              testing::HasSubstr("cannot be executed: Permission denied"));
}

TEST(EndProcess, KillsWhatDoesNotEnd) {
  const Fd memory(::memfd_create("test", MFD_CLOEXEC));
  const Spawned spawned = Start("trap '' TERM; read x <&3; read x <&4", memory);
  ASSERT_GT(spawned.pid, 0);
  EXPECT_EQ(EndProcess(spawned.pid, 0), std::nullopt);
  EXPECT_EQ(::kill(spawned.pid, 0), -1);  // reaped
}

TEST(FindProgram, LooksWhereAShellWould) {
  EXPECT_EQ(FindProgram("/bin/sh"), "/bin/sh");
  EXPECT_THAT(FindProgram("sh"), testing::EndsWith("/sh"));
  EXPECT_EQ(FindProgram("/bin/no-such-program"), "");
  EXPECT_EQ(FindProgram("no-such-program"), "");
}

// A parent that is killed takes its workers with it, even one that does not listen.
TEST(Spawn, AWorkerDiesWithItsParent) {
  ASSERT_EQ(::prctl(PR_SET_CHILD_SUBREAPER, 1), 0);  // so that we can see the orphan die
  int ends[2];
  ASSERT_EQ(::pipe(ends), 0);
  const pid_t parent = ::fork();
  ASSERT_GE(parent, 0);
  if (parent == 0) {
    const Fd memory(::memfd_create("test", MFD_CLOEXEC));
    const Spawned spawned = Start("echo; while :; do sleep 1000; done", memory);
    pollfd printed{.fd = spawned.output.get(), .events = POLLIN, .revents = 0};
    if (::poll(&printed, 1, -1) != 1) ::_exit(1);  // it runs
    if (::write(ends[1], &spawned.pid, sizeof spawned.pid) != sizeof spawned.pid) ::_exit(1);
    while (true) ::pause();
  }
  int worker = 0;
  ASSERT_EQ(::read(ends[0], &worker, sizeof worker), sizeof worker);
  ASSERT_GT(worker, 0);
  ::kill(parent, SIGKILL);
  int status = 0;
  ASSERT_EQ(::waitpid(parent, &status, 0), parent);
  ASSERT_EQ(::waitpid(worker, &status, 0), worker);  // hangs if it lived on
  EXPECT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL) << status;
  // The processes that it started are ours now and must not outlive the test.
  ::kill(-worker, SIGKILL);
  while (::waitpid(-worker, nullptr, 0) > 0) {
  }
  ::prctl(PR_SET_CHILD_SUBREAPER, 0);
  ::close(ends[0]);
  ::close(ends[1]);
}

}  // namespace
}  // namespace starling::envs
