// A run that is stopped and resumed goes on to the very bits of one that never was.
#include "learner/storage/checkpoint.h"
#include "learner/storage/journal_reader.h"
#include "tests/system/run_fixture.h"

namespace starling {
namespace {

using testing::HasSubstr;
using testing::Not;

struct Game {
  const char* name;
  Strings settings;
};
void PrintTo(const Game& game, std::ostream* out) { *out << game.name; }

class ExactTest : public RunTest, public testing::WithParamInterface<Game> {
 protected:
  // 300 versions, each of an unroll of 5 ms or more; a checkpoint every 30.
  static Strings Settings() {
    return Plus(
        {"staleness.bound=0", "actors.count=3", "actors.envs_per_actor=4", "run.steps=18000",
         "checkpoint.every_steps=1800", "env.step_ms=1", "checkpoint.cut_s=60"},
        GetParam().settings);
  }
  learner::Checkpoint Last(const std::string& name) const {
    auto last = learner::NewestCut(dir_ / name / "checkpoints");
    EXPECT_TRUE(last.checkpoint);
    return last.checkpoint ? *std::move(last.checkpoint) : learner::Checkpoint{};
  }
  void TrainWhole() {
    ASSERT_EQ(WaitFor(*Start("starling", TrainWords(Settings(), "whole"))), 0) << said_;
  }
  bool AwaitCheckpoints(Process& train, std::size_t count) const {
    return Eventually([&] {
             return CountInLog("learner: wrote checkpoints/") >= count || !train.Running();
           }) &&
           train.Running();
  }
  // It ended in this term, with weights, optimizer and actors as if it had never been stopped.
  void ExpectTheSameAsWhole(std::uint32_t term) const {
    const learner::Checkpoint whole = Last("whole"), stopped = Last("run");
    EXPECT_EQ(stopped.term, term);
    EXPECT_EQ(stopped.version, whole.version);
    EXPECT_TRUE(stopped.weights == whole.weights);
    EXPECT_TRUE(stopped.optimizer_state == whole.optimizer_state);
    ASSERT_EQ(stopped.actors->actors.size(), 3u);
    for (std::size_t i = 0; i < 3; ++i) {
      EXPECT_EQ(stopped.actors->actors[i].life, whole.actors->actors[i].life);
      EXPECT_TRUE(stopped.actors->actors[i].state == whole.actors->actors[i].state) << i;
    }
  }
};

TEST_P(ExactTest, StopsLeaveNoTrace) {
  TrainWhole();
  // Stopped twice, each time after a further checkpoint.
  auto train = StartTrain(Settings());
  for (std::size_t stop = 0; stop < 2; ++stop) {
    ASSERT_TRUE(AwaitCheckpoints(*train, CountInLog("learner: wrote checkpoints/") + 3));
    train->Signal(SIGINT);
    ASSERT_EQ(WaitFor(*train), 130) << said_;
    train = Start("starling", ResumeWords());
  }
  EXPECT_EQ(WaitFor(*train), 0) << said_;

  EXPECT_THAT(Log(), Not(HasSubstr("no states of actors")));
  ExpectTheSameAsWhole(3);
}

// What came after the last checkpoint is done again.
class KilledTest : public ExactTest {
 protected:
  std::uintmax_t JournalBytes() const {
    std::uintmax_t bytes = 0;
    for (const auto& segment : learner::ListSegments(run() / "journal")) {
      bytes += std::filesystem::file_size(segment.path);
    }
    return bytes;
  }
};

TEST_P(KilledTest, KilledLearnersLeaveNoTrace) {
  TrainWhole();
  auto train = StartTrain(Settings());
  for (std::size_t kill = 1; kill <= 4; ++kill) {
    ASSERT_TRUE(AwaitCheckpoints(*train, CountInLog("learner: wrote checkpoints/") + 2));
    const std::uintmax_t bytes = JournalBytes();  // a few hundred an update
    ASSERT_TRUE(Eventually([&] { return JournalBytes() > bytes + kill * 1000; }));
    ASSERT_TRUE(KillLearner());
    ASSERT_TRUE(Eventually([&] { return CountInLog("resuming from") == kill; }));
  }
  EXPECT_EQ(WaitFor(*train), 0) << said_;

  EXPECT_EQ(CountInLog("; nothing is lost"), 4u);
  EXPECT_GE(CountInLog("redo: redoing "), 1u);
  ExpectTheSameAsWhole(5);
  EXPECT_EQ(Summary()["exact"], true);
  EXPECT_EQ(Summary()["actors"]["restarted"], 0);
}

// Its learner needs a moment to notice. The second one ends before it has applied anything.
TEST_P(KilledTest, KilledSupervisorsLeaveNoTrace) {
  TrainWhole();
  auto train = StartTrain(Settings());
  ASSERT_TRUE(AwaitCheckpoints(*train, 3));
  for (std::size_t resumes = 1; resumes <= 2; ++resumes) {
    train->Signal(SIGKILL);
    EXPECT_EQ(WaitFor(*train), 128 + SIGKILL);
    train = Start("starling", ResumeWords());
    ASSERT_TRUE(Eventually([&] { return CountInLog("resuming from") == resumes; }));
  }
  EXPECT_EQ(WaitFor(*train), 0) << said_;
  EXPECT_EQ(CountInLog("; nothing is lost"), 2u);
  EXPECT_THAT(Log(), Not(HasSubstr("no states of actors")));
  ExpectTheSameAsWhole(3);
}

// As the end of a job does: actors are told as well, and leave before their state is asked for. An
// unroll takes half a second, so the learner hears of it before the first has left.
TEST_P(KilledTest, AFleetThatIsTerminatedAsAWholeLeavesNoTrace) {
  const Strings settings = Plus(Settings(), {"env.step_ms=100", "run.steps=480"});
  auto whole = Start("starling", TrainWords(settings, "whole")), train = StartTrain(settings);
  ASSERT_TRUE(Eventually([&] { return JournalBytes() > 1500; }));  // about half of eight versions
  kill(LearnerPid(), SIGTERM);
  for (const Running& actor : Find("starling-actor")) kill(actor.pid, SIGTERM);
  ASSERT_EQ(WaitFor(*train), 130) << said_;
  train = Start("starling", ResumeWords());
  for (Process* process : {whole.get(), train.get()}) EXPECT_EQ(WaitFor(*process), 0) << said_;
  EXPECT_THAT(Log(), testing::ContainsRegex("left before they were asked|"
                                            "has left without its state"));
  ExpectTheSameAsWhole(2);
  EXPECT_EQ(Summary()["exact"], true);
}

using NotExactTest = RunTest;

TEST_F(NotExactTest, TakesNoCheckpointsForTheSakeOfARedo) {
  ASSERT_EQ(Train({"run.steps=32000", "actors.count=2", "checkpoint.exact=false",
                   "checkpoint.redo_s=0.001"}),
            0);
  EXPECT_EQ(CountInLog("learner: wrote checkpoints/"), 2u) << "the first and the last";
}

const Game kMemory{"Memory",
                   {"env.name=memory/recall", "env.sticky_actions=0.25", "net.kind=layers",
                    "net.layers=[\"linear 8\", \"lstm 8\", \"gru 4\"]", "net.critic=separate"}};
const Game kPixels{"Pixels",
                   {"env.name=arcade/pong", "env.pixels=true", "net.kind=layers",
                    "net.layers=[\"conv 4 8x8/4\", \"relu\", \"linear 8\"]"}};
const Game kTwoShards{"TwoShards",
                      {"learner.shards=2", "env.name=dummy", "net.kind=mlp", "env.time_limit=7",
                       "env.normalize_observations=true", "env.normalize_rewards=true"}};

std::string GameName(const testing::TestParamInfo<Game>& test) { return test.param.name; }
INSTANTIATE_TEST_SUITE_P(All, ExactTest, testing::Values(kMemory, kPixels, kTwoShards), GameName);
INSTANTIATE_TEST_SUITE_P(All, KilledTest, testing::Values(kMemory, kPixels), GameName);

}  // namespace
}  // namespace starling
