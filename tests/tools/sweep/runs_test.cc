#include "tools/sweep/sweep.h"

#include <gmock/gmock.h>
#include <signal.h>

#include <vector>

#include "tests/support/fleet_fixtures.h"
#include "tools/sweep/grid.h"

namespace starling::sweep {
namespace {

using testing::ElementsAre;
using testing::MatchesRegex;
using testing::SizeIs;
using Seconds = std::vector<double>;

TEST(SweepTimeLeftTest, FromTheMeanOfTheRunsThatHaveFinished) {
  const struct {
    const char* rule;
    Seconds finished, running;
    int waiting, at_once;
    std::optional<double> left;
  } cases[] = {
      {"nothing is known until a run has finished", {}, {5}, 3, 1, {}},
      {"20 s a run: three wait (60 s), one has 20 - 5 s to go", {10, 30}, {5}, 3, 1, 75},
      {"side by side: (3 x 20 + 15 + 10) / 2", {20}, {5, 10}, 3, 2, 42.5},
      {"20 s of work for four, but one of them needs all 20", {20}, {0}, 0, 4, 20},
      {"a run that takes longer is about to end", {20}, {25}, 1, 1, 20},
  };
  for (const auto& [rule, finished, running, waiting, at_once, left] : cases) {
    EXPECT_EQ(SweepTimeLeft(finished, running, waiting, at_once), left) << rule;
  }
}

TEST(SweepBarTest, WhatEachWidthShows) {
  const SweepProgress progress{.total = 12, .done = 5, .running = 2, .failed = 1, .left_s = 754};
  const auto at = [&](int width) { return SweepBar(progress, {width, false, false}); };
  EXPECT_EQ(at(100),
            "[###################-------------------]  5/12 runs done, 1 failed, 12:34 left, "
            "2 running");
  EXPECT_EQ(at(80),
            "[##############--------------]  5/12 runs done, 1 failed, 12:34 left, 2 running");
  EXPECT_EQ(at(50), "5/12 runs done, 1 failed, 12:34 left, 2 running");
  EXPECT_EQ(at(30), "5/12 runs done, 1 failed");
  EXPECT_EQ(at(15), "5/12 runs done");
  EXPECT_EQ(at(5), "5/12");
  EXPECT_EQ(at(0), "");
}

TEST(SweepBarTest, WhatIsNotKnownIsLeftOut) {
  EXPECT_EQ(SweepBar({.total = 2, .done = 0, .running = 1, .failed = 0, .left_s = {}},
                     {50, false, false}),
            "[---------------------]  0/2 runs done, 1 running");
}

TEST(NamesTest, KeysAreAsShortAsTheyCanBeToldApart) {
  EXPECT_THAT(ShortKeys({"staleness.bound", "optimizer.lr"}), ElementsAre("bound", "lr"));
  EXPECT_THAT(ShortKeys({"net.kind", "optimizer.lr", "optimizer.kind"}),
              ElementsAre("net.kind", "lr", "optimizer.kind"));
}

TEST(NamesTest, ValuesKeepWhatAShellDoesNotMind) {
  EXPECT_EQ(ValueName("4"), "4");
  EXPECT_EQ(ValueName("-0.5"), "-0.5");
  EXPECT_EQ(ValueName("1e-05"), "1e-05");
  EXPECT_EQ(ValueName("\"unbounded\""), "unbounded");
  EXPECT_EQ(ValueName("\"minatar/breakout\""), "minatar-breakout");
  EXPECT_EQ(ValueName("[ 64, 32 ]"), "64-32");
  EXPECT_EQ(ValueName("[ \"conv 16 3x3\", \"relu\" ]"), "conv-16-3x3-relu");
  EXPECT_EQ(ValueName("\"\""), "empty");
}

TEST(NamesTest, LongValuesEndInAHashOfAllOfThem) {
  const std::string a = "\"" + std::string(60, 'a') + "b\"",
                    b = "\"" + std::string(60, 'a') + "c\"";
  EXPECT_THAT(ValueName(a), MatchesRegex("a{31}-[0-9a-f]{8}"));
  EXPECT_NE(ValueName(a), ValueName(b));
}

TEST(NamesTest, PointsAreNamedByWhatVaries) {
  EXPECT_EQ(PointName({}), "base");
  EXPECT_EQ(PointName({{"staleness.bound", "\"unbounded\""}, {"optimizer.lr", "0.001"}}),
            "bound=unbounded,lr=0.001");
  std::vector<std::pair<std::string, std::string>> many;
  for (int i = 0; i < 20; ++i) many.emplace_back("env.key" + std::to_string(i), "12345678");
  EXPECT_EQ(PointName(many).size(), 160u);
}

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
