// A power cut at any moment of a run: a checkpoint that was reported is there, and the journal
// reaches it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <semaphore>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "core/clock.h"
#include "core/file.h"
#include "learner/engine.h"
#include "learner/storage/checkpoint_format.h"
#include "learner/storage/checkpoint_keeper.h"
#include "learner/storage/journal_reader.h"
#include "learner/storage/start.h"
#include "learner/storage/terms.h"
#include "tests/learner/storage/checkpoint_fixture.h"
#include "tests/support/power_cut.h"
#include "tests/support/temp_dir.h"
#include "wire/slices.h"

namespace starling::learner {
namespace {

class PowerCutTest : public testing::Test {
 protected:
  PowerCutTest() {
    std::filesystem::create_directory(dir_ / "disk");
    power_ = std::make_unique<PowerCut>(dir_ / "disk");
    power_->BeforeEverySync([this] { Look(); });
    net_.layout.Add("w", {16});
    net_.initial.assign(16, 0.0f);
  }

  // A learner from its start to its death, `updates` updates of one gradient later.
  void Live(bool resume, int updates) {
    // 1. It starts as a real one does, and saves its first version.
    const Start start = FindStart(config_, net_, run_dir(), resume);
    const std::uint32_t term = claimed_ = start.state.term;
    Look();
    std::counting_semaphore<> progress{0}, saved{0};
    wire::SnapshotWriter snapshot("", 16, net_.layout.fingerprint(), term);
    Engine engine(config_, start, snapshot,
                  {.run_dir = run_dir(),
                   .fingerprint = net_.layout.fingerprint(),
                   .session = 7,
                   .slice = {.begin = 0, .size = 16},
                   .on_progress = [&] { progress.release(); }});
    CheckpointKeeper keeper(
        config_, net_.layout, run_dir(), start, [&] { saved.release(); }, clock_);
    const auto save = [&](CheckpointContent content) {
      keeper.Save(std::move(content));
      saved.acquire();
      keeper.Collect();
      EXPECT_EQ(keeper.error(), "");
      reported_ = keeper.newest_version();
      Look();
    };
    if (!resume) save(engine.CaptureNow());
    // 2. Every gradient is an update.
    engine.Join(0);
    engine.Open();
    for (int i = 0; i < updates; ++i) {
      const wire::Grant grant = engine.TakeReplies(0).at(0).answer.grants.at(0);
      const std::vector<float> values(16, 1.0f);
      const auto receipt =
          engine.Receive({.header = {.slot = 0,
                                     .incarnation = engine.roster().Find(0)->incarnation,
                                     .sequence = static_cast<std::uint64_t>(i) + 1,
                                     .term = term,
                                     .session = 7,
                                     .version = grant.version},
                          .body = {.grant = grant.number, .samples = 4},
                          .tensor = {.values = values, .hold = {}}});
      ASSERT_EQ(receipt.outcome, wire::Outcome::kNone);
      engine.Advance();
      progress.acquire();
      auto finished = engine.TakeFinished(1);
      ASSERT_TRUE(finished);
      if (finished->checkpoint) save(*std::move(finished->checkpoint));
    }
  }

  // What a learner finds after a cut at this moment.
  void Look() {
    for (const auto names : {PowerCut::Names::kLost, PowerCut::Names::kWritten}) {
      power_->CopyTo(dir_ / "left", names);
      ++looks_;
      EXPECT_GE(NewestTerm(dir_ / "left/run/checkpoints"), claimed_) << "it is claimed again";
      const LastGoodResult last = LastGood(dir_ / "left/run/checkpoints");
      if (!last.checkpoint) {
        EXPECT_FALSE(reported_) << "version " << *reported_ << " is lost";
        continue;
      }
      const std::uint64_t version = last.checkpoint->version;
      EXPECT_GE(version, reported_.value_or(0));
      const std::string error = ErrorOfResuming(*last.checkpoint);
      EXPECT_EQ(error, "") << "version " << version;
    }
  }
  // Returns why the journal does not reach the checkpoint, or "".
  std::string ErrorOfResuming(const Checkpoint& from) {
    const auto journal = dir_ / "left/run/journal";
    JournalWriter writer(journal, {.seed = config_.run.seed,
                                   .fingerprint = net_.layout.fingerprint(),
                                   .term = from.term + 100,
                                   .after = from.journal});
    if (!writer.complete()) return writer.error();
    JournalReader reader(journal);
    std::uint64_t version = 0;
    while (const auto record = reader.Next()) {
      if (const auto* update = std::get_if<UpdateRecord>(&*record)) version = update->version;
    }
    if (reader.header().after.offset > 0) return "the journal does not begin with the run";
    return version == from.version ? "" : "the journal ends at version " + std::to_string(version);
  }

  std::filesystem::path run_dir() const { return dir_ / "disk/run"; }

  TempDir dir_;
  std::unique_ptr<PowerCut> power_;
  const Config config_ = ParseConfig(
      "[run]\nsteps = 1000\n[actors]\ncount = 1\nenvs_per_actor = 2\nunroll = 2\n"
      "[checkpoint]\nevery_steps = 8\nkeep = 2\n",
      "x.toml", {});
  const SteadyClock clock_;
  InitialNet net_;
  std::optional<std::uint64_t> reported_;  // version of the newest checkpoint
  std::uint32_t claimed_ = 0;              // the newest term
  int looks_ = 0;
};

TEST_F(PowerCutTest, CheckpointAndJournalAgreeThroughTheLivesOfThreeLearners) {
  std::filesystem::create_directory(run_dir());
  SyncDirectory(dir_ / "disk");
  Live(/*resume=*/false, 9);
  Live(/*resume=*/true, 5);
  Live(/*resume=*/true, 7);
  EXPECT_EQ(reported_, 18u);
  EXPECT_GT(looks_, 50);
}

class PowerCutFilesTest : public testing::Test {
 protected:
  // Whether `good` holds of what both kinds of cuts leave.
  void ExpectAfterACut(const std::function<void(const std::filesystem::path& left)>& good) {
    for (const auto names : {PowerCut::Names::kLost, PowerCut::Names::kWritten}) {
      power_.CopyTo(left_ / "left", names);
      good(left_ / "left");
    }
  }

  const TempDir disk_, left_;
  PowerCut power_{disk_.path()};
};

TEST_F(PowerCutFilesTest, ASyncCoversAllSegmentsOfTheJournal) {
  JournalWriter writer(disk_ / "journal", {.seed = 7, .fingerprint = 8, .term = 1},
                       {.segment_bytes = 300});
  for (std::uint32_t slot = 0; slot < 100; ++slot) {
    writer.Append(DeathRecord{.slot = slot});
    if (slot % 7 > 0) {
      writer.Flush();
      continue;
    }
    ASSERT_NO_THROW(writer.TakeSync().Run());
    ExpectAfterACut([&](const std::filesystem::path& left) {
      JournalReader reader(left / "journal");
      std::uint32_t records = 0;
      while (reader.Next()) ++records;
      EXPECT_EQ(records, slot + 1);
    });
  }
  EXPECT_GT(writer.position().segment, 3u);
}

TEST_F(PowerCutFilesTest, ACheckpointInPartsIsWholeOrAbsent) {
  const auto dir = disk_ / "checkpoints";
  CreateDirectories(dir);
  const auto look = [&](std::size_t at_least) {
    ExpectAfterACut([&](const std::filesystem::path& left) {
      const LastGoodResult last = LastGood(left / "checkpoints");
      EXPECT_THAT(last.rejected, testing::IsEmpty());
      EXPECT_GE(last.checkpoint ? 1u : 0u, at_least);
    });
  };
  power_.BeforeEverySync([&] { look(0); });
  const Checkpoint whole = MakeCheckpoint(1, 2);
  for (std::size_t shard = 0; shard < 2; ++shard) {
    Checkpoint part = whole;
    const wire::Slice slice = wire::CutIntoSlices(whole.layout.size(), 2)[shard];
    static_cast<TrainingState&>(part) = CutOut(whole, slice);
    WriteCheckpointPart(dir, part, {shard, 2});
  }
  CommitCheckpointParts(dir, 1, 2);
  look(1);
}

}  // namespace
}  // namespace starling::learner
