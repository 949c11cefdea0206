// `starling replay --without-actor`: the run that it leaves, against runs written by hand.
#include "tools/replay/branch.h"

#include <fmt/format.h>
#include <gmock/gmock.h>

#include "core/file.h"
#include "learner/apply/applier.h"
#include "results/run_dir.h"
#include "results/run_record.h"
#include "results/summary.h"
#include "tests/support/error_of.h"
#include "tests/tools/replay/paired_run.h"

namespace starling::replay {
namespace {

using testing::HasSubstr;

class BranchTest : public testing::Test {
 protected:
  BranchTest() {
    run_.Train(6);
    learner::WriteCheckpoint(run_.checkpoints(), run_.CheckpointAt(6, run_.journal->position()));
  }
  int Branch(std::uint32_t slot, std::optional<std::uint64_t> after = {},
             std::optional<std::uint64_t> until = {}) {
    return BranchOf(run_, {.slot = slot, .after = after, .until = until});
  }
  struct Part {
    std::uint32_t slot = 1;
    std::optional<std::uint64_t> after{}, until{};
    std::string dir = "branch";
  };
  int BranchOf(const PairedRun& run, const Part& part) {
    ReplayOptions options;
    options.run_dir = run.dir.path();
    options.without_actor = part.slot;
    options.after = part.after;
    options.until = part.until;
    options.branch_dir = out_ / part.dir;
    return Run(options);
  }
  int Run(const ReplayOptions& options) { return RunCaptured(options, said_, errors_); }
  learner::Checkpoint AtEnd() const {
    return *learner::LastGood(out_ / "branch" / "checkpoints").checkpoint;
  }

  PairedRun run_;
  const TempDir out_;
  std::string said_, errors_;
};

TEST_F(BranchTest, IsARunThatCanBeReplayed) {
  ASSERT_EQ(Branch(1, 2), kExitDone);
  EXPECT_THAT(said_, HasSubstr("without actor 1 after version 2"));
  EXPECT_THAT(said_, HasSubstr("It is another run from there on, not what would have happened"));
  EXPECT_THAT(said_, HasSubstr("left out: 4 gradients"));
  EXPECT_EQ(AtEnd().version, 6u);
  EXPECT_EQ(AtEnd().steps, 80u);
  PairedRun expected;
  expected.Train(2);
  expected.Die(1);
  expected.steps = 40;
  expected.TrainAlone(4);
  EXPECT_EQ(AtEnd().weights, expected.Replay(6).state.weights);

  EXPECT_TRUE(results::IsSimulated(out_ / "branch"));
  const auto summary = results::ReadSummary(out_ / "branch");
  ASSERT_TRUE(summary);
  EXPECT_EQ(summary->training.steps, 80u);
  EXPECT_EQ(summary->training.gradients.applied, 8u);
  ReplayOptions again;
  again.run_dir = out_ / "branch";
  EXPECT_EQ(Run(again), kExitDone);
  EXPECT_THAT(said_, HasSubstr("bit for bit"));
}

TEST_F(BranchTest, BeginsAtTheNearestCut) {
  ASSERT_EQ(Branch(1, 4), kExitDone);
  const std::vector<float> from_zero = AtEnd().weights;
  std::filesystem::remove_all(out_ / "branch");
  PairedRun same;
  learner::WriteCheckpoint(run_.checkpoints(), same.CheckpointAt(3, same.Train(3)));
  for (const std::uint64_t after : {4u, 3u}) {
    ASSERT_EQ(Branch(1, after), kExitDone);
    EXPECT_TRUE(
        std::filesystem::exists(out_ / "branch" / "checkpoints" / learner::CheckpointName(1, 3)));
    EXPECT_EQ(AtEnd().weights == from_zero, after == 4);
    ReplayOptions again;
    again.run_dir = out_ / "branch";
    EXPECT_EQ(Run(again), kExitDone) << after;
    std::filesystem::remove_all(out_ / "branch");
  }
}

TEST_F(BranchTest, EndsWhereItIsTold) {
  ASSERT_EQ(Branch(0, 1, 3), kExitDone);
  EXPECT_EQ(AtEnd().version, 3u);
  EXPECT_EQ(AtEnd().steps, 40u);
}

TEST_F(BranchTest, AnActorWithoutGradientsIsRefusedBeforeAnythingIsWritten) {
  EXPECT_EQ(ErrorOf([&] { Branch(5, 2); }),
            "--without-actor 5: no update has a gradient of this actor that came after version 2");
  EXPECT_FALSE(std::filesystem::exists(out_ / "branch"));
  EXPECT_THAT(ErrorOf([&] { Branch(1, 6); }),
              HasSubstr("--after 6 and --until 6 leave no version"));
  EXPECT_THAT(ErrorOf([&] { Branch(1, 9); }), HasSubstr("the journal holds no version 9"));
}

// ---- branches whose first updates, or all, are of the actor

// Three updates of actor 1 alone, then one of actor 0, over and over.
class LonelyTest : public BranchTest {
 protected:
  LonelyTest() {
    run_.steps = 120;
    for (int i = 0; i < 2; ++i) {
      for (const std::uint32_t slot : {1u, 1u, 1u, 0u}) run_.UpdateOf(slot);
    }
    learner::WriteCheckpoint(run_.checkpoints(), run_.CheckpointAt(14, run_.journal->position()));
  }
};

TEST_F(LonelyTest, WhatComesFirstIsLeftOut) {
  ASSERT_EQ(Branch(1, 6), kExitDone) << said_;
  EXPECT_EQ(AtEnd().version, 8u);
  EXPECT_EQ(results::ReadSummary(out_ / "branch")->training.steps, 140u);
  EXPECT_THAT(said_, testing::ContainsRegex("the run +14 +200 .*\nthe branch +8 +140 "));
}

TEST_F(LonelyTest, WhereNothingWouldBeLeftNothingIsWritten) {
  EXPECT_THAT(ErrorOf([&] { Branch(1, 6, 9); }),
              HasSubstr("every update after version 6 is of this actor alone"));
  EXPECT_FALSE(std::filesystem::exists(out_ / "branch"));
}

TEST_F(BranchTest, OfARunThatWasResumedWithAnotherScheduleIsRefused) {
  run_.dir.Write("config.toml",
                 ToToml(ParseConfig(ToToml(run_.config), "config.toml", {"run.steps=400"})));
  EXPECT_THAT(ErrorOf([&] { Branch(1, 2); }),
              HasSubstr("the step of version 3 is not that of config.toml"));
}

// More steps are no other rule where nothing depends on them.
TEST_F(BranchTest, OfARunThatWasResumedForMoreStepsUnderConstantRates) {
  PairedRun run({"loss.entropy_schedule=constant"});
  run.Train(4);
  run.Flush();
  run.dir.Write("config.toml",
                ToToml(ParseConfig(ToToml(run.config), "config.toml", {"run.steps=400"})));
  EXPECT_EQ(BranchOf(run, {}), kExitDone) << errors_;
}

// The gradients of the run tell of another discount; those of a branch have nothing to tell.
TEST_F(BranchTest, OfARunThatComesOutOtherwiseThereIsNone) {
  PairedRun run;
  const auto end = run.Train(4);
  learner::WriteCheckpoint(run.checkpoints(), run.CheckpointAt(4, end));
  run.journal->Append(learner::HashRecord{4, learner::HashWeights(run.Replay(4).state.weights)});
  run.Flush();
  run.dir.Write("config.toml",
                ToToml(ParseConfig(ToToml(run.config), "config.toml", {"loss.gamma=0.5"})));
  EXPECT_EQ(BranchOf(run, {}), kExitFailed);
  EXPECT_THAT(errors_, HasSubstr("the weights of version 4 are not those that the run had"));
  EXPECT_FALSE(std::filesystem::exists(out_ / "branch"));
}

TEST_F(BranchTest, OfADamagedJournalIsKnownAsFarAsThatCanBeRead) {
  const std::filesystem::path segment = run_.dir / "journal" / "t0001-s000000";
  std::string bytes = ReadFile(segment);
  bytes[bytes.size() - 20] ^= 1;
  WriteFileAtomically(segment, bytes);
  EXPECT_EQ(Branch(1, 2), kExitFailed);
  EXPECT_THAT(said_, testing::ContainsRegex("the run +5 "));
  std::filesystem::remove_all(out_ / "branch");
  EXPECT_EQ(Branch(1, 2, 4), kExitDone);
}

TEST_F(BranchTest, DoesNotLieInItsRun) {
  const std::string inside = (run_.dir / "branch").string();
  EXPECT_THAT(ErrorOf([&] { BranchOf(run_, {.dir = inside}); }),
              HasSubstr("lies in the run itself"));
}

TEST_F(BranchTest, HasTheTimesOfTheRun) {
  run_.dir.Write("metrics.jsonl",
                 "{\"steps\": 20, \"seconds\": 1, \"mean_return\": 3}\n"
                 "{\"steps\": 100, \"seconds\": 9, \"mean_return\": 6.5}\n");
  ASSERT_EQ(Branch(1, 2), kExitDone);
  const auto counters = learner::Counters::Restore(run_.Replay(6).counters);
  EXPECT_THAT(said_, testing::ContainsRegex(
                         fmt::format("the run +6 +120   {:.4g}\n", counters.mean_return())));
  std::vector<double> seconds, steps;
  for (const auto& point : results::LoadRun(out_ / "branch").metrics) {
    seconds.push_back(point.seconds);
    steps.push_back(point.steps);
  }
  EXPECT_THAT(steps, testing::ElementsAre(20, 40, 50, 60, 70, 80));
  EXPECT_THAT(seconds, testing::ElementsAre(1, 3, 5, 7, 9, 9));
}

class BranchAtAGapTest : public BranchTest, public testing::WithParamInterface<bool> {};

TEST_P(BranchAtAGapTest, EndsThereAndIsRefusedAfterIt) {
  if (GetParam()) run_.journal->Append(learner::GapRecord{});
  run_.BeginTerm(9, run_.journal->position());
  run_.Join(0), run_.Join(1), run_.Train(2);
  run_.Flush();
  ASSERT_EQ(Branch(1, 4), kExitDone) << said_;
  EXPECT_EQ(AtEnd().version, 6u);
  EXPECT_THAT(said_, HasSubstr("the journal has a gap after version 6: both end there"));
  EXPECT_THAT(ErrorOf([&] { Branch(1, 9); }),
              HasSubstr("the journal has a gap after version 6: take an --after before it"));
}
// Without: there was no room for it.
INSTANTIATE_TEST_SUITE_P(WithAndWithoutARecord, BranchAtAGapTest, testing::Bool());

}  // namespace
}  // namespace starling::replay
