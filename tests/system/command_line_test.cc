// The commands that do not train, and how mistakes in a command line are answered.
#include "tests/system/run_fixture.h"

namespace starling {
namespace {

using testing::ContainsRegex;
using testing::HasSubstr;
using testing::MatchesRegex;
using testing::StartsWith;

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

TEST_F(CommandLineTest, ATraceThatCannotBeReadIsNamed) {
  EXPECT_EQ(Run("starling", {"conform", "nowhere.jsonl.gz"}), 2);
  EXPECT_THAT(err(), HasSubstr("nowhere.jsonl.gz"));
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

TEST_F(CommandLineTest, EnvsListsTheGames) {
  EXPECT_EQ(Run("starling", {"envs"}), 0);
  EXPECT_THAT(out(), HasSubstr("\ncatch "));
  EXPECT_THAT(out(), HasSubstr("\nminatar/breakout "));
}

TEST_F(CommandLineTest, AnUnknownCommandGetsAHint) {
  EXPECT_EQ(Run("starling", {"trian"}), 2);
  EXPECT_THAT(err(),
              StartsWith("starling: there is no command \"trian\"; did you mean \"train\"?"));
  EXPECT_EQ(out(), "");
}

TEST_F(CommandLineTest, AnUnknownOptionGetsAHint) {
  EXPECT_EQ(Run("starling", {"train", config_, "--rundir", "x"}), 2);
  EXPECT_THAT(err(), HasSubstr("did you mean \"--run-dir\"?"));
  EXPECT_FALSE(std::filesystem::exists(dir_ / "runs"));
}

TEST_F(CommandLineTest, WithoutArgumentsItSaysWhatIsMissing) {
  EXPECT_EQ(Run("starling", {}), 2);
  EXPECT_EQ(Run("starling", {"train"}), 2);
  EXPECT_THAT(err(), HasSubstr("CONFIG"));
  EXPECT_EQ(Run("starling-learner", {}), 2);
  EXPECT_THAT(err(), HasSubstr("--run-dir"));
  EXPECT_EQ(Run("starling-actor", {}), 2);
  EXPECT_THAT(err(), HasSubstr("--run-dir, --connect or --connect-file"));
}

TEST_F(CommandLineTest, ResumeAndAConfigurationExcludeEachOther) {
  EXPECT_EQ(Run("starling", {"train", config_, "--resume", "x"}), 2);
  EXPECT_THAT(err(), HasSubstr("--resume"));
}

TEST_F(CommandLineTest, WhatCannotBeEvaluatedIsNamed) {
  EXPECT_EQ(Run("starling", {"eval", "nowhere"}), 2);
  EXPECT_THAT(err(), HasSubstr("nowhere"));
  std::ofstream(dir_ / "noise.safetensors") << "this is no checkpoint, but it is long enough";
  EXPECT_EQ(Run("starling", {"eval", "noise.safetensors"}), 2);
  EXPECT_THAT(err(), HasSubstr("noise.safetensors"));
  EXPECT_EQ(out(), "");
  EXPECT_EQ(Run("starling", {"eval", "nowhere", "--episodes", "0"}), 2);
  EXPECT_THAT(err(), HasSubstr("episodes"));
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
