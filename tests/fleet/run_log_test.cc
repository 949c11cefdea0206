#include "fleet/run_log.h"

#include <gmock/gmock.h>

#include "tests/support/error_of.h"
#include "tests/support/fleet_fixtures.h"

namespace starling::fleet {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::MatchesRegex;

class RunLogTest : public testing::Test {
 protected:
  RunLogTest()
      : fd_(::open((dir_.path() / "screen").c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0644)),
        console_(fd_, {}) {}
  ~RunLogTest() override { ::close(fd_); }
  TempDir dir_;
  int fd_;
  monitor::Console console_;
};

TEST_F(RunLogTest, OwnLinesLookLikeTheOthers) {
  RunLog log(dir_.path(), console_);
  log.Log(LogLevel::kInfo, "quiet");
  log.Log(LogLevel::kWarn, "loud");
  const auto lines = dir_.Lines("log");
  ASSERT_EQ(lines.size(), 2u);
  EXPECT_EQ(LevelOf(lines[0]), LogLevel::kInfo);
  EXPECT_THAT(lines[0], MatchesRegex(".{12} info  fleet: quiet"));
  EXPECT_EQ(dir_.Lines("screen"), std::vector<std::string>{lines[1]});
}

TEST_F(RunLogTest, SameMessageOfManyActorsIsShownOnce) {
  RunLog log(dir_.path(), console_);
  for (const char* line : {"no such rom", "no such rom", "other", "no such rom"}) {
    log.FromChild(line);
  }
  EXPECT_THAT(dir_.Lines("log"), testing::SizeIs(4));
  EXPECT_THAT(dir_.Lines("screen"), ElementsAre("no such rom", "other", "no such rom"));
}

TEST_F(RunLogTest, AppendsToWhatIsThere) {
  dir_.Write("log", "earlier\n");
  { RunLog(dir_.path(), console_).FromChild("01:02:03.456 info  x: later"); }
  EXPECT_THAT(dir_.Lines("log"), ElementsAre("earlier", "01:02:03.456 info  x: later"));
}

TEST_F(RunLogTest, OneSupervisorPerDirectory) {
  {
    RunLog first(dir_.path(), console_);
    EXPECT_THAT(ErrorOf([&] { RunLog second(dir_.path(), console_); }),
                HasSubstr("another starling train is running in " + dir_.path().string()));
  }
  RunLog third(dir_.path(), console_);  // the first is gone
}

TEST_F(RunLogTest, DirectoryThatIsNotThereIsTheOperatorsMistake) {
  EXPECT_THAT(ErrorOf([&] { RunLog log(dir_.path() / "absent", console_); }),
              HasSubstr("absent/log cannot be written: No such file"));
}

TEST_F(RunLogTest, FullDiskIsSaidOnceAndTheRunGoesOn) {
  std::filesystem::create_symlink("/dev/full", dir_.path() / "log");
  RunLog log(dir_.path(), console_);
  log.FromChild("01:02:03.456 info  x: one");
  log.FromChild("01:02:03.456 info  x: two");
  ASSERT_THAT(dir_.Lines("screen"), testing::SizeIs(1));
  EXPECT_THAT(dir_.Read("screen"), HasSubstr("cannot be written (No space left on device)"));
}

}  // namespace
}  // namespace starling::fleet
