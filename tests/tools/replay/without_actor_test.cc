// A branch of a run without one of its actors, against runs written by hand.
#include "tools/replay/without_actor.h"

#include <gmock/gmock.h>

#include "learner/storage/journal_reader.h"
#include "tests/tools/replay/paired_run.h"

namespace starling::replay {
namespace {

using learner::ArrivalRecord;
using learner::DeathRecord;
using learner::GrantRecord;
using learner::JournalRecord;
using learner::UpdateRecord;
using testing::ElementsAre;
using testing::IsEmpty;

std::vector<JournalRecord> RecordsOf(const std::filesystem::path& run_dir) {
  std::vector<JournalRecord> records;
  learner::JournalReader reader(run_dir / "journal");
  while (auto record = reader.Next()) records.push_back(*std::move(record));
  return records;
}

std::vector<JournalRecord> Rewritten(const Config& config, std::uint32_t slot, std::uint64_t after,
                                     const std::vector<JournalRecord>& records) {
  WithoutActor without(config, slot, after, AtFirstWeights(config));
  std::vector<JournalRecord> all = without.Begin();
  for (const JournalRecord& record : records) {
    std::ranges::move(without.Rewrite(record), std::back_inserter(all));
  }
  return all;
}

TEST(WithoutActorTest, ARunInWhichItHasNoPartStaysAsItIs) {
  PairedRun run;
  run.Train(4);
  run.Flush();
  const auto records = RecordsOf(run.dir.path());
  EXPECT_EQ(Rewritten(run.config, 7, 0, records), records);
  EXPECT_EQ(Rewritten(run.config, 1, 4, records).size(), records.size() + 1) << "the death";
}

// The branch of PairedRun::Train(6) without actor 1 is the run in which it died after version 2.
TEST(WithoutActorTest, ABranchIsTheRunInWhichTheActorDied) {
  PairedRun run;
  run.Train(6);
  run.Flush();
  PairedRun branch;
  branch.journal.emplace(
      branch.dir / "journal",
      learner::JournalHeader{
          .seed = run.config.run.seed, .fingerprint = run.net.layout.fingerprint(), .term = 1});
  for (const auto& record : Rewritten(run.config, 1, 2, RecordsOf(run.dir.path()))) {
    branch.journal->Append(record);
  }
  PairedRun expected;
  expected.Train(2);
  expected.Die(1);
  expected.steps = 4 * JournalledRun::kSamples;
  expected.TrainAlone(4);
  const auto is = branch.Replay(6), should_be = expected.Replay(6);
  EXPECT_EQ(branch.difference, "");
  ExpectSame(is, should_be);
  EXPECT_EQ(is.counters, should_be.counters);
  EXPECT_EQ(is.state.version, 6u);
  EXPECT_NE(is.state.weights, run.Replay(6).state.weights);
}

// ---- records by hand: three actors, unbounded

class WithoutTest : public testing::Test {
 protected:
  static constexpr std::uint32_t kLife = 0x10000, kSamples = 10;

  explicit WithoutTest(std::vector<std::string> settings = {}) {
    const std::vector<std::string> all = {"env.name=dummy",
                                          "net.kind=mlp",
                                          "actors.unroll=5",
                                          "actors.envs_per_actor=2",
                                          "optimizer.lr=0.1",
                                          "run.steps=100",
                                          "optimizer.lr_schedule=linear",
                                          "staleness.damping=inverse"};
    settings.insert(settings.begin(), all.begin(), all.end());
    config_ = ParseConfig("", "test.toml", settings);
    Add(learner::TermRecord{.term = 1});
    for (const std::uint32_t slot : {0u, 1u, 2u}) Add(learner::JoinRecord{slot, kLife});
  }
  void Add(JournalRecord record) { run_.push_back(std::move(record)); }
  void Grant(std::uint32_t slot, std::uint64_t version) {
    Add(GrantRecord{slot, ++grant_, version});
  }
  void Arrive(std::uint32_t slot, std::uint64_t base, std::uint8_t outcome = 0) {
    Add(ArrivalRecord{.slot = slot,
                      .incarnation = kLife,
                      .sequence = ++sequences_[slot],
                      .grant = grant_,
                      .base_version = base,
                      .samples = kSamples,
                      .outcome = outcome,
                      .norm = 0.5});
  }
  UpdateRecord::Item Last(std::uint32_t slot) const { return {slot, kLife, sequences_.at(slot)}; }
  void Update(std::vector<UpdateRecord::Item> items) {
    steps_ += kSamples * items.size();
    Add(UpdateRecord{.version = ++version_, .steps = steps_, .items = std::move(items)});
  }
  template <class Record>
  std::vector<Record> Left(std::uint32_t without, std::uint64_t after) const {
    std::vector<Record> left;
    for (const JournalRecord& record : Rewritten(config_, without, after, run_)) {
      if (const auto* one = std::get_if<Record>(&record)) left.push_back(*one);
    }
    return left;
  }

  Config config_;
  std::vector<JournalRecord> run_;
  std::map<std::uint32_t, std::uint64_t> sequences_;
  std::uint64_t grant_ = 0, version_ = 0, steps_ = 0;
};

// The run has four updates: of actor 0, of 1, of 1 and 2, and of 2. Without actor 1 the second is
// gone, and the third has one gradient. Base version 2 of the run is version 1 of the branch.
TEST_F(WithoutTest, VersionsStepsAndSchedulesAreThoseOfTheBranch) {
  Arrive(0, 0), Update({Last(0)});
  Arrive(1, 1), Update({Last(1)});
  Grant(2, 2), Arrive(1, 2), Arrive(2, 2), Update({Last(1), Last(2)});
  Add(learner::HashRecord{3, 99});
  Arrive(2, 1), Update({Last(2)});
  const auto updates = Left<UpdateRecord>(1, 0);
  ASSERT_EQ(updates.size(), 3u);
  const auto expect = [&](std::size_t i, std::uint64_t steps, double staleness) {
    const UpdateRecord& update = updates[i];
    EXPECT_EQ(update.version, i + 1);
    EXPECT_EQ(update.steps, steps);
    EXPECT_DOUBLE_EQ(update.lr, 0.1 * (1 - (static_cast<double>(steps) - kSamples) / 100));
    EXPECT_DOUBLE_EQ(update.scale, 1 / std::max(1.0, staleness));
    EXPECT_EQ(update.items.size(), 1u);
  };
  expect(0, 10, 0);
  expect(1, 20, 0);  // 1 in the run
  expect(2, 30, 1);  // 2 in the run
  const auto arrivals = Left<ArrivalRecord>(1, 0);
  ASSERT_EQ(arrivals.size(), 3u);
  EXPECT_EQ(arrivals[1].base_version, 1u);
  EXPECT_EQ(arrivals[1].norm, 0) << "not known yet";
  EXPECT_EQ(arrivals[2].base_version, 1u);
  EXPECT_EQ(Left<GrantRecord>(1, 0).at(0).version, 1u);
  EXPECT_THAT(Left<learner::HashRecord>(1, 0), IsEmpty());
}

TEST_F(WithoutTest, WhatIsHeldWhenItDiesIsStillApplied) {
  Arrive(0, 0), Update({Last(0)});
  Arrive(1, 1);
  Arrive(0, 1), Update({Last(0)});
  Update({Last(1)});
  Arrive(1, 3), Update({Last(1)});
  const auto updates = Left<UpdateRecord>(1, 2);
  ASSERT_EQ(updates.size(), 3u);
  EXPECT_EQ(updates[2].items[0].slot, 1u);
  EXPECT_THAT(Left<DeathRecord>(1, 2), ElementsAre(DeathRecord{1, kLife}));
  EXPECT_EQ(Left<UpdateRecord>(1, 1).size(), 2u) << "a gradient that arrives after the death";
}

// Those of the weights that the branch has in common with the run.
TEST_F(WithoutTest, HashesStayUpToTheDeath) {
  Arrive(0, 0), Update({Last(0)});
  Arrive(1, 1), Arrive(0, 1), Update({Last(0), Last(1)});
  Add(learner::HashRecord{1, 8}), Add(learner::HashRecord{2, 9});
  EXPECT_THAT(Left<learner::HashRecord>(1, 1), ElementsAre(learner::HashRecord{1, 8}));
}

TEST_F(WithoutTest, ItDoesNotComeBack) {
  Arrive(0, 0), Update({Last(0)});
  Add(learner::TermRecord{.term = 2, .version = 1, .steps = 10});
  Add(learner::JoinRecord{1, 0x20000});
  Add(learner::LifeRecord{1, 0x20000, kLife, 1});
  Add(learner::LostRecord{1, 5, learner::LostWhy::kDeadline});
  Add(DeathRecord{1, 0x20000});
  EXPECT_THAT(Left<learner::JoinRecord>(1, 0),
              ElementsAre(learner::JoinRecord{0, kLife}, learner::JoinRecord{2, kLife}));
  EXPECT_THAT(Left<learner::LifeRecord>(1, 0), IsEmpty());
  EXPECT_THAT(Left<learner::LostRecord>(1, 0), IsEmpty());
  EXPECT_THAT(Left<DeathRecord>(1, 0), IsEmpty());
}

// The next term goes on from version 3 of the run, which is version 1 of the branch.
TEST_F(WithoutTest, ALaterTermGoesOnAtTheBranchsVersion) {
  Arrive(1, 0), Update({Last(1)});
  Arrive(0, 1), Update({Last(0)});
  Arrive(1, 2), Update({Last(1)});
  Arrive(2, 3);  // held when the learner was killed
  Add(learner::TermRecord{.term = 2, .version = 3, .steps = 30});
  Add(learner::EntropyRecord{.entropy = 1});
  const auto terms = Left<learner::TermRecord>(1, 0);
  ASSERT_EQ(terms.size(), 2u);
  EXPECT_EQ(terms[1], (learner::TermRecord{.term = 2, .version = 1, .steps = 10}));
  EXPECT_EQ(Left<learner::EntropyRecord>(1, 0).at(0).entropy,
            learner::EntropyCoef(config_.loss, config_.run.steps, 10));
}

// Four gradients of an unroll of 40 samples: its steps come with the first that is held.
class WithoutReuseTest : public WithoutTest {
 protected:
  WithoutReuseTest()
      : WithoutTest({"loss.kind=ppo", "updates.minibatches=4", "actors.envs_per_actor=8"}) {}
  void Use(std::uint32_t slot, std::uint64_t use, std::uint64_t base, std::uint8_t outcome = 0) {
    Add(learner::UseRecord{.slot = slot,
                           .incarnation = kLife,
                           .sequence = sequences_[slot] + 1,
                           .use = use,
                           .played = played_});
    Arrive(slot, base, outcome);
    if (outcome == 0) Update({Last(slot)});
  }
  std::uint64_t played_ = 0;
};

TEST_F(WithoutReuseTest, StepsComeWithTheFirstGradientOfAnUnrollThatIsHeld) {
  Use(1, 0, 0);
  Use(0, 0, 1, static_cast<std::uint8_t>(wire::Outcome::kNormTooLarge));
  Use(0, 1, 1), Use(0, 2, 2);
  played_ = 3;
  Use(0, 0, 3), Use(0, 1, 4);
  std::vector<std::uint64_t> steps;
  for (const UpdateRecord& update : Left<UpdateRecord>(1, 0)) steps.push_back(update.steps);
  EXPECT_THAT(steps, ElementsAre(40, 40, 80, 80));
  const auto uses = Left<learner::UseRecord>(1, 0);
  ASSERT_EQ(uses.size(), 5u);
  EXPECT_EQ(uses[2].played, 0u);
  EXPECT_EQ(uses[4].played, 2u) << "version 3 of the run";
}

}  // namespace
}  // namespace starling::replay
