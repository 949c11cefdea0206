// Mean times from the status lines of a run.
#include "tools/simulate/simulate.h"

#include <fmt/format.h>
#include <gmock/gmock.h>

#include "results/run_dir.h"
#include "tests/support/error_of.h"
#include "tests/support/temp_dir.h"

namespace starling::simulate {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

// After so many hundreds of gradients, each an update: 0.5 ms to take weights, 2 + 3 + 0.25 ms to
// act (0.5 of them waiting for envs), compute and push, 6.5 ms of waiting; 0.3 + 0.2 ms in the
// network thread and 2 ms in the lanes.
std::string Line(int hundreds, int term = 1) {
  const double gradients = 100.0 * hundreds;
  const auto s = [&](double ms) { return ms * gradients / 1000; };
  return fmt::format(
      R"({{"phase":"running","term":{},"updates":{},"gradients":{{"received":{},"applied":{}}},)"
      R"("time":{{"actors":{{"wait":{},"refresh":{},"act":{},"act_wait":{},)"
      R"("gradient":{},"push":{}}},)"
      R"("learner":{{"receive":{},"dispatch":{},"idle":1,"lanes":{}}}}}}})"
      "\n",
      term, gradients, gradients, gradients, s(6.5), s(0.5), s(1.5), s(0.5), s(3), s(0.25), s(0.3),
      s(0.2), s(2));
}

class CalibrateTest : public testing::Test {
 protected:
  CalibrateTest() {
    config_.actors.count = 1;
    config_.updates.in_flight = 1;
  }
  SimulateConfig Between(const std::string& first, const std::string& last) {
    const auto times =
        TimesBetween(*learner::ParseStatus(first), *learner::ParseStatus(last), config_, base_);
    EXPECT_TRUE(times);
    return times.value_or(SimulateConfig{});
  }
  std::vector<std::string> Take(const std::vector<std::string>& keep = {}) {
    return TakeTimes(dir_.path(), keep, mine_);
  }
  std::string Mistake() {
    return ErrorOf([&] { Take(); });
  }
  TempDir dir_;
  Config config_;  // of the run
  SimulateConfig base_{.apply_ms = 4, .merge_ms = 1, .stragglers = 3};
  Config mine_;
};

TEST_F(CalibrateTest, MeansOfWhatCameBetweenTwoMoments) {
  const SimulateConfig times = Between(Line(1), Line(4));
  EXPECT_NEAR(times.compute_ms, 5.25, 1e-9);
  EXPECT_NEAR(times.refresh_ms, 0.5, 1e-9);
  EXPECT_NEAR(times.receive_ms, 0.5, 1e-9);
  EXPECT_NEAR(times.apply_ms, 2, 1e-9);
  EXPECT_NEAR(times.merge_ms, 0.5, 1e-9) << "as many times apply_ms as before";
  EXPECT_NEAR(times.network_ms, 2, 1e-9) << "(6.5 - 0.5 - 2) / 2";
  EXPECT_EQ(times.stragglers, 3);
}

TEST_F(CalibrateTest, AWaitThatHasOtherReasonsTellsNothingOfTheNetwork) {
  base_.network_ms = 7;
  config_.staleness.bound = 4;
  EXPECT_EQ(Between(Line(1), Line(4)).network_ms, 7);
  config_.staleness.bound = kUnbounded;
  config_.updates.in_flight = 2;
  EXPECT_EQ(Between(Line(1), Line(4)).network_ms, 7);
}

TEST_F(CalibrateTest, ThePaceOfTheEnvsIsNotComputed) {
  config_.env.step_ms = 0.5;
  config_.actors.unroll = 4;
  EXPECT_NEAR(Between(Line(1), Line(4)).compute_ms, 3.25, 1e-9);
}

TEST_F(CalibrateTest, AnUpdateOfManyGradientsTakesTheLanesLonger) {
  learner::RunStatus end = *learner::ParseStatus(Line(4));  // 800 ms in the lanes
  end.updates = 100;  // of four gradients each: 1 + 3 / 4 as long
  const auto times = TimesBetween({}, end, config_, base_);
  ASSERT_TRUE(times);
  EXPECT_NEAR(times->apply_ms, 800 / 175.0, 1e-9);
  EXPECT_NEAR(times->merge_ms, times->apply_ms / 4, 1e-9);
}

TEST_F(CalibrateTest, TooFewGradientsTellNothing) {
  EXPECT_FALSE(
      TimesBetween(*learner::ParseStatus(Line(4)), *learner::ParseStatus(Line(4)), config_, base_));
}

TEST_F(CalibrateTest, TheLastTermCountsFromItsFirstLine) {
  const auto two = LastTermOf(Line(1) + Line(3) + Line(2, 2) + Line(5, 2) + "{\"torn");
  ASSERT_TRUE(two);
  EXPECT_EQ(two->first.updates, 200u);
  EXPECT_EQ(two->last.updates, 500u);
  const auto one = LastTermOf(Line(3));
  ASSERT_TRUE(one);
  EXPECT_EQ(one->first.updates, 0u) << "a run's only line is all of it";
  EXPECT_FALSE(LastTermOf(Line(3) + Line(4, 2))) << "of a resumed one it is not";
  EXPECT_FALSE(LastTermOf(""));
}

TEST_F(CalibrateTest, WhatTheLearnerDidBeforeTheFirstGrantIsNotCountedAgain) {
  const std::string waiting = R"({"phase":"waiting","term":1,)"
                              R"("time":{"learner":{"receive":5,"dispatch":7,"idle":1,"lanes":0}}})"
                              "\n";
  const auto lines = LastTermOf(waiting + Line(4));
  ASSERT_TRUE(lines);
  const auto times = TimesBetween(lines->first, lines->last, config_, base_);
  ASSERT_TRUE(times);
  EXPECT_NEAR(times->receive_ms, 0.5, 1e-9);
}

TEST_F(CalibrateTest, TakesThoseOfARunButWhatWasSet) {
  results::WriteConfig(dir_.path(), config_);
  dir_.Write("metrics.jsonl", Line(1) + Line(4));
  mine_.simulate.refresh_ms = 9;
  EXPECT_THAT(Take({"simulate.refresh_ms"}), SizeIs(1));
  EXPECT_NEAR(mine_.simulate.compute_ms, 5.25, 1e-9);
  EXPECT_EQ(mine_.simulate.refresh_ms, 9);
}

TEST_F(CalibrateTest, SaysWhatARunDoesNotTell) {
  config_.updates.in_flight = 2;
  config_.actors.count = 1024;
  results::WriteConfig(dir_.path(), config_);
  dir_.Write("metrics.jsonl", Line(1) + Line(4));
  const auto said = Take();
  ASSERT_THAT(said, SizeIs(3));
  EXPECT_THAT(said[0], HasSubstr("compute_ms 5.25, refresh_ms 0.5"));
  EXPECT_THAT(said[1], HasSubstr("does not tell network_ms"));
  EXPECT_THAT(said[2], HasSubstr("had 1024 actors and this machine has"));
}

TEST_F(CalibrateTest, MistakesAreSaid) {
  EXPECT_THAT(Mistake(), HasSubstr("it has no config.toml: not a run"));
  results::WriteConfig(dir_.path(), config_);
  EXPECT_THAT(Mistake(), HasSubstr("metrics.jsonl does not tell how long things took"));
  dir_.Write("metrics.jsonl", Line(1) + Line(1));
  EXPECT_THAT(Mistake(), HasSubstr("does not tell how long"));
  results::MarkSimulated(dir_.path(), "simulate");
  EXPECT_THAT(Mistake(), HasSubstr("it was simulated itself"));
  std::filesystem::remove(dir_ / "simulated");
  mine_.actors.unroll = 2 * config_.actors.unroll;
  EXPECT_THAT(Mistake(), HasSubstr("its gradients are of 160 samples, those of this configuration "
                                   "of 320"));
  config_.updates.epochs = 4;
  results::WriteConfig(dir_.path(), config_);
  EXPECT_THAT(Mistake(), HasSubstr("an unroll of that run has 4 gradients and recomputes each"));
}

}  // namespace
}  // namespace starling::simulate
