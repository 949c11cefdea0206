#include "core/child.h"

#include <gmock/gmock.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>

#include <cerrno>

#include "tests/support/fleet_fixtures.h"

namespace starling {
namespace {

using testing::HasSubstr;

// All output, until the writers have closed their end.
std::string ReadAll(const FileDescriptor& fd) {
  std::string all;
  char buffer[4096];
  for (;;) {
    const ssize_t size = ::read(fd.get(), buffer, sizeof buffer);
    if (size > 0) all.append(buffer, static_cast<std::size_t>(size));
    if (size == 0) break;
    if (size < 0 && errno != EAGAIN) break;
    if (size < 0) ::usleep(1000);
  }
  return all;
}

ChildExit WaitFor(int pid) {
  std::optional<ChildExit> exit;
  EXPECT_TRUE(Eventually([&] { return (exit = Reap(pid)).has_value(); }));
  return exit.value_or(ChildExit{});
}

// A child that dies with us.
Spawned Start(const std::string& program, const std::vector<std::string>& arguments,
              bool status_pipe = false) {
  return Spawn({.program = program,
                .arguments = arguments,
                .status_pipe = status_pipe,
                .death_signal = SIGKILL});
}

struct Ran {
  ChildExit exit;
  std::string output, status;
};

Ran RunShell(const std::string& command, bool status_pipe = false) {
  const Spawned child = Start("/bin/sh", {"-c", command}, status_pipe);
  EXPECT_GT(child.pid, 0);
  Ran ran;
  ran.output = ReadAll(child.output);
  if (status_pipe) ran.status = ReadAll(child.status);
  ran.exit = WaitFor(child.pid);
  return ran;
}

TEST(ChildTest, BothOutputsGoIntoOnePipe) {
  const Ran ran = RunShell("echo one; echo two >&2; exit 3");
  EXPECT_EQ(ran.output, "one\ntwo\n");
  EXPECT_EQ(Describe(ran.exit), "ended with exit status 3");
}

TEST(ChildTest, StatusHasAPipeOfItsOwn) {
  const Ran ran = RunShell("echo told >&3; echo said", /*status_pipe=*/true);
  EXPECT_EQ(ran.status, "told\n");
  EXPECT_EQ(ran.output, "said\n");
}

TEST(ChildTest, DeathBySignalIsNamed) {
  EXPECT_EQ(Describe(RunShell("kill -USR1 $$").exit), "was killed by SIGUSR1");
}

TEST(ChildTest, ReapDoesNotWait) {
  const Spawned asleep = Start("/bin/sleep", {"600"});
  EXPECT_FALSE(Reap(asleep.pid).has_value());
  EXPECT_EQ(::getpgid(asleep.pid), asleep.pid) << "a process group of its own";
  ::kill(-asleep.pid, SIGKILL);
  EXPECT_EQ(WaitFor(asleep.pid).code, SIGKILL);
}

TEST(ChildTest, ProgramThatIsAbsentIsAnErrorAndNoChild) {
  const Spawned child = Spawn(
      {.program = "/nowhere/at/all", .arguments = {}, .status_pipe = true, .death_signal = 0});
  EXPECT_EQ(child.pid, -1);
  EXPECT_EQ(child.error, ENOENT);
  EXPECT_EQ(child.output.get(), -1);
  EXPECT_EQ(::waitpid(-1, nullptr, WNOHANG), -1);
  EXPECT_EQ(errno, ECHILD);
  EXPECT_EQ(Describe({ChildExit::How::kNotStarted, child.error}),
            "could not be started (No such file or directory)");
}

// In a child, since a test that became another program would say nothing.
TEST(ChildTest, AProcessBecomesAnotherWithFreshSignals) {
  ::setenv("INHERITED", "kept", 1);
  ::setenv("REPLACED", "old", 1);
  const pid_t child = ::fork();
  if (child == 0) {
    sigset_t all;
    ::sigfillset(&all);
    ::sigprocmask(SIG_BLOCK, &all, nullptr);
    ::signal(SIGTERM, SIG_IGN);
    Become({.program = "/bin/sh",
            .arguments = {"-c", "[ $INHERITED-$REPLACED = kept-new ] && kill -TERM $$; exit 1"},
            .settings = {"REPLACED=new"}});
    ::_exit(2);
  }
  EXPECT_EQ(Describe(WaitFor(child)), "was killed by SIGTERM");
  EXPECT_EQ(Become({.program = "/nowhere/at/all", .arguments = {}}), ENOENT);
}

TEST(ChildTest, NothingOfOursIsOpenInTheChild) {
  // One that leaks by itself, and both pipes of an earlier child.
  const int leak = ::open("/dev/null", O_RDONLY);
  const Spawned other = Start("/bin/sleep", {"600"}, /*status_pipe=*/true);
  // ls needs one more, to read the directory.
  for (const bool status_pipe : {false, true}) {
    const Spawned child = Start("/bin/ls", {"/proc/self/fd"}, status_pipe);
    EXPECT_EQ(ReadAll(child.output), status_pipe ? "0\n1\n2\n3\n4\n" : "0\n1\n2\n3\n");
    EXPECT_EQ(WaitFor(child.pid).code, 0);
  }
  ::close(leak);
  ::kill(other.pid, SIGKILL);
  WaitFor(other.pid);
}

TEST(ChildTest, SignalsAreAsFreshExceptPipeAndFileSize) {
  struct sigaction ignore {
  }, before{};
  ignore.sa_handler = SIG_IGN;
  ::sigaction(SIGTERM, &ignore, &before);
  sigset_t blocked, old;
  ::sigemptyset(&blocked);
  ::sigaddset(&blocked, SIGINT);
  ::sigprocmask(SIG_BLOCK, &blocked, &old);
  // Not through a shell: it blocks signals of its own while it forks.
  const Spawned child = Start("/bin/grep", {"-E", "Sig(Blk|Ign)", "/proc/self/status"});
  const std::string output = ReadAll(child.output);
  EXPECT_EQ(WaitFor(child.pid).code, 0);
  ::sigprocmask(SIG_SETMASK, &old, nullptr);
  ::sigaction(SIGTERM, &before, nullptr);
  EXPECT_THAT(output, HasSubstr("SigBlk:\t0000000000000000"));
  EXPECT_THAT(output, HasSubstr("SigIgn:\t0000000001001000")) << "SIGPIPE is 13, SIGXFSZ 25";
}

TEST(ChildTest, FullStatusPipeDoesNotHoldTheChildUp) {
  // Without a reader, writing fails in the end instead of blocking.
  const Spawned child = Start("/bin/sh", {"-c", "while echo 0123456789 >&3; do :; done; exit 7"},
                              /*status_pipe=*/true);
  EXPECT_EQ(WaitFor(child.pid).code, 7);
}

TEST(ChildTest, HasTheDescriptorsInputAndEnvironmentOfItsSpec) {
  for (const char* name : {"STARLING_TEST_SET", "STARLING_TEST_REPLACED"}) {
    ASSERT_EQ(::setenv(name, "ours", 1), 0);
  }
  const FileDescriptor first(::memfd_create("first", MFD_CLOEXEC)),
      second(::memfd_create("second", MFD_CLOEXEC));
  const Spawned child = Spawn({.program = "/bin/sh",
                               .arguments = {"-c",
                                             "cat; echo $STARLING_TEST_SET $STARLING_TEST_NEW "
                                             "$STARLING_TEST_REPLACED; printf second >&4; "
                                             "ls /proc/self/fd | wc -l"},
                               .death_signal = SIGKILL,
                               .descriptors = {first.get(), second.get()},
                               .environment = {"STARLING_TEST_SET=theirs", "STARLING_TEST_NEW=new"},
                               .settings = {"STARLING_TEST_REPLACED=theirs"},
                               .input = "in\n"});
  ::unsetenv("STARLING_TEST_SET");
  ::unsetenv("STARLING_TEST_REPLACED");
  // 0 to 4, and the one with which ls reads the folder.
  EXPECT_EQ(ReadAll(child.output), "in\nours new theirs\n6\n");
  EXPECT_EQ(WaitFor(child.pid).code, 0);
  char text[7] = "";
  EXPECT_EQ(::pread(second.get(), text, 6, 0), 6);
  EXPECT_STREQ(text, "second");
}

TEST(ChildTest, AProgramThatCannotRunIsAnErrorToo) {
  const TempDir dir;
  EXPECT_EQ(Start(dir.Write("program", "no program at all"), {}).error, EACCES);
}

TEST(ChildTest, EndChildWaitsAndThenKillsTheWholeGroup) {
  EXPECT_EQ(Describe(EndChild(Start("/bin/sh", {"-c", "exit 3"}).pid, 60'000).value()),
            "ended with exit status 3");
  const Spawned deaf = Start("/bin/sh", {"-c", "trap '' TERM; while :; do sleep 600; done"});
  EXPECT_FALSE(EndChild(deaf.pid, 0).has_value());
  EXPECT_EQ(::kill(deaf.pid, 0), -1) << "it is reaped";
}

TEST(FindProgramTest, LooksWhereAShellWould) {
  EXPECT_EQ(FindProgram("/bin/sh"), "/bin/sh");
  EXPECT_THAT(FindProgram("sh"), testing::EndsWith("/sh"));
  EXPECT_EQ(FindProgram("/bin/no-such-program"), "");
  EXPECT_EQ(FindProgram("no-such-program"), "");
}

TEST(ChildTest, DiesWithItsParent) {
  ::prctl(PR_SET_CHILD_SUBREAPER, 1);
  const pid_t parent = ::fork();
  if (parent == 0) {
    Start("/bin/sleep", {"600"});
    ::_exit(0);
  }
  ::waitpid(parent, nullptr, 0);
  int status = 0;
  pid_t orphan = 0;
  EXPECT_TRUE(Eventually([&] { return (orphan = ::waitpid(-1, &status, WNOHANG)) != 0; }));
  ::prctl(PR_SET_CHILD_SUBREAPER, 0);
  ASSERT_GT(orphan, 0);
  EXPECT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
}

}  // namespace
}  // namespace starling
