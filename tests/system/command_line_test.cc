// The commands that do not train, and how mistakes in a command line are answered.
#include "tests/system/run_fixture.h"

namespace starling {
namespace {

using testing::ContainsRegex;
using testing::HasSubstr;
using testing::MatchesRegex;

class CommandLineTest : public RunTest {
 protected:
  const std::string traces_ = std::string(STARLING_SOURCE_DIR) + "/tests/data/traces";

  int Run(const std::string& program, const Strings& words) {
    process_ = Start(program, words);
    return WaitFor(*process_);
  }
  std::string out() const { return process_->out(); }
  std::string err() const { return process_->err(); }

  std::unique_ptr<Process> process_;
};

TEST_F(CommandLineTest, EveryRecordedTraceConforms) {
  int traces = 0;
  for (const auto& entry : std::filesystem::directory_iterator(traces_)) {
    EXPECT_EQ(Run("starling", {"conform", entry.path()}), 0) << err();
    EXPECT_THAT(out(), MatchesRegex("conforms: [1-9][0-9]* steps\n")) << entry.path();
    ++traces;
  }
  EXPECT_GE(traces, 1);
}

// Its last line is a command; a shell must read it as it was meant, and so must our own children.
TEST_F(CommandLineTest, TheNextCommandOfARunWithAnOddNameCanBePasted) {
  const std::string odd = "-h it's a $(touch bad) run";  // -h is an option of every program
  ASSERT_EQ(
      Run("starling", {"train", config_, "--run-dir=" + odd, "--set", "run.steps=320", "--set",
                       "actors.count=1", "--set", "wire.runtime_dir=" + runtime().string()}),
      0)
      << err();
  const std::string said = err(), mark = "  next        ";
  const std::size_t at = said.find(mark);
  ASSERT_NE(at, std::string::npos) << said;
  std::ofstream(dir_ / "next.sh") << said.substr(at + mark.size());
  Process next({.program = "/bin/sh",
                .arguments = {"next.sh"},
                .directory = dir_.path(),
                .output = dir_ / "next"});
  EXPECT_EQ(WaitFor(next), 0) << next.err();
  EXPECT_THAT(next.out(), HasSubstr("catch: mean return"));
  EXPECT_FALSE(std::filesystem::exists(dir_ / "bad"));
}

TEST_F(CommandLineTest, ATraceThatCannotBeReadIsNamed) {
  std::ofstream(dir_ / "noise.jsonl.gz") << "this is no trace";
  EXPECT_NE(Run("starling", {"conform", "noise.jsonl.gz"}), 0);
  EXPECT_THAT(err() + out(), HasSubstr("noise.jsonl.gz"));
}

TEST_F(CommandLineTest, EveryProgramNamesItsBuild) {
  for (const char* program : {"starling", "starling-learner", "starling-actor"}) {
    EXPECT_EQ(Run(program, {"--version"}), 0);
    EXPECT_THAT(out(), ContainsRegex(std::string("^") + program + " [0-9]+\\.[0-9]+\\.[0-9]+ \\("));
    EXPECT_EQ(Run(program, {"--help"}), 0);
    EXPECT_THAT(out(), HasSubstr("--version"));
  }
}

// Those of starling are in tests/programs/cli_test.cc.
TEST_F(CommandLineTest, WithoutArgumentsItSaysWhatIsMissing) {
  EXPECT_EQ(Run("starling-learner", {}), 2);
  EXPECT_THAT(err(), HasSubstr("--run-dir"));
  EXPECT_EQ(Run("starling-actor", {}), 2);
  EXPECT_THAT(err(), HasSubstr("--run-dir, --connect or --connect-file"));
}

TEST_F(CommandLineTest, WhatCannotBeEvaluatedIsNamed) {
  EXPECT_EQ(Run("starling", {"eval", "nowhere"}), 2);
  EXPECT_THAT(err(), HasSubstr("nowhere"));
  std::ofstream(dir_ / "noise.safetensors") << "this is no checkpoint, but it is long enough";
  EXPECT_EQ(Run("starling", {"eval", "noise.safetensors"}), 2);
  EXPECT_THAT(err(), HasSubstr("noise.safetensors"));
  EXPECT_EQ(out(), "");
}

TEST_F(CommandLineTest, AnActorDoesNotCallAnotherHost) {
  EXPECT_EQ(Run("starling-actor", {"--connect", "tcp://127.0.0.1:0"}), 2);
  EXPECT_THAT(err(), HasSubstr("that is any port"));
  EXPECT_EQ(Run("starling-actor",
                {"--connect", "tcp://127.0.0.1:1", "--secret", "", "--learner-key", "x"}),
            2);
  EXPECT_THAT(err(), HasSubstr("--secret: it is empty"));
  EXPECT_EQ(Run("starling-actor", {"--connect", "tcp://10.1.2.3:1"}), 2);
  EXPECT_THAT(err(), HasSubstr("CURVE"));
}

}  // namespace
}  // namespace starling
