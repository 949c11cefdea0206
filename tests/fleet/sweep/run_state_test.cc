#include "fleet/sweep/run_state.h"

#include <gmock/gmock.h>

#include "core/error.h"
#include "fleet/blueprint.h"
#include "learner/checkpoint.h"
#include "learner/counters.h"
#include "tests/support/temp_dir.h"

namespace starling::fleet {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

TEST(WhatIsLeftTest, ByWhatIsThere) {
  EXPECT_EQ(WhatIsLeft({}), Todo::kBegin);
  EXPECT_EQ(WhatIsLeft({.there = true, .resumable = true}), Todo::kResume);
  EXPECT_EQ(WhatIsLeft({.there = true}), Todo::kBeginAnew);  // no good checkpoint
  EXPECT_EQ(WhatIsLeft({.there = true, .finished = true}), Todo::kEvaluate);
  EXPECT_EQ(WhatIsLeft({.there = true, .finished = true, .evaluated = true}), Todo::kNothing);
  // No evaluation is wanted, but it is not finished either.
  EXPECT_EQ(WhatIsLeft({.there = true, .resumable = true, .evaluated = true}), Todo::kResume);
}

class RunStateTest : public testing::Test {
 protected:
  RunStateTest() {
    config_ =
        ParseConfig("[run]\nsteps = 100\n[env]\nname = \"catch\"\n[net]\nkind = \"mlp\"\n", "x");
  }
  void WriteSummary(int steps) const {
    dir_.Write("run/summary.json",
               "{\"steps\": " + std::to_string(steps) +
                   ", \"seconds\": 2.5, \"steps_per_second\": 40.0, \"mean_return\": -1.0, "
                   "\"staleness\": {\"max\": 3, \"mean\": 0.5}, \"final_checkpoint\": "
                   "\"checkpoints/last\"}");
  }
  void WriteCheckpoint() const {
    const learner::NetBlueprint net = BlueprintOf(config_);
    learner::WriteCheckpoint(run_ / "checkpoints", {.term = 1,
                                                    .version = 7,
                                                    .steps = 50,
                                                    .layout = net.layout,
                                                    .weights = net.initial,
                                                    .slot_names = {"square_avg"},
                                                    .state = {net.initial},
                                                    .config = ToToml(config_),
                                                    .counters = learner::Counters{}.Save()});
  }
  TempDir dir_;
  const std::filesystem::path run_ = dir_ / "run";
  Config config_;
};

TEST_F(RunStateTest, NoDirectoryOrAnEmptyOne) {
  EXPECT_EQ(LookAt(run_, 100, 10), RunFacts{});
  std::filesystem::create_directory(run_);
  EXPECT_EQ(LookAt(run_, 100, 10), RunFacts{});
}

TEST_F(RunStateTest, FinishedIsAllStepsAndAFinalCheckpointThatIsThere) {
  WriteSummary(100);
  EXPECT_FALSE(LookAt(run_, 100, 0).finished) << "its checkpoint is gone";
  dir_.Write("run/checkpoints/last", "");
  EXPECT_EQ(LookAt(run_, 100, 0), (RunFacts{.there = true, .finished = true, .evaluated = true}));
  EXPECT_FALSE(LookAt(run_, 101, 0).finished);
}

TEST_F(RunStateTest, EvaluatedIsThatCheckpointWithSoManyEpisodes) {
  WriteSummary(100);
  dir_.Write("run/checkpoints/last", "");
  EXPECT_FALSE(LookAt(run_, 100, 10).evaluated);
  WriteFinalEval(run_,
                 {.checkpoint = "checkpoints/last", .episodes = 10, .mean_return = 1, .std = 0});
  EXPECT_TRUE(LookAt(run_, 100, 10).evaluated);
  EXPECT_FALSE(LookAt(run_, 100, 20).evaluated);
  WriteFinalEval(run_,
                 {.checkpoint = "checkpoints/old", .episodes = 10, .mean_return = 1, .std = 0});
  EXPECT_FALSE(LookAt(run_, 100, 10).evaluated);
}

TEST_F(RunStateTest, ResumableIsAConfigurationAndAGoodCheckpoint) {
  dir_.Write("run/config.toml", ToToml(config_));
  EXPECT_FALSE(LookAt(run_, 100, 0).resumable);
  WriteCheckpoint();
  EXPECT_TRUE(LookAt(run_, 100, 0).resumable);
  const auto checkpoint = learner::ListCheckpoints(run_ / "checkpoints").front();
  std::filesystem::resize_file(checkpoint, 100);
  EXPECT_FALSE(LookAt(run_, 100, 0).resumable) << "damaged";
}

TEST_F(RunStateTest, ADamagedSummaryIsNone) {
  dir_.Write("run/summary.json", "{\"steps\": 100");
  EXPECT_FALSE(ReadRunSummary(run_));
  dir_.Write("run/summary.json", "[]");
  EXPECT_FALSE(ReadRunSummary(run_));
  WriteSummary(70);
  const auto summary = ReadRunSummary(run_);
  ASSERT_TRUE(summary);
  EXPECT_EQ(summary->steps, 70u);
  EXPECT_EQ(summary->mean_return, -1.0);
  EXPECT_EQ(summary->staleness_max, 3u);
  EXPECT_EQ(summary->final_checkpoint, "checkpoints/last");
}

TEST_F(RunStateTest, DifferencesNameTheKeyAndBothValues) {
  Config other = config_;
  other.run.name = "another";
  other.run.dir = "elsewhere";
  EXPECT_EQ(Difference(other, config_), "");
  other.optimizer.lr = 0.5;
  other.staleness.bound = 4;
  EXPECT_EQ(Difference(other, config_),
            "optimizer.lr is 0.5 there and 0.003 here; staleness.bound is 4 there and "
            "\"unbounded\" here");
}

class OursTest : public RunStateTest {
 protected:
  std::string Refusal() const {
    try {
      CheckItIsOurs(run_, config_);
    } catch (const UserError& error) {
      return error.what();
    }
    return "";
  }
};

TEST_F(OursTest, ARunOfTheSameConfigurationOrNone) {
  EXPECT_EQ(Refusal(), "");
  std::filesystem::create_directory(run_);
  EXPECT_EQ(Refusal(), "");
  dir_.Write("run/log", "");  // it died before its configuration was written
  EXPECT_EQ(Refusal(), "");
  dir_.Write("run/config.toml", ToToml(config_));
  EXPECT_EQ(Refusal(), "");
}

TEST_F(OursTest, AnythingElseIsRefused) {
  dir_.Write("run/thesis.tex", "");
  EXPECT_THAT(Refusal(), AllOf(HasSubstr(run_.string() + " is in the way: it is no run"),
                               HasSubstr("give the sweep another dir")));
  dir_.Write("run/config.toml", "[run]\nstepps = 3\n");
  EXPECT_THAT(Refusal(), AllOf(HasSubstr("cannot be read"), HasSubstr("stepps"),
                               HasSubstr("give the sweep another dir")));
  Config other = config_;
  other.loss.gamma = 0.5;
  dir_.Write("run/config.toml", ToToml(other));
  EXPECT_THAT(Refusal(), HasSubstr("was trained with another configuration: loss.gamma is 0.5 "
                                   "there and 0.99 here; remove it"));
}

TEST(FinalEvalTest, WhatIsWrittenIsRead) {
  const TempDir dir;
  const FinalEval eval{
      .checkpoint = "checkpoints/a", .episodes = 20, .mean_return = 1.5, .std = 0.25};
  EXPECT_FALSE(ReadFinalEval(dir.path()));
  WriteFinalEval(dir.path(), eval);
  EXPECT_EQ(ReadFinalEval(dir.path()), eval);
  dir.Write("final_eval.json", "{\"mean_return\": 1.5");
  EXPECT_FALSE(ReadFinalEval(dir.path()));
}

TEST(FinalEvalTest, OfALineOfOutput) {
  const auto eval = ParseEvalOutput(R"({"mean_return":2.5,"std":0.5,"episodes":10})");
  ASSERT_TRUE(eval);
  EXPECT_EQ(*eval, (FinalEval{.checkpoint = "", .episodes = 10, .mean_return = 2.5, .std = 0.5}));
  EXPECT_FALSE(ParseEvalOutput("12:34:56.789 info  playing x"));
  EXPECT_FALSE(ParseEvalOutput("{\"episodes\": 10}"));
  EXPECT_FALSE(ParseEvalOutput("3"));
}

}  // namespace
}  // namespace starling::fleet
