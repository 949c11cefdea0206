// A replay of a journal that cannot be this run's, and what a replay reads of a journal.
// (Whole runs: tests/system/replay_test.cc.)
#include "tools/replay/replayer.h"

#include <gmock/gmock.h>

#include "core/file.h"
#include "learner/storage/journal_writer.h"
#include "results/trained.h"
#include "tests/support/error_of.h"
#include "tests/support/temp_dir.h"

namespace starling::replay {
namespace {

class ReplayerTest : public testing::Test {
 protected:
  // Actors of 2 envs x 5 steps, unless the journal gives another number.
  ReplayerTest()
      : config_(ParseConfig("", "test.toml",
                            {"env.name=dummy", "net.kind=mlp", "net.hidden=[]",
                             "actors.envs_per_actor=2", "actors.unroll=5", "actors.count=2"})) {}

  struct Gradient {
    std::uint32_t slot = 0, samples = 0, incarnation = 0x10000;
  };
  // Replays the arrival of these, all on version 0. Returns the difference.
  std::string Replay(const std::vector<Gradient>& gradients) {
    {
      learner::JournalWriter journal(dir_ / "journal", {.term = 1});
      journal.Append(learner::TermRecord{.term = 1});
      std::uint64_t sequence = 0;
      for (const auto& [slot, samples, incarnation] : gradients) {
        journal.Append(learner::ArrivalRecord{
            .slot = slot, .incarnation = incarnation, .sequence = ++sequence, .samples = samples});
      }
    }
    JournalAhead ahead(dir_.path());
    Replayer replayer(config_, ahead, AtFirstWeights(config_), results::LayoutOf(config_));
    while (const auto record = ahead.Next()) {
      if (!replayer.Do(*record)) break;
    }
    return replayer.difference();
  }

  const Config config_;
  const TempDir dir_;
};

TEST_F(ReplayerTest, EachLifeOfAnActorMayHaveItsOwnNumberOfEnvs) {
  EXPECT_EQ(Replay({{0, 10}, {1, 40}, {1, 40}, {1, 15, 0x10001}}), "");
}

TEST_F(ReplayerTest, ItDoesNotChangeWithinALife) {
  EXPECT_EQ(Replay({{1, 40}, {1, 10}}),
            "a gradient of actor 1 has 10 samples, and its last one had 40");
}

TEST_F(ReplayerTest, SamplesAreWholeUnrollsAndAsManyAsAGradientMayHave) {
  for (const std::uint32_t samples : {0u, 12u, 1'000'005u}) {
    EXPECT_EQ(Replay({{1, samples}}),
              "the gradients of actor 1 have " + std::to_string(samples) +
                  " samples an unroll, which should be whole unrolls of actors.unroll = 5, at most "
                  "1000000");
  }
}

using testing::HasSubstr;

learner::ArrivalRecord Arrival(std::uint32_t slot, std::uint64_t sequence, std::uint64_t base,
                               std::uint32_t samples, std::uint8_t outcome = 0) {
  return {.slot = slot,
          .incarnation = 0x10002,
          .sequence = sequence,
          .base_version = base,
          .samples = samples,
          .outcome = outcome,
          .norm = 0.5 * slot};
}

class RunJournalTest : public testing::Test {
 protected:
  // Version 1 of actor 7's gradient, version 2 of those of 4 and 7; one of 4's was refused.
  void Write(bool from_the_beginning = true) {
    learner::JournalWriter journal(dir_ / "journal", {.seed = 3, .fingerprint = 9, .term = 1});
    journal.Append(learner::TermRecord{.term = 1, .version = from_the_beginning ? 0u : 5u});
    journal.Append(learner::HashRecord{0, 77});
    journal.Append(Arrival(7, 1, 0, 160));
    journal.Append(Arrival(4, 1, 0, 160, 3));
    journal.Append(learner::UpdateRecord{.version = 1, .steps = 160, .items = {{7, 0x10002, 1}}});
    journal.Append(Arrival(4, 2, 0, 40));
    journal.Append(Arrival(7, 2, 1, 120));
    journal.Append(learner::UpdateRecord{.version = 2,
                                         .steps = 320,
                                         .lr = 0.25,
                                         .scale = 0.5,
                                         .entropy = 0.01,
                                         .items = {{4, 0x10002, 2}, {7, 0x10002, 2}}});
    journal.Append(learner::HashRecord{2, 88});
  }

  std::filesystem::path segment() const { return dir_ / "journal" / learner::SegmentName(1, 0); }

  TempDir dir_;
};

TEST_F(RunJournalTest, ASummaryOfAllOfIt) {
  Write();
  const JournalSummary summary = ScanJournal(dir_.path());
  EXPECT_EQ(summary.header.seed, 3u);
  EXPECT_EQ(summary.last, 2u);
  EXPECT_EQ(summary.torn, "");
}

TEST_F(RunJournalTest, WhatFollowsOnWhichVersionAndTheHashes) {
  Write();
  JournalAhead ahead(dir_.path());
  EXPECT_EQ(ahead.UsesOf(0), 3u) << "the refused one was computed, too";
  EXPECT_EQ(ahead.UsesOf(1), 1u);
  EXPECT_EQ(ahead.HashOf(0), 77u);
  EXPECT_EQ(ahead.HashOf(1), std::nullopt);
  EXPECT_EQ(ahead.HashOf(2), 88u);
  for (int i = 0; i < 4; ++i) ahead.Next();
  EXPECT_EQ(ahead.UsesOf(0), 1u) << "two were returned";
  int rest = 0;
  while (ahead.Next()) ++rest;
  EXPECT_EQ(rest, 5);
}

TEST_F(RunJournalTest, AnUpdateIsTheMeanOfItsGradients) {
  Write();
  const UpdateDetails update = FindUpdate(dir_.path(), 2);
  ASSERT_EQ(update.gradients.size(), 2u);
  EXPECT_EQ(update.gradients[0].from.slot, 4u);
  EXPECT_EQ(update.gradients[0].base, 0u);
  EXPECT_EQ(update.gradients[0].staleness, 1u);
  EXPECT_DOUBLE_EQ(update.gradients[0].weight, 0.25);
  EXPECT_DOUBLE_EQ(update.gradients[0].norm, 2);
  EXPECT_EQ(update.gradients[1].staleness, 0u);
  EXPECT_DOUBLE_EQ(update.gradients[1].weight, 0.75);
  const std::string text = ToText(update);
  EXPECT_THAT(text,
              HasSubstr("version 2: 2 gradients, 320 steps after it, learning rate 0.25, step "
                        "scaled by 0.5, entropy coefficient 0.01\n"));
  EXPECT_THAT(text,
              HasSubstr("     4    1.2            2            0          1        40   0.2500"));
}

TEST_F(RunJournalTest, AVersionThatThereIsNotIsAnsweredWithThoseThereAre) {
  Write();
  for (const std::uint64_t version : {0, 3}) {
    EXPECT_THAT(ErrorOf([&] { FindUpdate(dir_.path(), version); }),
                HasSubstr("it has those from 1 to 2"));
  }
}

TEST_F(RunJournalTest, OneThatBeginsLaterLacksWhatCameBefore) {
  Write(false);
  EXPECT_TRUE(ScanJournal(dir_.path()).pruned);
}

TEST_F(RunJournalTest, AJournalThatLacksItsBeginningIsNoStory) {
  {
    learner::JournalWriter journal(dir_ / "journal", {.seed = 3, .fingerprint = 9, .term = 1});
    journal.Append(learner::HashRecord{0, 77});
  }
  EXPECT_THAT(ErrorOf([&] { ScanJournal(dir_.path()); }), HasSubstr("does not begin with the run"));
}

TEST_F(RunJournalTest, ATornEndIsReported) {
  Write();
  std::filesystem::resize_file(segment(), std::filesystem::file_size(segment()) - 1);
  EXPECT_THAT(ScanJournal(dir_.path()).torn, HasSubstr("breaks off after version 2"));
}

TEST_F(RunJournalTest, DamageIsReportedWithItsPlace) {
  Write();
  std::string bytes = ReadFile(segment());
  bytes[bytes.size() - 30] ^= 1;  // inside the second update
  dir_.Write("journal/" + segment().filename().string(), bytes);
  const JournalSummary summary = ScanJournal(dir_.path());
  EXPECT_TRUE(summary.damaged);
  EXPECT_THAT(summary.torn,
              HasSubstr("damaged after version 1: " + segment().string() + ", byte "));
  EXPECT_THAT(ErrorOf([&] { FindUpdate(dir_.path(), 2); }),
              HasSubstr("it has those from 1 to 1; the journal is damaged after version 1"));
}

// ---- looking ahead

// Grants, arrivals and updates of a run, as its learner journals them.
class JournalAheadTest : public testing::Test {
 protected:
  void Join(std::uint32_t slot) { journal_->Append(learner::JoinRecord{slot, 1}); }
  void Grant(std::uint32_t slot, std::uint64_t version) {
    journal_->Append(learner::GrantRecord{slot, ++grant_, version});
  }
  void Arrive(std::uint32_t slot, std::uint64_t grant, std::uint64_t base) {
    journal_->Append(learner::ArrivalRecord{.slot = slot, .grant = grant, .base_version = base});
  }
  // How many records UsesOf(version) has to read.
  std::uint64_t ReadFor(std::uint64_t version) {
    journal_->Flush();
    JournalAhead ahead(dir_.path());
    ahead.UsesOf(version);
    return ahead.waiting();
  }

  const TempDir dir_;
  std::optional<learner::JournalWriter> journal_{std::in_place, dir_ / "journal",
                                                 learner::JournalHeader{.term = 1}};
  std::uint64_t grant_ = 0;
};

TEST_F(JournalAheadTest, ReadsToTheEndOfTheLastGrantThatMayUseAVersion) {
  Join(0), Join(1);          // 1, 2
  Grant(0, 0), Grant(1, 0);  // 3, 4: grants 1 and 2
  Arrive(0, 1, 0);           // 5
  Grant(0, 1);               // 6: grant 3
  Arrive(0, 3, 1);           // 7
  Grant(0, 2);               // 8: grant 4
  Arrive(1, 2, 2);           // 9: the slow actor; its base is newer than its grant
  Grant(1, 3);               // 10
  for (int i = 0; i < 50; ++i) Grant(0, 4);
  EXPECT_EQ(ReadFor(0), 9u);
  EXPECT_EQ(ReadFor(1), 9u);
  EXPECT_EQ(ReadFor(2), 60u) << "nothing ends grant 4";
}

// The deadline of grant 1 passes, and its gradient still follows: it was computed.
TEST_F(JournalAheadTest, AGrantThatExpiredMayStillBeUsed) {
  Join(0), Join(1);
  Grant(0, 0), Grant(1, 0);  // 3, 4
  journal_->Append(learner::LostRecord{0, 1, learner::LostWhy::kDeadline});
  Arrive(1, 2, 0);  // 6
  Grant(1, 1);      // 7
  Arrive(0, 1, 0);  // 8: refused, as it has no grant
  for (int i = 0; i < 50; ++i) Grant(1, 2);
  EXPECT_EQ(ReadFor(0), 8u);
}

TEST_F(JournalAheadTest, ADeathEndsTheGrantsOfItsActor) {
  Join(0), Join(1);
  Grant(0, 0), Grant(1, 0);  // 3, 4
  Arrive(1, 2, 0);           // 5
  Grant(1, 1);               // 6
  journal_->Append(learner::DeathRecord{0, 1});
  for (int i = 0; i < 50; ++i) Grant(1, 2);
  EXPECT_EQ(ReadFor(0), 7u);
}

TEST_F(JournalAheadTest, ANewTermEndsAllGrants) {
  Join(0), Join(1);
  Grant(0, 0), Grant(1, 0);  // 3, 4
  journal_->Append(learner::TermRecord{.term = 2, .version = 1});
  Join(0);
  Grant(0, 1);  // 7
  for (int i = 0; i < 50; ++i) Grant(0, 2);
  EXPECT_EQ(ReadFor(0), 7u);
}

}  // namespace
}  // namespace starling::replay
