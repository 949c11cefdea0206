#include "learner/status_reporter.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <map>

#include "tests/support/learner_fixture.h"

namespace starling::learner {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;
using testing::Pair;

const RunStatus kStatus{
    .phase = "running",
    .steps = 3000,
    .updates = 20,
    .seconds = 6.5,
    .mean_return = 1.5,
    .mean_length = 42.0,
    .lr = 0.003,
    .losses = {.policy = -0.5, .value = 0.25, .entropy = 1.75, .grad_norm = 2.5},
    .staleness = {.max = 7, .mean = 0.5}};

std::map<std::string, double> Charts(const RunStatus& status, const RunStatus& before) {
  std::map<std::string, double> charts;
  for (const Scalar& scalar : ScalarsOf(status, before)) charts[scalar.tag] = scalar.value;
  return charts;
}

TEST(Scalars, HoldEveryNumberAndTheSpeedSinceTheLineBefore) {
  const RunStatus before{.steps = 2000, .updates = 15, .seconds = 4.5};
  EXPECT_THAT(
      Charts(kStatus, before),
      ElementsAre(Pair("episode_length", 42), Pair("loss/entropy", 1.75), Pair("loss/policy", -0.5),
                  Pair("loss/value", 0.25), Pair("optimizer/gradient_norm", 2.5),
                  Pair("optimizer/learning_rate", 0.003), Pair("return", 1.5),
                  Pair("speed/steps_per_second", 500), Pair("speed/updates_per_second", 2.5),
                  Pair("staleness/max", 7), Pair("staleness/mean", 0.5)));
}

TEST(Scalars, UnknownValuesHaveNoPoint) {
  RunStatus status = kStatus;
  status.mean_return.reset();
  status.losses.policy = NAN;
  const auto charts = Charts(status, {.steps = 3000, .updates = 20, .seconds = 6.5});
  EXPECT_EQ(charts.count("return") + charts.count("loss/policy"), 0u);
  EXPECT_EQ(charts.count("speed/steps_per_second"), 0u) << "no time has passed";
  EXPECT_EQ(charts.size(), 7u);
}

// Before the first gradient of a learner its losses are unknown: the status has zeros.
TEST(TensorBoardLog, ShowsNothingUntilAStepIsMade) {
  const TempDir dir;
  TensorBoardLog board(true, dir.path(), 3000);
  board.Show(kStatus);
  const auto file = std::filesystem::directory_iterator(dir / "tensorboard")->path();
  EXPECT_EQ(std::filesystem::file_size(file), 0u);
  RunStatus status = kStatus;
  status.steps = 3160;
  board.Show(status);
  const auto size = std::filesystem::file_size(file);
  EXPECT_GT(size, 0u);
  board.Show(status);
  EXPECT_EQ(std::filesystem::file_size(file), size);
}

class TensorBoardTest : public LearnerFixture {
 protected:
  // Returns the contents of all event files.
  std::string Events() const {
    std::string all;
    for (const auto& entry : std::filesystem::directory_iterator(dir_ / "tensorboard")) {
      all += dir_.Read("tensorboard/" + entry.path().filename().string());
    }
    return all;
  }
};

TEST_F(TensorBoardTest, ALearnerWritesEventsBesideItsMetrics) {
  Start();
  TrainOnce();
  Stop();
  const std::string events = Events();
  for (const char* text : {"brain.Event:2", "loss/value", "staleness/mean", "learning_rate"}) {
    EXPECT_THAT(events, HasSubstr(text));
  }
  EXPECT_THAT(events, Not(HasSubstr("episode_length"))) << "no episode has ended";
}

TEST_F(TensorBoardTest, WritesNothingIfDisabled) {
  Start("run.tensorboard=false");
  Stop();
  EXPECT_FALSE(std::filesystem::exists(dir_ / "tensorboard"));
}

TEST_F(TensorBoardTest, TrainingContinuesIfItCannotWrite) {
  dir_.Write("tensorboard", "in the way");
  testing::internal::CaptureStderr();
  Start();
  TrainOnce();
  Stop();
  EXPECT_THAT(testing::internal::GetCapturedStderr(), HasSubstr("nothing for TensorBoard: "));
  EXPECT_EQ(counters().applied, 1u);
}

}  // namespace
}  // namespace starling::learner
