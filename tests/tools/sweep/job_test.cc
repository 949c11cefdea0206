#include "tools/sweep/sweep.h"

#include <gmock/gmock.h>
#include <signal.h>

#include "tests/support/fleet_fixtures.h"

namespace starling::sweep {
namespace {

using testing::ElementsAre;
using testing::SizeIs;

// A job that runs a shell's `script` to its end.
struct EndedJob {
  std::optional<ChildExit> exit;
  std::vector<std::string> said;
};
EndedJob RunJob(const std::string& script) {
  Job job("/bin/sh", {"-c", script});
  EndedJob done;
  EXPECT_TRUE(Eventually([&] {
    job.Read();
    done.exit = job.Reap();
    return done.exit.has_value();
  }));
  EXPECT_LT(job.output_fd(), 0);
  done.said = job.said();
  return done;
}

TEST(JobTest, LastWordsWithoutANewlineAreHeard) {
  const EndedJob done = RunJob("echo one; printf two >&2; exit 3");
  EXPECT_THAT(done.said, ElementsAre("one", "two"));
  EXPECT_EQ(done.exit->code, 3);
}

TEST(JobTest, OneThatClosesItsOutputStillEnds) {
  const EndedJob done = RunJob("echo one; exec >&- 2>&-; exit 4");
  EXPECT_THAT(done.said, ElementsAre("one"));
  EXPECT_EQ(done.exit->code, 4);
}

TEST(JobTest, OfManyLinesTheLastAreKeptAndLongOnesAreCut) {
  const EndedJob done = RunJob(
      "i=0; while [ $i -lt 300 ]; do i=$((i+1)); echo $i; done; "
      "printf '%020000d\\n' 7");
  ASSERT_THAT(done.said, SizeIs(200));
  EXPECT_EQ(done.said[198].size(), std::size_t{16 << 10});
  EXPECT_EQ(done.said[199].size(), std::size_t{20000 - (16 << 10)});
  EXPECT_EQ(done.said[197], "300");
}

TEST(JobTest, WhatCannotBeStartedIsOver) {
  Job job("/absent/program", {});
  const std::optional<ChildExit> exit = job.Reap();
  ASSERT_TRUE(exit);
  EXPECT_EQ(exit->how, ChildExit::How::kNotStarted);
}

TEST(JobTest, NothingIsLeftOfOneThatIsGivenUp) {
  const TempDir dir;
  const std::string pid_file = (dir / "pid").string();
  pid_t pid = 0;
  {
    Job job("/bin/sh", {"-c", "echo $$ > " + pid_file + ".new; mv " + pid_file + ".new " +
                                  pid_file + "; while :; do sleep 60; done"});
    ASSERT_TRUE(Eventually([&] { return !dir.Lines("pid").empty(); }));
    pid = std::stoi(dir.Read("pid"));
  }
  EXPECT_NE(::kill(pid, 0), 0);
}

}  // namespace
}  // namespace starling::sweep
