#include "tools/sweep/sweep.h"

#include <gmock/gmock.h>

#include "learner/storage/checkpoint.h"
#include "results/eval_results.h"
#include "results/run_dir.h"
#include "tests/results/first_checkpoint.h"
#include "tests/support/error_of.h"
#include "tests/support/temp_dir.h"

namespace starling::sweep {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

TEST(WhatIsLeftTest, ByWhatIsThere) {
  EXPECT_EQ(WhatIsLeft({}), Todo::kBegin);
  EXPECT_EQ(WhatIsLeft({.there = true, .resumable = true}), Todo::kResume);
  EXPECT_EQ(WhatIsLeft({.there = true}), Todo::kRestart);  // no good checkpoint
  EXPECT_EQ(WhatIsLeft({.there = true, .finished = true}), Todo::kEvaluate);
  EXPECT_EQ(WhatIsLeft({.there = true, .finished = true, .evaluated = true}), Todo::kNothing);
  // No evaluation is wanted, but it is not finished either.
  EXPECT_EQ(WhatIsLeft({.there = true, .resumable = true, .evaluated = true}), Todo::kResume);
}

class ReadRunFactsTest : public testing::Test {
 protected:
  ReadRunFactsTest() {
    config_ =
        ParseConfig("[run]\nsteps = 100\n[env]\nname = \"catch\"\n[net]\nkind = \"mlp\"\n", "x");
  }
  // Of a run whose last checkpoint came at `saved`.
  void WriteSummary(int steps, std::uint64_t saved = 0) const {
    const std::string last = saved == 0 ? "last" : WriteCheckpoint(saved).filename().string();
    dir_.Write("run/summary.json",
               "{\"steps\": " + std::to_string(steps) +
                   ", \"seconds\": 2.5, \"steps_per_second\": 40.0, \"mean_return\": -1.0, "
                   "\"episodes\": 100, "
                   "\"staleness\": {\"max\": 3, \"mean\": 0.5}, \"final_checkpoint\": "
                   "\"checkpoints/" +
                   last + "\"}");
  }
  std::filesystem::path WriteCheckpoint(std::uint64_t steps) const {
    return learner::WriteCheckpoint(run_ / "checkpoints",
                                    results::FirstCheckpoint(config_, steps, steps));
  }
  TempDir dir_;
  const std::filesystem::path run_ = dir_ / "run";
  Config config_;
};

TEST_F(ReadRunFactsTest, NoDirectoryOrAnEmptyOne) {
  EXPECT_EQ(ReadRunFacts(run_, {100}, {10}), RunFacts{});
  std::filesystem::create_directory(run_);
  EXPECT_EQ(ReadRunFacts(run_, {100}, {10}), RunFacts{});
  dir_.Write("run/.probe.17.0.tmp", "");
  EXPECT_EQ(ReadRunFacts(run_, {100}, {10}), RunFacts{}) << "of a start that was killed";
}

TEST_F(ReadRunFactsTest, FinishedIsAllStepsAndWeightsToEvaluate) {
  WriteSummary(100);
  EXPECT_FALSE(ReadRunFacts(run_, {100}, {10}).finished) << "its checkpoint is gone";
  EXPECT_EQ(ReadRunFacts(run_, {100}, {0}),
            (RunFacts{.there = true, .finished = true, .evaluated = true}))
      << "nobody needs it";
  dir_.Write("run/checkpoints/last", "");
  EXPECT_FALSE(ReadRunFacts(run_, {100}, {10}).finished) << "it is damaged";
  WriteSummary(100, 100);
  EXPECT_EQ(ReadRunFacts(run_, {100}, {10}), (RunFacts{.there = true, .finished = true}));
  EXPECT_FALSE(ReadRunFacts(run_, {101}, {10}).finished);
}

TEST_F(ReadRunFactsTest, ARunThatEndedByItsScoreIsFinished) {
  WriteSummary(60, 60);
  EXPECT_EQ(ReadRunFacts(run_, {.steps = 100, .until_return = -1}, {10}),
            (RunFacts{.there = true, .finished = true}));
  EXPECT_FALSE(ReadRunFacts(run_, {.steps = 100, .until_return = -0.5}, {10}).finished);
  WriteSummary(60, 50);
  EXPECT_FALSE(ReadRunFacts(run_, {.steps = 100, .until_return = -1}, {10}).finished)
      << "its last weights could not be saved";
}

// After a full disk: all steps were taken, but the last weights could not be saved.
TEST_F(ReadRunFactsTest, WithOldWeightsItIsNotFinished) {
  dir_.Write("run/config.toml", ToToml(config_));
  WriteSummary(100, 50);
  EXPECT_EQ(ReadRunFacts(run_, {100}, {10}), (RunFacts{.there = true, .resumable = true}));
}

TEST_F(ReadRunFactsTest, EvaluatedIsThatCheckpointWithSoManyEpisodes) {
  WriteSummary(100);
  EXPECT_FALSE(ReadRunFacts(run_, {100}, {10}).evaluated);
  results::WriteFinalEval(
      run_, {.checkpoint = "checkpoints/last", .played = {10}, .mean_return = 1, .std = 0});
  EXPECT_EQ(ReadRunFacts(run_, {100}, {10}),
            (RunFacts{.there = true, .finished = true, .evaluated = true}))
      << "whatever has become of the checkpoint";
  EXPECT_FALSE(ReadRunFacts(run_, {100}, {20}).evaluated);
  EXPECT_FALSE(ReadRunFacts(run_, {100}, {.episodes = 10, .greedy = true}).evaluated);
  results::WriteFinalEval(
      run_, {.checkpoint = "checkpoints/old", .played = {10}, .mean_return = 1, .std = 0});
  EXPECT_FALSE(ReadRunFacts(run_, {100}, {10}).evaluated);
}

TEST_F(ReadRunFactsTest, ResumableIsAConfigurationAndAGoodCheckpoint) {
  dir_.Write("run/config.toml", ToToml(config_));
  EXPECT_FALSE(ReadRunFacts(run_, {100}, {0}).resumable);
  WriteCheckpoint(50);
  EXPECT_TRUE(ReadRunFacts(run_, {100}, {0}).resumable);
  const auto checkpoint = learner::ListCheckpoints(run_ / "checkpoints").front();
  std::filesystem::resize_file(checkpoint, 100);
  EXPECT_FALSE(ReadRunFacts(run_, {100}, {0}).resumable) << "damaged";
}

class OursTest : public ReadRunFactsTest {
 protected:
  std::string Refusal(bool simulate = false) const {
    return ErrorOf([&] { CheckItIsOurs(run_, config_, simulate); });
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
  EXPECT_THAT(Refusal(),
              HasSubstr("was trained with another configuration: loss.gamma is 0.5 "
                        "there and 0.99 here; write what is there under [set] or [[where]]"));
}

TEST_F(OursTest, VirtualTimeAndRealTimeAreNotMixed) {
  dir_.Write("run/config.toml", ToToml(config_));
  EXPECT_THAT(Refusal(/*simulate=*/true), HasSubstr("was trained, and here runs are simulated"));
  results::MarkSimulated(run_, "simulate");
  EXPECT_EQ(Refusal(/*simulate=*/true), "");
  EXPECT_THAT(Refusal(), HasSubstr("was simulated, and here runs are trained"));
}

TEST_F(OursTest, ARunThatNobodyKnowsTheConfigurationOf) {
  dir_.Write("run/log", "");
  WriteSummary(100);
  EXPECT_THAT(Refusal(), HasSubstr(run_.string() + " has lost its config.toml; move it away, or"));
}

TEST(FinalEvalTest, WhatIsWrittenIsRead) {
  const TempDir dir;
  const results::FinalEval eval{
      .checkpoint = "checkpoints/a", .played = {20, true}, .mean_return = 1.5, .std = 0.25};
  EXPECT_FALSE(results::ReadFinalEval(dir.path()));
  results::WriteFinalEval(dir.path(), eval);
  EXPECT_EQ(results::ReadFinalEval(dir.path()), eval);
  dir.Write("final_eval.json", "{\"mean_return\": 1.5");
  EXPECT_FALSE(results::ReadFinalEval(dir.path()));
}

TEST(FinalEvalTest, OfALineOfOutput) {
  const auto eval = results::ParseEvalOutput(R"({"mean_return":2.5,"std":0.5,"episodes":10})", "a");
  ASSERT_TRUE(eval);
  EXPECT_EQ(*eval, (results::FinalEval{
                       .checkpoint = "a", .played = {10}, .mean_return = 2.5, .std = 0.5}));
  const char* greedy = R"({"mean_return":2.5,"std":0.5,"episodes":10,"greedy":true})";
  EXPECT_EQ(results::ParseEvalOutput(greedy, "a")->played, (results::EvalPlan{10, true}));
  for (const char* line : {"12:34:56.789 info  playing x", "{\"episodes\": 10}", "3",
                           R"({"mean_return":2.5,"std":0.5,"episodes":10,"greedy":"no"})",
                           R"({"mean_return":1e300,"std":0.5,"episodes":10})"}) {
    EXPECT_FALSE(results::ParseEvalOutput(line, "a")) << line;
  }
}

TEST(FinalEvalTest, IsKeptFromWhatAnEvaluationPrinted) {
  const TempDir dir;
  const std::string result = R"({"mean_return":2.5,"std":0.5,"episodes":10})";
  EXPECT_EQ(results::KeepEval(dir.path(), "a", std::vector<std::string>{"playing", result}), "");
  EXPECT_EQ(results::ReadFinalEval(dir.path())->checkpoint, "a");
  EXPECT_EQ(results::KeepEval(dir.path(), "a", std::vector<std::string>{"playing"}),
            "it printed no result");
  EXPECT_THAT(results::KeepEval(dir / "absent", "a", std::vector<std::string>{result}),
              HasSubstr("cannot write"));
}

}  // namespace
}  // namespace starling::sweep
