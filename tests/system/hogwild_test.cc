// learner.apply = "hogwild" on real processes: it learns, keeps the bound, counts everything and
// restarts after a crash. That bound 0 gives the bits of the lanes is in staleness_test.cc.
#include "tests/system/run_fixture.h"

namespace starling {
namespace {

using testing::HasSubstr;

class HogwildTest : public RunTest {
 protected:
  static Strings With(const Strings& settings) {
    return Plus({"learner.apply=hogwild", "learner.threads=2"}, settings);
  }
};

class HogwildLearnsTest : public HogwildTest, public testing::WithParamInterface<const char*> {};
INSTANTIATE_TEST_SUITE_P(Bounds, HogwildLearnsTest, testing::Values("unbounded", "4"),
                         [](const auto& test) { return std::string(test.param); });

TEST_P(HogwildLearnsTest, CatchWithinTheBound) {
  const int status = Train(With({"actors.count=3", std::string("staleness.bound=") + GetParam()}));
  ExpectDone(status, 150'000);  // which holds max against the bound, and that all adds up
  const json summary = Summary();
  EXPECT_EQ(summary["gradients"]["dropped"], json::object());
  EXPECT_GT(summary["mean_return"], 0.5);  // +1 caught, -1 missed
}

TEST_F(HogwildTest, DropsWhatIsLateAndMergesWhatItIsTold) {
  ExpectDone(Train(With({"run.steps=32000", "actors.count=5", "staleness.bound=1",
                         "staleness.on_exceed=drop", "updates.gradients=2"})),
             32'000);
}

TEST_F(HogwildTest, GoesOnFromACheckpointThatWasMadeOnTheWay) {
  auto train = StartTrain(With(
      {Steps(kSeconds / 4), "actors.count=2", "learner.threads=4", "checkpoint.every_steps=8000"}));
  ASSERT_TRUE(AwaitCheckpoint(*train));
  ASSERT_TRUE(KillLearner());
  ExpectDone(WaitFor(*train), kSeconds / 4);
  EXPECT_EQ(Summary()["learner"]["restarted"], 1);
}

TEST_F(HogwildTest, IsNotReplayedButExplained) {
  ASSERT_EQ(Train(With({"run.steps=8000", "actors.count=2"})), 0);
  EXPECT_EQ(WaitFor(*Start("starling", {"replay", run().string()})), 2);
  EXPECT_THAT(said_, HasSubstr("cannot be replayed: its weights were applied by learner.apply = "
                               "\"hogwild\""));
  auto explain = Start("starling", {"replay", run().string(), "--explain", "3"});
  EXPECT_EQ(WaitFor(*explain), 0);
  EXPECT_THAT(explain->out(), HasSubstr("version 3: 1 gradient, "));
}

}  // namespace
}  // namespace starling
