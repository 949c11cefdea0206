// The screen of `starling train`, in a terminal made by the test.
#include <regex>

#include "core/error.h"
#include "tests/support/fake_terminal.h"
#include "tests/support/pty.h"
#include "tests/system/run_fixture.h"
#include "tests/tools/play/pty.h"

namespace starling {
namespace {

using play::ProgramInTerminal;
using testing::HasSubstr;
using testing::Not;

class ScreenTest : public RunTest {
 protected:
  void SetUp() override {
    if (!HasPty()) GTEST_SKIP() << kNoPty;
  }

  std::unique_ptr<ProgramInTerminal> Watch(std::uint64_t steps, int columns = 80, int rows = 24,
                                           const Strings& more = {},
                                           const Strings& environment = {}) {
    Strings words = TrainWords({Steps(steps), "actors.count=2"});
    words.insert(words.begin(), std::string(STARLING_BIN) + "/starling");
    words.insert(words.end(), more.begin(), more.end());
    return std::make_unique<ProgramInTerminal>(words, columns, rows, environment);
  }

  // The modes, the cursor and the screen are as they were, whatever happened.
  static void ExpectSane(const ProgramInTerminal& program) {
    EXPECT_TRUE(program.IsAsBefore());
    EXPECT_THAT(program.shown(), Not(HasSubstr("\033[?")));
  }
  // Likewise; returns all the text that it has shown.
  static std::string ExpectSanePage(const ProgramInTerminal& program) {
    ExpectSane(program);
    FakeTerminal terminal(80, 24);
    terminal.Feed(program.shown());
    EXPECT_TRUE(terminal.plain());
    EXPECT_EQ(terminal.cursor_column(), 0);
    return terminal.All();
  }
};

TEST_F(ScreenTest, ShowsItsPartsAndStaysAboveTheSummary) {
  auto train = Watch(kSeconds);
  for (const char* part : {"catch", "return", "steps per second", "staleness", "restarts",
                           "bottleneck", "alive", "of the time"}) {
    EXPECT_TRUE(train->Shows(part)) << part;
  }
  EXPECT_EQ(train->Wait(), kExitDone);
  const std::string all = ExpectSanePage(*train);
  for (const char* once : {"\ncatch  seed 1", "\nreturn ", "steps per second", "\nstaleness ",
                           "actor state", "\nbottleneck ", "done in "}) {
    EXPECT_EQ(CountIn(all, once), 1u) << once << "\n" << all;
  }
  EXPECT_LT(all.find("actor state"), all.find("done in ")) << "the summary stands below";
  EXPECT_EQ(Summary()["actors"]["restarted"], 0);
  ExpectNothingLeft();
}

TEST_F(ScreenTest, CtrlCLeavesASaneTerminal) {
  auto train = Watch(kEndless);
  ASSERT_TRUE(train->Shows("of the time"));
  train->Type("\003");
  EXPECT_EQ(train->Wait(), kExitInterrupted);
  const std::string all = ExpectSanePage(*train);
  EXPECT_EQ(CountIn(all, "actor state"), 1u) << all;
  EXPECT_THAT(all, HasSubstr("train --resume"));
  ExpectNothingLeft();
}

TEST_F(ScreenTest, KilledItLeavesASaneTerminal) {
  auto train = Watch(kEndless);
  ASSERT_TRUE(train->Shows("of the time"));
  train->Signal(SIGKILL);
  EXPECT_EQ(train->Wait(), 128 + SIGKILL);
  ExpectSane(*train);
  FakeTerminal terminal(80, 24);
  terminal.Feed(train->shown());
  EXPECT_TRUE(terminal.plain());
  EXPECT_TRUE(Eventually([&] { return ProcessesNaming(dir_.path().string()).empty(); }));
}

TEST_F(ScreenTest, AKilledActorIsSeenInItsRow) {
  auto train = Watch(kEndless, 80, 24, {}, {"NO_COLOR=1"});
  ASSERT_TRUE(train->Shows("of the time"));
  ASSERT_TRUE(Eventually([&] { return ActorPid(1) != 0; }));
  kill(ActorPid(1), SIGKILL);
  const std::regex row(" 1 alive +[0-9]+ +[0-9]+ +[0-9.kM]+ +1\033");
  EXPECT_TRUE(train->ShowsSomethingLike(row));
  train->Type("\003");
  EXPECT_EQ(train->Wait(), kExitInterrupted);
  EXPECT_EQ(Summary()["actors"]["restarted"], 1);
  ExpectNothingLeft();
}

TEST_F(ScreenTest, FollowsTheSizeOfTheTerminal) {
  auto train = Watch(kEndless, 80, 24);
  ASSERT_TRUE(train->Shows("restarts"));
  train->Resize(120, 40);
  EXPECT_TRUE(train->Shows("waits")) << "only a wide table has it";
  train->Resize(50, 10);
  // The cursor moves up to the first old line, draws the bar, and clears all below it.
  EXPECT_TRUE(train->ShowsSomethingLike(std::regex("\r\033\\[[0-9]+A[^\n]*%[^\n]*\033\\[J")));
  train->Resize(80, 24);
  EXPECT_TRUE(train->Shows("restarts"));
  train->Type("\003");
  EXPECT_EQ(train->Wait(), kExitInterrupted);
  ExpectSane(*train);
}

TEST_F(ScreenTest, OtherWaysToSeeTheProgress) {
  struct Way {
    Strings options, environment;
    bool bar;
  };
  int number = 0;
  for (const Way& way :
       {Way{{"--progress", "bar"}, {}, true}, Way{{"--progress", "lines"}, {}, false},
        Way{{"--progress", "none"}, {}, false}, Way{{}, {"TERM=dumb"}, false}}) {
    SCOPED_TRACE(testing::PrintToString(way.options) + testing::PrintToString(way.environment));
    auto train = Watch(16'000, 80, 24, way.options, way.environment);
    EXPECT_EQ(train->Wait(), kExitDone);
    ExpectSane(*train);
    EXPECT_THAT(train->shown(), Not(HasSubstr("steps per second")));
    EXPECT_THAT(train->shown(), HasSubstr("done in "));
    EXPECT_EQ(CountIn(train->shown(), "\033") > 0, way.bar);
    std::filesystem::rename(run(), dir_ / ("way" + std::to_string(++number)));
  }
}

}  // namespace
}  // namespace starling
