// A replay of a journal that cannot be this run's, and the index of a run, read from its journal.
// (Whole runs: tests/system/replay_test.cc.)
#include "tools/replay/replayer.h"

#include <gmock/gmock.h>

#include "results/trained.h"
#include "tests/support/error_of.h"
#include "tests/support/temp_dir.h"

namespace starling::replay {
namespace {

class ReplayerTest : public testing::Test {
 protected:
  // Actors of 2 envs x 5 steps, unless the journal gives another number; four gradients on version
  // 0.
  ReplayerTest()
      : config_(ParseConfig("", "test.toml",
                            {"env.name=dummy", "net.kind=mlp", "net.hidden=[]",
                             "actors.envs_per_actor=2", "actors.unroll=5", "actors.count=2"})) {
    JournalIndex index;
    index.computed_on = {{0, 4}};
    const learner::InitialNet net = results::InitialNetOf(config_);
    replayer_.emplace(config_, index, net.initial, net.layout.fingerprint());
    EXPECT_TRUE(replayer_->Do(learner::TermRecord{.term = 1}));
  }

  bool Arrive(std::uint32_t slot, std::uint32_t samples, std::uint32_t incarnation = 0x10000) {
    return replayer_->Do(learner::ArrivalRecord{
        .slot = slot, .incarnation = incarnation, .sequence = ++sequence_, .samples = samples});
  }
  std::string Difference() const { return replayer_->difference(); }

  const Config config_;
  std::optional<Replayer> replayer_;
  std::uint64_t sequence_ = 0;
};

TEST_F(ReplayerTest, EachLifeOfAnActorMayHaveItsOwnNumberOfEnvs) {
  EXPECT_TRUE(Arrive(0, 10)) << Difference();
  EXPECT_TRUE(Arrive(1, 40)) << Difference();
  EXPECT_TRUE(Arrive(1, 40)) << Difference();
  EXPECT_TRUE(Arrive(1, 15, 0x10001)) << Difference();
}

TEST_F(ReplayerTest, ItDoesNotChangeWithinALife) {
  EXPECT_TRUE(Arrive(1, 40));
  EXPECT_FALSE(Arrive(1, 10));
  EXPECT_EQ(Difference(), "a gradient of actor 1 has 10 samples, and its last one had 40");
}

TEST_F(ReplayerTest, SamplesAreWholeUnrollsAndAsManyAsAGradientMayHave) {
  for (const std::uint32_t samples : {0u, 12u, 1'000'005u}) {
    EXPECT_FALSE(Arrive(1, samples));
    EXPECT_EQ(Difference(), "a gradient of actor 1 has " + std::to_string(samples) +
                                " samples, which should be whole unrolls of actors.unroll = 5, at "
                                "most 1000000");
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

class JournalIndexTest : public testing::Test {
 protected:
  // Version 1 of actor 7's gradient, version 2 of those of 4 and 7; one of 4's was refused.
  void Write(bool from_the_beginning = true) {
    learner::JournalWriter journal(dir_ / "journal", {.seed = 3, .fingerprint = 9});
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

  TempDir dir_;
};

TEST_F(JournalIndexTest, WhatIsComputedOnWhichVersionAndTheHashes) {
  Write();
  const JournalIndex index = ReadJournalIndex(dir_.path());
  EXPECT_EQ(index.header.seed, 3u);
  EXPECT_EQ(index.last, 2u);
  EXPECT_EQ(index.records.size(), 9u);
  EXPECT_EQ(index.computed_on, (std::map<std::uint64_t, std::uint64_t>{{0, 3}, {1, 1}}))
      << "the refused one was computed, too";
  EXPECT_EQ(index.hashes, (std::map<std::uint64_t, std::uint64_t>{{0, 77}, {2, 88}}));
  EXPECT_EQ(index.torn, "");
}

TEST_F(JournalIndexTest, AnUpdateIsTheMeanOfItsGradients) {
  Write();
  const UpdateDetails update = FindUpdate(ReadJournalIndex(dir_.path()), 2);
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
                        "scaled by 0.5, entropy 0.01\n"));
  EXPECT_THAT(text,
              HasSubstr("     4    1.2            2            0          1        40   0.2500"));
}

TEST_F(JournalIndexTest, AVersionThatThereIsNotIsAnsweredWithThoseThereAre) {
  Write();
  const JournalIndex index = ReadJournalIndex(dir_.path());
  for (const std::uint64_t version : {0, 3}) {
    EXPECT_THAT(ErrorOf([&] { FindUpdate(index, version); }),
                HasSubstr("it has those from 1 to 2"));
  }
}

TEST_F(JournalIndexTest, AJournalThatLacksItsBeginningIsNoStory) {
  Write(false);
  EXPECT_THAT(ErrorOf([&] { ReadJournalIndex(dir_.path()); }),
              HasSubstr("does not begin with the run"));
}

TEST_F(JournalIndexTest, ATornEndIsSaid) {
  Write();
  std::filesystem::resize_file(dir_ / "journal", std::filesystem::file_size(dir_ / "journal") - 1);
  EXPECT_THAT(ReadJournalIndex(dir_.path()).torn, HasSubstr("breaks off after version 2"));
}

}  // namespace
}  // namespace starling::replay
