// Runs that train on users' own environments (docs/environments-plugin.md).
#include "tests/system/run_fixture.h"

namespace starling {
namespace {

using testing::AllOf;
using testing::AnyOf;
using testing::HasSubstr;

const std::filesystem::path kBuild = std::filesystem::path(STARLING_BIN).parent_path();

std::string Example() {
  return "env.name=plugin:" + (kBuild / "examples/plugin/glider.so").string();
}
std::string Wrong(const std::string& name) {
  return "env.name=plugin:" + (kBuild / "tests/plugins" / (name + ".so")).string();
}

class PluginTest : public RunTest {};

TEST_F(PluginTest, TheExampleTrains) {
  ExpectDone(Train({Example(), "run.steps=40000", "actors.count=2"}), 40'000);
  EXPECT_GT(Summary()["episodes"], 100);
}

// A plug-in whose every other episode kills its process: the run goes on with the other half.
TEST_F(PluginTest, ACrashInAProcessOfItsOwnCostsAnEpisode) {
  const int status = Train({Wrong("wrong_abort"), "env.isolate=true", "env.per_process=4",
                            "run.steps=3200", "actors.count=1"});
  ExpectDone(status, 3200);
  EXPECT_EQ(Summary()["actors"], json({{"started", 1}, {"restarted", 0}}));
  EXPECT_GT(Summary()["episodes"], 0);
  EXPECT_TRUE(LogHas("; it is replaced"));
  EXPECT_GT(Summary()["envs"]["replaced"], 0);
  EXPECT_GT(Summary()["envs"]["episodes_cut"], 0);
  EXPECT_THAT(said_, HasSubstr("processes of envs, "));
}

TEST_F(PluginTest, AMistakeWhilePlayingEndsTheRunWithItsSentence) {
  const int status = Train({Wrong("wrong_seen_nan"), "run.steps=40000", "actors.count=1"});
  EXPECT_NE(status, 0);
  EXPECT_THAT(said_, AllOf(HasSubstr("(counter), env "), HasSubstr(": observed value 4 is nan"),
                           HasSubstr("set env.isolate = true")));
  ExpectNothingLeft();
}

// Its status 0 would pass for that of an actor whose run is over.
TEST_F(PluginTest, AnExitWhilePlayingEndsTheRunWithItsSentence) {
  EXPECT_EQ(Train({Wrong("wrong_exit_reset"), "run.steps=40000", "actors.count=2"}), 2);
  EXPECT_THAT(said_, HasSubstr("its reset called exit: a plug-in must return instead"));
  ExpectNothingLeft();
}

// Loaded by the supervisor itself it would be the supervisor that dies.
TEST_F(PluginTest, OneThatDiesWhenItIsLoadedIsFoundBeforeAnythingStarts) {
  EXPECT_EQ(Train({Wrong("segfault_at_load"), "env.isolate=true"}), 2);
  EXPECT_THAT(said_, AllOf(HasSubstr(", tried before anything starts, "),
                           AnyOf(HasSubstr("SIGSEGV"), HasSubstr("exit status"))));
  EXPECT_FALSE(std::filesystem::exists(run()));
}

}  // namespace
}  // namespace starling
