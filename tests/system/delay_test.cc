// staleness.delay and staleness.correction on real processes: every gradient has the same
// staleness, over shared memory and over tcp, and with it a run gives the same bits every time; a
// run whose gradients are mended is replayed bit for bit.
#include <cstdint>

#include "learner/storage/checkpoint.h"
#include "tests/system/run_fixture.h"

namespace starling {
namespace {

constexpr std::uint64_t kUpdates = 200;

class DelayTest : public RunTest {
 protected:
  // Trains three actors, and returns what the run ended with. Its directory goes.
  learner::Checkpoint TrainDelayed(const Strings& more) {
    const Strings delayed = {Steps(kUpdates * kSamples), "actors.count=3", "staleness.delay=4"};
    EXPECT_EQ(Train(Plus(delayed, more)), 0) << said_;
    ExpectSound(Summary());
    histogram_ = Summary()["staleness"]["histogram"].get<std::vector<std::uint64_t>>();
    auto last = learner::LastGood(run() / "checkpoints").checkpoint;
    std::filesystem::remove_all(run());
    EXPECT_TRUE(last);
    return last ? *std::move(last) : learner::Checkpoint{};
  }
  std::vector<std::uint64_t> histogram_;
};

TEST_F(DelayTest, EveryGradientIsAsOldAndTheBitsAreTheSame) {
  const learner::Checkpoint first = TrainDelayed({});
  const std::vector<std::uint64_t> expected = {1, 1, 1, 1, kUpdates - 4};
  EXPECT_EQ(histogram_, expected);
  for (const Strings& more : {Strings{}, Strings{"wire.endpoint=tcp://127.0.0.1:0"},
                              Strings{"staleness.bound=16", "learner.threads=2"}}) {
    const learner::Checkpoint again = TrainDelayed(more);
    EXPECT_EQ(histogram_, expected);
    EXPECT_TRUE(again.weights == first.weights) << testing::PrintToString(more);
    EXPECT_TRUE(again.optimizer_state == first.optimizer_state);
  }
}

// Both begin with the same net and draw the same random numbers.
TEST_F(DelayTest, AFleetGivesTheBitsOfItsSimulation) {
  const learner::Checkpoint fleet = TrainDelayed({});
  Strings words = TrainWords({Steps(kUpdates * kSamples), "actors.count=3", "staleness.delay=4"});
  words.front() = "simulate";
  const auto simulation = Start("starling", words);
  ASSERT_EQ(WaitFor(*simulation), 0) << said_;
  const auto simulated = learner::LastGood(run() / "checkpoints").checkpoint;
  ASSERT_TRUE(simulated);
  EXPECT_EQ(simulated->version, kUpdates);
  EXPECT_TRUE(simulated->weights == fleet.weights);
}

class CorrectionTest : public RunTest, public testing::WithParamInterface<const char*> {};

TEST_P(CorrectionTest, AMendedRunIsReplayed) {
  const Strings settings = {Steps(kUpdates * kSamples), "actors.count=3", "staleness.bound=4",
                            fmt::format("staleness.correction={}", GetParam())};
  ASSERT_EQ(Train(settings), 0) << said_;
  EXPECT_GT(Summary()["staleness"]["mean"], 0.5);
  const auto replay = Start("starling", {"replay", run().string()});
  EXPECT_EQ(WaitFor(*replay), 0) << said_;
  EXPECT_THAT(replay->out() + replay->err(), testing::HasSubstr("bit for bit"));
}

INSTANTIATE_TEST_SUITE_P(Kinds, CorrectionTest,
                         testing::Values("delay_compensated", "delay_compensated_adaptive", "gap"),
                         [](const auto& test) { return std::string(test.param); });

// A run keeps its correction.
TEST_F(DelayTest, ACorrectionIsNotTakenUpOnTheWay) {
  ASSERT_EQ(Train({Steps(10 * kSamples), "actors.count=2", "staleness.bound=4"}), 0) << said_;
  const auto resumed =
      Start("starling", ResumeWords({Steps(20 * kSamples), "staleness.correction=gap"}));
  EXPECT_EQ(WaitFor(*resumed), 2);
  EXPECT_THAT(said_, testing::HasSubstr("staleness.correction is another one"));
}

}  // namespace
}  // namespace starling
