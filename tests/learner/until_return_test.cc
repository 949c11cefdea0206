// run.until_return: the update at which a run ends by its score.
#include <gmock/gmock.h>

#include <cmath>

#include "learner/run_goal.h"
#include "tests/learner/engine_fixture.h"

namespace starling::learner {
namespace {

constexpr std::size_t kWindow = Counters::kEpisodeWindow;

class UntilReturnTest : public EngineFixture {
 protected:
  // A gradient of `slot` with so many episodes of one return.
  Received With(std::uint32_t slot, std::size_t episodes, double episode_return) {
    Received gradient = Gradient(slot);
    gradient.body.episodes.assign(episodes, {episode_return, 9});
    return gradient;
  }
  // It is applied, and its actor has the next grant.
  void Apply1(Received gradient) {
    EXPECT_EQ(Push(std::move(gradient)), "none");
    Apply();
    TakeReplies(1);
  }
  RunStatus Status() const { return engine_->Status(); }
  // A learner that goes on from the last state, with another configuration.
  void GoOn(const std::vector<std::string>& overrides) {
    start_.counters = Counters::Restore(engine_->counters().Save());
    start_.state.steps = engine_->pipeline().steps();
    start_.state.version = engine_->published();
    ++start_.state.term;
    engine_.reset();
    MakeEngine(overrides);
  }
};

TEST_F(UntilReturnTest, EndsAtTheUpdateThatFillsTheWindow) {
  JoinBoth({"run.until_return=2.5"});
  Apply1(With(0, kWindow - 1, 3));
  EXPECT_FALSE(engine_->over()) << "99 episodes";
  EXPECT_EQ(Push(With(1, 0, 0)), "none");
  Apply1(With(0, 1, 3));
  EXPECT_TRUE(engine_->over());
  EXPECT_EQ(engine_->published(), 3u);
  EXPECT_TRUE(GoalOf(config_).Reached(Status()));
  EXPECT_EQ(GoalOf(config_).Describe(Status()),
            "mean return 3.00 over the last 100 episodes: run.until_return = 2.5 is reached");
}

TEST_F(UntilReturnTest, NoUpdateFollows) {
  JoinBoth({"run.until_return=2.5"});
  EXPECT_EQ(Push(With(0, kWindow, 2.5)), "none");
  EXPECT_EQ(Push(With(1, kWindow, -7)), "none");
  Apply();
  EXPECT_TRUE(engine_->over()) << "at least as high";
  EXPECT_EQ(engine_->published(), 1u);
  EXPECT_EQ(Status().mean_return, 2.5) << "the second gradient is in no update";
}

TEST_F(UntilReturnTest, AWindowBelowItDoesNotEndTheRun) {
  JoinBoth({"run.until_return=2.5"});
  Apply1(With(0, kWindow, 2));
  EXPECT_FALSE(engine_->over());
  Apply1(With(0, kWindow / 2 - 1, 3));
  EXPECT_FALSE(engine_->over());
  Apply1(With(0, 1, 3));
  EXPECT_TRUE(engine_->over());
}

TEST_F(UntilReturnTest, WithoutItOrBeforeItTheStepsEndTheRun) {
  JoinBoth({"run.steps=8"});
  Apply1(With(0, kWindow, 1e9));
  EXPECT_FALSE(engine_->over()) << "never";
  EXPECT_EQ(GoalOf(config_).Describe(Status()), "");
  Apply1(With(0, 0, 0));
  EXPECT_TRUE(engine_->over());
  EXPECT_TRUE(GoalOf(config_).Reached(Status()));
}

TEST_F(UntilReturnTest, SchedulesFollowTheSteps) {
  JoinBoth({"run.until_return=2.5", "optimizer.lr_schedule=linear"});
  Apply1(With(0, 0, 0));
  Apply1(With(0, kWindow, 3));
  EXPECT_TRUE(engine_->over());
  EXPECT_NEAR(engine_->pipeline().lr(), 1 - 4.0 / 1000, 1e-9);
}

// With the order of arrival the same seed could end at another version.
TEST_F(UntilReturnTest, EpisodesAreCountedWithTheirUpdateInTheOrderOfTheSum) {
  JoinBoth({"staleness.bound=0"});
  EXPECT_EQ(Push(With(1, 60, 0)), "none");
  Apply();
  EXPECT_EQ(Status().episodes, 0u) << "it is held";
  EXPECT_EQ(Push(With(0, 60, 1)), "none");
  Apply();
  EXPECT_EQ(Status().episodes, 120u);
  EXPECT_EQ(Status().mean_return, 0.4) << "the first 20 that left the window are of slot 0";
}

TEST_F(UntilReturnTest, EpisodesThatWereNotToldCountToo) {
  JoinBoth({});
  Received many = With(0, kWindow, 2);
  many.body.episodes_before = 1000;
  Apply1(std::move(many));
  EXPECT_EQ(Status().episodes, 1000 + kWindow);
  EXPECT_EQ(Status().mean_return, 2);
}

TEST_F(UntilReturnTest, EpisodesOfRefusedGradientsCountWhileTheRunGoesOn) {
  JoinBoth({"run.until_return=2.5"});
  Received refused = With(0, 5, 1);
  refused.body.grant = 999;
  EXPECT_EQ(Push(std::move(refused)), "no_grant");
  EXPECT_EQ(Status().episodes, 5u);
  Apply1(With(0, kWindow, 3));
  ASSERT_TRUE(engine_->over());
  Received late = With(1, 50, -9);
  late.body.grant = 999;
  EXPECT_EQ(Push(std::move(late)), "no_grant");
  EXPECT_EQ(Status().mean_return, 3) << "the checkpoint keeps what has ended the run";
}

TEST_F(UntilReturnTest, AResumedRunIsOverAtOnceOrGoesOnWithAHigherOneOrNone) {
  JoinBoth({"run.until_return=0.1"});
  Apply1(With(0, kWindow - 1, 0.125));
  GoOn({"run.until_return=0.1"});
  EXPECT_FALSE(engine_->over()) << "one episode is missing";
  engine_->Join(0);
  engine_->Open();
  TakeReplies(1);
  Received last = With(0, 1, 0.125);
  last.header.term = start_.state.term;
  Apply1(std::move(last));
  EXPECT_TRUE(engine_->over());
  GoOn({"run.until_return=0.1"});
  EXPECT_TRUE(engine_->over());
  EXPECT_TRUE(engine_->idle());
  GoOn({"run.until_return=0.2"});
  EXPECT_FALSE(engine_->over());
  GoOn({"run.until_return=never"});
  EXPECT_FALSE(engine_->over());
}

TEST(RunGoalTest, ANumberThatIsNoneReachesNothing) {
  const RunGoal goal{.steps = 10, .until_return = -5};
  EXPECT_FALSE(goal.ReturnReached(kWindow, NAN));
  EXPECT_TRUE(goal.ReturnReached(kWindow, -5));
  EXPECT_FALSE(RunGoal{.steps = 10}.ReturnReached(kWindow, INFINITY)) << "never";
  EXPECT_FALSE(goal.Reached(RunStatus{.steps = 9})) << "no episode has ended";
  EXPECT_TRUE(goal.Reached(RunStatus{.steps = 10}));
}

}  // namespace
}  // namespace starling::learner
