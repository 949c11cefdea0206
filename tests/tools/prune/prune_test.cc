// `starling prune` on a run of four versions with a cut at each of the last two.
#include "tools/prune/prune.h"

#include <gmock/gmock.h>

#include "core/error.h"
#include "learner/storage/journal_reader.h"
#include "learner/storage/run_lock.h"
#include "tests/support/error_of.h"
#include "tests/tools/replay/journalled_run.h"

namespace starling::prune {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::SizeIs;

class PruneTest : public testing::Test {
 protected:
  PruneTest() {
    run_.BeginTerm(0, {}, /*segment_bytes=*/100);
    run_.Join(0), run_.Join(1);
    for (std::uint64_t version = 1; version <= 4; ++version) {
      const learner::JournalPosition end = run_.Train(1);
      run_.Flush();
      learner::Checkpoint checkpoint = run_.CheckpointAt(version, end);
      if (version < 3) checkpoint.actors.reset();
      paths_.push_back(learner::WriteCheckpoint(run_.checkpoints(), checkpoint));
    }
  }
  // Returns what it prints.
  std::string Prune(const std::vector<std::string>& overrides = {}, bool dry_run = false) {
    testing::internal::CaptureStdout();
    EXPECT_EQ(RunPrune({{run_.dir.path().string()}, overrides, dry_run}), kExitDone);
    return testing::internal::GetCapturedStdout();
  }
  std::size_t Segments() const { return learner::ListSegments(run_.dir / "journal").size(); }

  replay::JournalledRun run_;
  std::vector<std::filesystem::path> paths_;
};

TEST_F(PruneTest, TheRunKeepsWhatItsConfigurationSays) {
  const std::size_t before = Segments();
  EXPECT_THAT(Prune(),
              AllOf(HasSubstr(run_.dir.path().string() + ": removed 1 file of checkpoints "
                                                         "and 0 segments of the journal ("),
                    HasSubstr("of the journal are left (journal.keep = \"all\")\n")));
  EXPECT_THAT(learner::ListCheckpoints(run_.checkpoints()),
              ElementsAre(paths_[1], paths_[2], paths_[3]));
  EXPECT_EQ(Segments(), before);
  EXPECT_THAT(Prune(), HasSubstr(": nothing to remove; "));
}

TEST_F(PruneTest, WhatIsLeftIsReplayedFromItsOldestCut) {
  const std::string would = Prune({"journal.keep=0", "checkpoint.keep=2"}, /*dry_run=*/true);
  EXPECT_THAT(learner::ListCheckpoints(run_.checkpoints()), SizeIs(4));
  const std::string did = Prune({"journal.keep=0", "checkpoint.keep=2"});
  EXPECT_THAT(would, HasSubstr(": would remove 2 files of checkpoints and 2 segments"));
  EXPECT_EQ(would.substr(would.find(" 2 files")), did.substr(did.find(" 2 files")));
  EXPECT_THAT(learner::ListCheckpoints(run_.checkpoints()), ElementsAre(paths_[2], paths_[3]));

  testing::internal::CaptureStdout();
  replay::ReplayOptions options;
  options.run_dir = run_.dir.path();
  EXPECT_EQ(replay::RunReplay(options), kExitDone);
  EXPECT_THAT(testing::internal::GetCapturedStdout(),
              HasSubstr("v000000000004.safetensors, bit for bit"));
}

TEST_F(PruneTest, AReplayOfWhatIsGoneIsRefused) {
  Prune({"journal.keep=0", "checkpoint.keep=1"});
  replay::ReplayOptions options;
  options.run_dir = run_.dir.path();
  options.until = 2;
  testing::internal::CaptureStdout();
  EXPECT_THAT(ErrorOf([&] { replay::RunReplay(options); }),
              HasSubstr("version 2 lies before the beginning of this replay, version 4"));
  testing::internal::GetCapturedStdout();
}

TEST_F(PruneTest, MistakesRemoveNothing) {
  const std::string run = run_.dir.path().string();
  EXPECT_THAT(ErrorOf([&] {
                RunPrune({{run, run + "/absent"}, {}});
              }),
              HasSubstr("absent is no run directory: it has no config.toml"));
  EXPECT_THAT(ErrorOf([&] {
                RunPrune({{run}, {"run.steps=3"}});
              }),
              HasSubstr("--set run.steps=3: prune knows checkpoint.keep and journal.keep"));
  EXPECT_THAT(ErrorOf([&] {
                RunPrune({{run}, {"checkpoint.keep=0"}});
              }),
              HasSubstr("checkpoint.keep"));
  {
    const LockedFile lock = learner::LockRun(run);
    EXPECT_THAT(ErrorOf([&] { Prune(); }), HasSubstr("is still using it; end that process first"));
    testing::internal::GetCapturedStdout();
  }
  EXPECT_THAT(learner::ListCheckpoints(run_.checkpoints()), SizeIs(4));
}

TEST_F(PruneTest, ADamagedClaimIsNamedAndARunIsPrunedOnce) {
  const auto claim = run_.checkpoints() / "t0001.term";
  WriteFileAtomically(claim, "garbage");
  EXPECT_THAT(Prune(), HasSubstr(claim.string() + " is damaged"));
  std::filesystem::remove(claim);
  const std::string run = run_.dir.path().string();
  testing::internal::CaptureStdout();
  EXPECT_EQ(RunPrune({{run, run + "/../" + run_.dir.path().filename().string()}, {}, false}),
            kExitDone);
  const std::string said = testing::internal::GetCapturedStdout();
  EXPECT_EQ(std::ranges::count(said, '\n'), 1) << said;
}

TEST_F(PruneTest, WithoutACheckpointThereIsNothingToGoOnFrom) {
  std::filesystem::remove_all(run_.checkpoints());
  EXPECT_THAT(Prune({"journal.keep=0"}), HasSubstr("no checkpoint is there to go on from"));
  EXPECT_GE(Segments(), 4u);
}

}  // namespace
}  // namespace starling::prune
