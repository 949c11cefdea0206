// Runs that start from the weights of others.
#include "learner/storage/checkpoint.h"
#include "tests/system/run_fixture.h"

namespace starling {
namespace {

using testing::HasSubstr;

using InitFromTest = RunTest;

TEST_F(InitFromTest, ARunStartsFromTheWeightsOfAnother) {
  ASSERT_EQ(Train({"run.steps=20000", "actors.count=1"}), 0) << said_;
  const std::string final_checkpoint = Summary()["final_checkpoint"];
  const auto last = learner::ReadCheckpoint(run() / final_checkpoint);
  const std::filesystem::path other = dir_ / "other";
  const Strings words = {
      "train",     config_,          "--init-from", run().string(),
      "--run-dir", other.string(),   "--set",       "run.steps=320",
      "--set",     "actors.count=1", "--set",       "wire.runtime_dir=" + runtime().string()};
  ASSERT_EQ(WaitFor(*Start("starling", words)), 0) << said_;
  const auto first = learner::ReadCheckpoint(other / "checkpoints" / learner::CheckpointName(1, 0));
  EXPECT_EQ(first.weights, last.weights);
  EXPECT_EQ(first.steps, 0u);
  EXPECT_EQ(first.optimizer_step, 0u);
  EXPECT_THAT(first.state, testing::Each(testing::Each(0.0f)));
  const json summary = json::parse(TextOf(other / "summary.json"));
  EXPECT_EQ(summary["init_from"], (run() / final_checkpoint).string());
  EXPECT_LT(summary["steps"], 20'000);
}

TEST_F(InitFromTest, ALearnerByHandRefusesAnotherNetBeforeItMakesADirectory) {
  ASSERT_EQ(Train({"run.steps=160", "actors.count=1"}), 0) << said_;
  const Strings words = {config_,           "--run-dir", (dir_ / "other").string(),        "--set",
                         "net.hidden=[32]", "--set",     "run.init_from=" + run().string()};
  EXPECT_EQ(WaitFor(*Start("starling-learner", words)), 2);
  EXPECT_THAT(said_, HasSubstr("cannot be started from: its net has fc1.weight (50, "));
  EXPECT_FALSE(std::filesystem::exists(dir_ / "other"));
}

}  // namespace
}  // namespace starling
