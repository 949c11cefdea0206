// run.until_return: runs that end by their score.
#include "learner/storage/checkpoint.h"
#include "tests/system/run_fixture.h"

namespace starling {
namespace {

using testing::HasSubstr;

class UntilReturnSystemTest : public RunTest {
 protected:
  // Catch has it after a fraction of these steps.
  static constexpr std::uint64_t kMany = 4'000'000;
  const Strings wanted_ = {Steps(kMany), "run.until_return=0.5", "actors.count=2"};

  int Resume(const Strings& settings = {}) {
    resumed_ = Start("starling", ResumeWords(settings));
    return WaitFor(*resumed_);
  }
  void ExpectReached(int status) const {
    ExpectDone(status, 1);
    ExpectScore(Summary());
  }
  static void ExpectScore(const json& summary) {
    EXPECT_LT(summary["steps"], kMany);
    EXPECT_GE(summary["mean_return"], 0.5);
    EXPECT_GE(summary["episodes"], 100);
    EXPECT_EQ(summary["until_return"], 0.5);
  }
  std::string LastWeights() const { return Summary()["final_checkpoint"]; }

  std::unique_ptr<Process> resumed_;
};

TEST_F(UntilReturnSystemTest, EndsThereAndIsComplete) {
  ExpectReached(Train(wanted_));
  EXPECT_THAT(said_, HasSubstr("over the last 100 episodes: run.until_return = 0.5 is reached"));
  EXPECT_THAT(Log(), HasSubstr("over the last 100 episodes: run.until_return = 0.5 is reached"));
  const std::string last = LastWeights();
  const json before = Summary();

  EXPECT_EQ(Resume(), 0);
  EXPECT_THAT(resumed_->err(),
              testing::ContainsRegex("is complete \\(mean return 0\\.[0-9]+ over the last 100 "
                                     "episodes: run.until_return = 0.5 is reached\\); to go on, "
                                     "raise --set run.until_return=... or set it to \"never\"\n"));
  EXPECT_EQ(LastWeights(), last);

  // It goes on, by a few updates.
  const std::uint64_t more = before["steps"].get<std::uint64_t>() + 3200;
  ExpectDone(Resume({Steps(more), "run.until_return=never"}), more);
  EXPECT_GT(Summary()["updates"], before["updates"]);
  EXPECT_FALSE(Summary().contains("until_return"));

  const auto replay = Start("starling", {"replay", run().string()});
  EXPECT_EQ(WaitFor(*replay), 0) << said_;
  EXPECT_THAT(replay->out(), HasSubstr("bit for bit"));
}

TEST_F(UntilReturnSystemTest, AtBoundZeroTheSameSeedEndsAtTheSameVersion) {
  const Strings settings = Plus(wanted_, {"staleness.bound=0", "checkpoint.every_steps=20000",
                                          "actors.count=3", "checkpoint.keep=100"});
  ExpectReached(Train(settings));
  const auto first = learner::ReadCheckpoint(run() / LastWeights());
  ASSERT_EQ(WaitFor(*Start("starling", TrainWords(settings, "again"))), 0) << said_;
  const json again = json::parse(TextOf(dir_ / "again/summary.json"));
  EXPECT_EQ(again["mean_return"], Summary()["mean_return"]);
  EXPECT_EQ(again["episodes"], Summary()["episodes"]);
  ASSERT_EQ(again["final_checkpoint"], LastWeights());
  EXPECT_TRUE(learner::ReadCheckpoint(dir_ / "again" / LastWeights()).weights == first.weights);

  // The learner was killed before its last checkpoint: the redo counts the same episodes, and the
  // learner that goes on from it is at the end.
  const std::string last = LastWeights();
  ASSERT_GE(Checkpoints().size(), 3u);
  std::filesystem::remove(learner::ActorStatesPath(run() / last));
  std::filesystem::remove(run() / last);
  std::filesystem::remove(run() / "summary.json");
  ExpectReached(Resume());
  EXPECT_THAT(Log(), HasSubstr("redoing "));
  EXPECT_EQ(Summary()["updates"], again["updates"]);
  EXPECT_EQ(Summary()["mean_return"], again["mean_return"]);
  EXPECT_EQ(learner::ReadCheckpoint(run() / LastWeights()).version, first.version);
}

TEST_F(UntilReturnSystemTest, WithShardsShardZeroDecides) {
  ASSERT_EQ(Train(Plus(wanted_, {"learner.shards=2"})), 0) << said_;
  ExpectScore(Summary());
  const auto last = learner::ReadCheckpoint(run() / LastWeights());  // the parts of both
  EXPECT_EQ(last.version, Summary()["updates"]);
  ExpectNothingLeft();
}

TEST_F(UntilReturnSystemTest, ALearnerByHand) {
  const auto learner = StartLearner(Plus(wanted_, {"actors.count=1"}));
  const auto actor = StartActor();
  ExpectAllEnd(learner, actor);
  ExpectReached(0);
  // By hand a complete run is over at once.
  EXPECT_EQ(WaitFor(*ResumeLearner()), 0) << said_;
  ExpectReached(0);
}

TEST_F(UntilReturnSystemTest, InVirtualTime) {
  Strings words = TrainWords(Plus(wanted_, {"actors.count=4"}));
  words.front() = "simulate";
  ExpectReached(WaitFor(*Start("starling", words)));
}

#ifdef STARLING_MPIRUN
TEST_F(UntilReturnSystemTest, WithoutALearner) {
  ExpectReached(Train(Plus(wanted_, {"staleness.bound=0", "updates.exchange=allreduce"})));
}
#endif

}  // namespace
}  // namespace starling
