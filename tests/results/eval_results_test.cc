#include "results/eval_results.h"

#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "tests/learner/storage/checkpoint_fixture.h"
#include "tests/support/fleet_fixtures.h"

namespace starling::results {
namespace {

using learner::MakeCheckpoint;
using testing::ElementsAre;
using testing::HasSubstr;

EvalLine Line(std::uint64_t version, double mean, std::uint32_t term = 1) {
  return {.steps = 160 * version,
          .term = term,
          .version = version,
          .episodes = 100,
          .mean_return = mean,
          .std = 0.5,
          .seconds = 1.25};
}

class EvalResultsTest : public testing::Test {
 protected:
  EvalResultsTest() { std::filesystem::create_directory(dir_ / "checkpoints"); }

  static void Add(EvalResults& results, const EvalLine& line) {
    results.Add(line, MakeCheckpoint(line.term, line.version));
  }
  // Something is where the best goes, as if the disk refused it.
  void RefuseTheBest() { std::filesystem::create_directories(BestPath(dir_.path()) / "x"); }
  void AllowTheBest() { std::filesystem::remove_all(BestPath(dir_.path())); }
  std::uint64_t BestVersion() { return learner::ReadCheckpoint(BestPath(dir_.path())).version; }

  TempDir dir_;
};

TEST_F(EvalResultsTest, ALineEach) {
  EvalResults results(dir_.path());
  Add(results, Line(7, 1.5));
  Add(results, Line(9, -0.25, 2));
  EXPECT_EQ(dir_.Read("eval.jsonl"),
            R"({"steps":1120,"term":1,"version":7,"episodes":100,"mean_return":1.5,"std":0.5,)"
            R"("seconds":1.25})"
            "\n"
            R"({"steps":1440,"term":2,"version":9,"episodes":100,"mean_return":-0.25,"std":0.5,)"
            R"("seconds":1.25})"
            "\n");
  EXPECT_THAT(ReadEvalLines(dir_.path()), ElementsAre(Line(7, 1.5), Line(9, -0.25, 2)));
}

TEST_F(EvalResultsTest, TheBestIsKeptAndALaterOneAsGoodDoesNotReplaceIt) {
  EvalResults results(dir_.path());
  Add(results, Line(1, -1));
  EXPECT_EQ(BestVersion(), 1u) << "of one, it is the best";
  Add(results, Line(2, 3));
  Add(results, Line(3, 2.5));
  Add(results, Line(4, 3));
  EXPECT_EQ(BestVersion(), 2u);
  EXPECT_EQ(results.standing().best, Line(2, 3));
  EXPECT_EQ(results.standing().last, Line(4, 3));
  const EvalStanding read = ReadEvalStanding(dir_.path());
  EXPECT_EQ(read.best, Line(2, 3));
  EXPECT_EQ(read.last, Line(4, 3));
}

TEST_F(EvalResultsTest, GoesOnWhereAKilledEvaluatorEnded) {
  {
    EvalResults results(dir_.path());
    Add(results, Line(1, 3));
    Add(results, Line(2, 1));
  }
  const std::string torn = dir_.Read("eval.jsonl") + R"({"steps":5,"te)";
  dir_.Write("eval.jsonl", torn);
  const auto left = dir_.Write("checkpoints/best.safetensors.4711.0.tmp", "half");
  EvalResults results(dir_.path());
  EXPECT_FALSE(std::filesystem::exists(left));
  EXPECT_EQ(results.standing().best, Line(1, 3));
  EXPECT_EQ(results.standing().last, Line(2, 1));
  Add(results, Line(3, 2));
  EXPECT_EQ(BestVersion(), 1u);
  EXPECT_THAT(ReadEvalLines(dir_.path()), ElementsAre(Line(1, 3), Line(2, 1), Line(3, 2)));
}

TEST_F(EvalResultsTest, ABestThatCouldNotBeSavedIsTriedAgain) {
  RefuseTheBest();
  EvalResults results(dir_.path());
  testing::internal::CaptureStderr();
  Add(results, Line(1, 3));
  EXPECT_THAT(testing::internal::GetCapturedStderr(),
              testing::AllOf(HasSubstr("best.safetensors"), HasSubstr("tried again")));
  EXPECT_EQ(results.standing().best, std::nullopt);
  EXPECT_EQ(ReadEvalStanding(dir_.path()).best, std::nullopt);
  EXPECT_EQ(ReadEvalStanding(dir_.path()).last, Line(1, 3));
  AllowTheBest();
  Add(results, Line(2, 2));
  EXPECT_EQ(BestVersion(), 1u);
  EXPECT_EQ(results.standing().best, Line(1, 3));
}

TEST_F(EvalResultsTest, WhatIsBetterTakesThePlaceOfOneThatCouldNotBeSaved) {
  RefuseTheBest();
  EvalResults results(dir_.path());
  Add(results, Line(1, 3));
  Add(results, Line(2, 4));
  AllowTheBest();
  Add(results, Line(3, 0));
  EXPECT_EQ(BestVersion(), 2u);
}

// Its weights are gone with their evaluator: those that are there are the best.
TEST_F(EvalResultsTest, ALineWithoutItsWeightsIsNotTheBest) {
  {
    EvalResults results(dir_.path());
    Add(results, Line(1, 1));
    std::filesystem::rename(BestPath(dir_.path()), dir_ / "kept");
    RefuseTheBest();
    Add(results, Line(2, 9));
    AllowTheBest();
    std::filesystem::rename(dir_ / "kept", BestPath(dir_.path()));
  }
  EvalResults results(dir_.path());
  EXPECT_EQ(results.standing().best, Line(1, 1));
  Add(results, Line(3, 2));
  EXPECT_EQ(BestVersion(), 3u);
}

TEST_F(EvalResultsTest, LinesThatDoNotFitAreSaidAndTrainingIsNotHeldUp) {
  if (!std::filesystem::exists("/dev/full")) GTEST_SKIP() << "no /dev/full here";
  std::filesystem::create_symlink("/dev/full", dir_ / "eval.jsonl");
  EvalResults results(dir_.path());
  testing::internal::CaptureStderr();
  Add(results, Line(1, 1));
  Add(results, Line(2, 2));
  EXPECT_THAT(testing::internal::GetCapturedStderr(), HasSubstr("2 line(s) could not be written"));
  EXPECT_EQ(BestVersion(), 2u);
}

TEST_F(EvalResultsTest, NothingYet) {
  EXPECT_EQ(ReadEvalStanding(dir_.path()).best, std::nullopt);
  EXPECT_EQ(ReadEvalStanding(dir_ / "absent").last, std::nullopt);
  RemoveUnfinishedBest(dir_ / "absent");
}

}  // namespace
}  // namespace starling::results
