// The evaluator in a thread of the test, which plays the learner: it publishes weights.
#include "fleet/eval_process.h"

#include <gmock/gmock.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <optional>
#include <thread>

#include "actors/evaluator.h"
#include "learner/storage/start.h"
#include "results/eval_results.h"
#include "results/initial_net.h"
#include "results/run_dir.h"
#include "tests/support/error_of.h"
#include "tests/support/fleet_fixtures.h"
#include "wire/runtime_dir.h"
#include "wire/snapshot.h"

namespace starling::fleet {
namespace {

using testing::ElementsAre;
using testing::Field;
using testing::SizeIs;

auto Version(std::uint64_t version) { return Field(&results::EvalLine::version, version); }

class EvalProcessTest : public testing::Test {
 protected:
  EvalProcessTest() : stop_fd_(eventfd(0, EFD_CLOEXEC)) {
    results::WriteConfig(dir_.path(), config_);
    std::filesystem::create_directory(dir_ / "checkpoints");
  }
  ~EvalProcessTest() override {
    Finish();
    close(stop_fd_);
  }

  Config MakeConfig() const {
    return ParseConfig(
        "[run]\nseed = 5\n[env]\nname = \"catch\"\n[actors]\ncount = 1\n[net]\n"
        "kind = \"mlp\"\nhidden = [4]\n[eval]\nevery_steps = 100\nepisodes = 200\n",
        "x.toml", {"wire.runtime_dir=" + runtime_.path().string()});
  }

  // A learner of this term; the one before is gone.
  void StartLearner(std::uint32_t term) {
    StopLearner();
    place_.emplace(
        wire::RuntimeDir::Create(wire::RuntimeRoot(config_.wire.runtime_dir), dir_.path()));
    writer_.emplace(place_->SnapshotPath(term), net_.layout.size(), net_.layout.fingerprint(),
                    term);
  }
  void StopLearner() {
    writer_.reset();
    place_.reset();
  }
  // Weights that differ from version to version.
  std::vector<float> WeightsOf(std::uint64_t version) const {
    std::vector<float> weights = net_.initial;
    for (float& weight : weights) weight /= 1 + static_cast<float>(version);
    return weights;
  }
  void Publish(std::uint64_t version, std::uint64_t steps) {
    writer_->Begin(version);
    writer_->Write(version, 0, WeightsOf(version));
    writer_->Publish({.term = writer_->term(), .version = version, .steps = steps, .entropy = 0});
  }
  void Save(std::uint32_t term, std::uint64_t version, std::uint64_t steps) {
    learner::WriteCheckpoint(dir_ / "checkpoints",
                             learner::CheckpointOf(config_, net_.layout, net_.spaces,
                                                   {.state = {.term = term,
                                                              .version = version,
                                                              .steps = steps,
                                                              .weights = WeightsOf(version),
                                                              .optimizer_state = {net_.initial}}}));
  }

  void StartEvaluator() {
    thread_ =
        std::thread([this] { RunEvalProcess({.run_dir = dir_.path(), .stop_fd = stop_fd_}); });
  }
  void Finish() {
    if (!thread_.joinable()) return;
    eventfd_write(stop_fd_, 1);
    thread_.join();
  }

  std::vector<results::EvalLine> Lines() const { return results::ReadEvalLines(dir_.path()); }
  bool AwaitLines(std::size_t count) {
    return Eventually([&] { return Lines().size() >= count; });
  }

  TempDir dir_, runtime_;
  const Config config_ = MakeConfig();
  const learner::InitialNet net_ = results::InitialNetOf(config_);
  std::optional<wire::RuntimeDir> place_;
  std::optional<wire::SnapshotWriter> writer_;
  const int stop_fd_;
  std::thread thread_;
};

TEST_F(EvalProcessTest, PlaysTheNewestWeightsWhenAMultipleIsPassed) {
  StartLearner(3);
  Publish(0, 0);
  StartEvaluator();
  Publish(1, 99);
  Publish(2, 120);
  ASSERT_TRUE(AwaitLines(1));
  Finish();  // the best is saved after the line
  // The result of a later evaluation with the same seed, which is that of the run plus the version.
  const auto evaluate = [&](std::uint64_t seed) {
    return actors::Evaluate(config_, WeightsOf(2), {.episodes = 200, .seed = seed});
  };
  const actors::EvalResult same = evaluate(5 + 2);
  ASSERT_NE(evaluate(5).mean, same.mean) << "the test cannot tell seeds apart";
  const results::EvalLine line = Lines()[0];
  EXPECT_EQ(line, (results::EvalLine{.steps = 120,
                                     .term = 3,
                                     .version = 2,
                                     .episodes = 200,
                                     .mean_return = same.mean,
                                     .std = same.std,
                                     .seconds = line.seconds}));
  const learner::Checkpoint best = learner::ReadCheckpoint(results::BestPath(dir_.path()));
  EXPECT_EQ(best.version, 2u);
  EXPECT_EQ(best.weights, WeightsOf(2));
  EXPECT_EQ(best.config, ToToml(config_));
  EXPECT_EQ(best.spaces, net_.spaces);
  EXPECT_THAT(best.optimizer_state, testing::IsEmpty());
}

TEST_F(EvalProcessTest, WhatItIsTooLateForItSkips) {
  StartLearner(1);
  Publish(0, 150);
  Publish(1, 250);
  Publish(2, 350);
  StartEvaluator();
  ASSERT_TRUE(AwaitLines(1));
  Publish(3, 399);
  Publish(4, 1000);
  ASSERT_TRUE(AwaitLines(2));
  Finish();
  EXPECT_THAT(Lines(), ElementsAre(Version(2), Version(4)));
}

TEST_F(EvalProcessTest, TheWeightsAtTheEndAreThoseOfTheLastCheckpoint) {
  StartLearner(1);
  Publish(1, 110);
  StartEvaluator();
  ASSERT_TRUE(AwaitLines(1));
  Publish(2, 150);
  Save(1, 2, 150);
  StopLearner();
  Finish();
  EXPECT_THAT(Lines(), ElementsAre(Version(1), Version(2)));
}

TEST_F(EvalProcessTest, NoVersionIsEvaluatedTwice) {
  Save(1, 0, 0);
  StartLearner(1);
  Publish(1, 110);
  StartEvaluator();
  ASSERT_TRUE(AwaitLines(1));
  Save(1, 1, 110);
  Finish();
  EXPECT_THAT(Lines(), SizeIs(1));
  // Nor by the next one; an older one is not worth it either.
  RunEvalProcess({.run_dir = dir_.path(), .finish = true});
  EXPECT_THAT(Lines(), SizeIs(1));
}

TEST_F(EvalProcessTest, OnlyToFinishItNeedsNoLearner) {
  Save(1, 7, 70);
  RunEvalProcess({.run_dir = dir_.path(), .finish = true});
  EXPECT_THAT(Lines(), ElementsAre(Version(7)));
  EXPECT_THAT(learner::ReadCheckpoint(results::BestPath(dir_.path())).optimizer_state, SizeIs(1));
  EXPECT_FALSE(std::filesystem::is_empty(dir_ / "tensorboard/eval"));
}

TEST_F(EvalProcessTest, FollowsALearnerThatWentOnFromACheckpoint) {
  StartEvaluator();
  StartLearner(1);
  Publish(40, 410);
  ASSERT_TRUE(AwaitLines(1));
  StartLearner(2);
  std::uint64_t version = 20;
  ASSERT_TRUE(Eventually([&] {  // it looks now and then
    Publish(version, 10 * version);
    ++version;
    return Lines().size() >= 2;
  }));
  EXPECT_EQ(Lines()[1].term, 2u);
}

// As after kill -9: the multiple that was evaluated is not due again.
TEST_F(EvalProcessTest, GoesOnBehindWhatIsThere) {
  results::EvalResults(dir_.path())
      .Add({.steps = 110, .term = 1, .version = 1},
           learner::CheckpointOf(config_, net_.layout, net_.spaces,
                                 {.state = {.weights = net_.initial, .optimizer_state = {}}}));
  StartLearner(1);
  Publish(2, 190);
  StartEvaluator();
  Publish(3, 199);
  Publish(4, 200);
  ASSERT_TRUE(AwaitLines(2));
  Finish();
  EXPECT_THAT(Lines(), ElementsAre(Version(1), Version(4)));
}

TEST_F(EvalProcessTest, EndsWithoutAnythingToEvaluate) {
  StartEvaluator();
  Finish();
  EXPECT_THAT(Lines(), SizeIs(0));
}

TEST_F(EvalProcessTest, EndsWithItsParent) {
  RunEvalProcess({.run_dir = dir_.path(), .abandoned = [] { return true; }});
}

TEST_F(EvalProcessTest, ARunWithoutEvaluationIsTheOperatorsMistake) {
  Config off = config_;
  off.eval.every_steps = 0;
  results::WriteConfig(dir_.path(), off);
  EXPECT_THAT(ErrorOf([&] { RunEvalProcess({.run_dir = dir_.path()}); }),
              testing::HasSubstr("eval.every_steps = 0"));
}

struct Look {
  std::uint64_t steps;
  bool due;
  std::uint64_t taken = 0;  // steps of the weights that are evaluated then; 0: none are
};

TEST(EvalSchedule, OncePerMultipleWhenItIsPassed) {
  const struct {
    const char* rule;
    std::uint64_t last;  // steps of the last evaluation
    std::vector<Look> looks;
  } cases[] = {
      {"due until weights are taken, and then at the next multiple",
       0,
       {{0, false},
        {99, false},
        {100, true},
        {103, true, 103},
        {103, false},
        {199, false},
        {207, true}}},
      {"multiples that were missed are not made up for",
       0,
       {{560, true, 560}, {599, false}, {600, true}}},
      // The copy may be newer than the version that was looked at.
      {"what counts is what was taken", 0, {{199, true, 203}, {204, false}, {300, true}}},
      {"goes on behind the last evaluation", 230, {{240, false}, {300, true}}},
      {"steps that go back, as from a checkpoint, count from there",
       0,
       {{730, true, 730}, {250, false}, {299, false}, {300, true}}},
      {"steps that went back while nobody looked", 730, {{250, false}, {310, true}}},
  };
  for (const auto& [rule, last, looks] : cases) {
    EvalSchedule schedule(100, last);
    for (const auto& [steps, due, taken] : looks) {
      EXPECT_EQ(schedule.Due(steps), due) << rule << ", at " << steps;
      if (taken > 0) schedule.Done(taken);
    }
  }
}

}  // namespace
}  // namespace starling::fleet
