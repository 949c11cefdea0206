// Going on with a run, from the newest checkpoint that is good or not at all; and new runs that
// start from the weights of others.
#include "learner/storage/checkpoint.h"
#include "tests/system/run_fixture.h"

namespace starling {
namespace {

using testing::HasSubstr;

class ResumeTest : public RunTest {
 protected:
  void SetUp() override {
    ASSERT_EQ(Train({"run.steps=32000", "checkpoint.every_steps=8000", "actors.count=2"}), 0)
        << said_;
    ASSERT_GE(Checkpoints().size(), 2u);
  }
  std::filesystem::path CheckpointFromEnd(std::size_t back) const {
    const auto names = Checkpoints();
    return run() / "checkpoints" / names[names.size() - 1 - back];
  }
  int Resume(const Strings& settings) { return WaitFor(*Start("starling", ResumeWords(settings))); }
};

TEST_F(ResumeTest, MoreStepsContinueTheCounters) {
  const json before = Summary();
  ExpectDone(Resume({"run.steps=48000"}), 48'000);
  const json after = Summary();
  EXPECT_GT(after["updates"], before["updates"]);
  EXPECT_GT(after["gradients"]["applied"], before["gradients"]["applied"]);
  EXPECT_THAT(Checkpoints().back(), HasSubstr("t0002-"));
}

TEST_F(ResumeTest, ATruncatedCheckpointIsNamedAndMadeAgain) {
  const auto newest = CheckpointFromEnd(0), before = CheckpointFromEnd(1);
  const learner::Checkpoint whole = learner::ReadCheckpoint(newest);
  std::filesystem::resize_file(newest, std::filesystem::file_size(newest) / 2);
  ExpectDone(Resume({"run.steps=48000", "checkpoint.keep=10"}), 48'000);
  EXPECT_THAT(said_, HasSubstr(newest.filename().string()));  // the operator sees it, too
  EXPECT_THAT(Log(), HasSubstr(" after checkpoints/" + before.filename().string()));
  EXPECT_THAT(Log(), HasSubstr("resuming from " + newest.string()));
  EXPECT_TRUE(learner::ReadCheckpoint(newest).weights == whole.weights);
}

TEST_F(ResumeTest, WhereThatIsImpossibleItIsPassedOverAndBothAreNamed) {
  const auto newest = CheckpointFromEnd(0), before = CheckpointFromEnd(1);
  std::filesystem::resize_file(newest, 100);
  for (const std::string& name : Checkpoints()) {
    std::filesystem::remove(learner::ActorStatesPath(run() / "checkpoints" / name));
  }
  ExpectDone(Resume({"run.steps=48000"}), 48'000);
  EXPECT_THAT(said_, HasSubstr(newest.filename().string()));
  EXPECT_THAT(said_, HasSubstr("cannot be redone: no checkpoint has the states of its actors"));
  EXPECT_THAT(Log(), testing::ContainsRegex("resuming from " + before.string() +
                                            " .*; lost: [0-9,]+ updates .* after it"));
}

// The journal cannot know that its end was taken away, but the metrics have seen more.
TEST_F(ResumeTest, AJournalWhoseEndIsGoneIsNotCalledWhole) {
  const learner::Checkpoint before = learner::ReadCheckpoint(CheckpointFromEnd(1));
  std::filesystem::remove(CheckpointFromEnd(0));
  std::filesystem::resize_file(run() / "journal/t0001-s000000", before.journal.offset);
  ExpectDone(Resume({"run.steps=48000"}), 48'000);
  EXPECT_THAT(said_, testing::ContainsRegex(fmt::format(
                         "lost: at least [0-9,]+ updates?: metrics.jsonl has seen version "
                         "[0-9,]+, but the journal ends with version {}",
                         before.version)));
}

TEST_F(ResumeTest, WithoutAnyGoodCheckpointItIsRefused) {
  for (const std::string& name : Checkpoints()) {
    std::filesystem::resize_file(run() / "checkpoints" / name, 100);
  }
  EXPECT_EQ(Resume({"run.steps=48000"}), 2);
  const std::string way = "starling replay " + run().string() + " --from-checkpoint --write";
  EXPECT_THAT(said_, HasSubstr("no good checkpoint"));
  EXPECT_THAT(said_, HasSubstr("its journal may make one: " + way));
  ExpectNothingLeft();
  // As it says.
  EXPECT_EQ(WaitFor(*Start("starling", {"replay", run().string(), "--from-checkpoint", "--write"})),
            0)
      << said_;
  ExpectDone(Resume({"run.steps=48000"}), 48'000);
}

// What the redo cannot write, a learner by hand does not pass over either.
TEST_F(ResumeTest, ALearnerByHandDoesNotStartWithoutWhatCannotBeWritten) {
  const auto newest = CheckpointFromEnd(0);
  std::filesystem::remove(newest);
  std::filesystem::create_directory(newest);
  const auto learner = ResumeLearner();
  EXPECT_EQ(WaitFor(*learner), 1);
  EXPECT_THAT(learner->err(), HasSubstr("Is a directory; these updates are not lost yet"));
  EXPECT_FALSE(std::filesystem::exists(run() / "checkpoints/t0002.term"));
  std::filesystem::remove(newest);
  ExpectDone(Resume({"run.steps=48000"}), 48'000);
}

using InitFromTest = RunTest;

TEST_F(InitFromTest, ARunStartsFromTheWeightsOfAnother) {
  ASSERT_EQ(Train({"run.steps=20000", "actors.count=1"}), 0) << said_;
  const std::string final_checkpoint = Summary()["final_checkpoint"];
  const auto last = learner::ReadCheckpoint(run() / final_checkpoint);
  const std::filesystem::path other = dir_ / "other";
  const Strings words = TrainWords({"run.steps=320", "actors.count=1"}, "other");
  ASSERT_EQ(WaitFor(*Start("starling", Plus(words, {"--init-from", run().string()}))), 0) << said_;
  const auto first = learner::ReadCheckpoint(other / "checkpoints" / learner::CheckpointName(1, 0));
  EXPECT_EQ(first.weights, last.weights);
  EXPECT_EQ(first.steps, 0u);
  EXPECT_EQ(first.optimizer_step, 0u);
  EXPECT_THAT(first.optimizer_state, testing::Each(testing::Each(0.0f)));
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
