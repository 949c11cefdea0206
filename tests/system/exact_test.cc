// A run that is stopped and resumed goes on to the very bits of one that never was.
#include "learner/storage/checkpoint.h"
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
};

TEST_P(ExactTest, StopsLeaveNoTrace) {
  ASSERT_EQ(WaitFor(*Start("starling", TrainWords(Settings(), "whole"))), 0) << said_;
  // Stopped twice, each time after a further checkpoint.
  auto train = StartTrain(Settings());
  for (std::size_t stop = 0; stop < 2; ++stop) {
    const std::size_t before = CountInLog(" wrote checkpoints/");
    ASSERT_TRUE(Eventually([&] { return CountInLog(" wrote checkpoints/") >= before + 3; }));
    train->Signal(SIGINT);
    ASSERT_EQ(WaitFor(*train), 130) << said_;
    train = Start("starling", ResumeWords());
  }
  EXPECT_EQ(WaitFor(*train), 0) << said_;

  EXPECT_THAT(Log(), Not(HasSubstr("no states of actors")));
  const learner::Checkpoint whole = Last("whole"), stopped = Last("run");
  EXPECT_EQ(stopped.term, 3u);
  EXPECT_EQ(stopped.version, whole.version);
  EXPECT_TRUE(stopped.weights == whole.weights);
  EXPECT_TRUE(stopped.optimizer_state == whole.optimizer_state);
  // The actors stand where they would have stood, too.
  ASSERT_EQ(stopped.actors->actors.size(), 3u);
  for (std::size_t i = 0; i < 3; ++i) {
    EXPECT_EQ(stopped.actors->actors[i].life, whole.actors->actors[i].life);
    EXPECT_TRUE(stopped.actors->actors[i].state == whole.actors->actors[i].state) << i;
  }
}

INSTANTIATE_TEST_SUITE_P(
    All, ExactTest,
    testing::Values(Game{"Memory",
                         {"env.name=memory/recall", "env.sticky_actions=0.25", "net.kind=layers",
                          "net.layers=[\"linear 8\", \"lstm 8\"]"}},
                    Game{"Pixels",
                         {"env.name=arcade/pong", "env.pixels=true", "net.kind=layers",
                          "net.layers=[\"conv 4 8x8/4\", \"relu\", \"linear 8\"]"}},
                    Game{"TwoShards", {"learner.shards=2", "env.time_limit=7"}}),
    [](const auto& test) { return test.param.name; });

}  // namespace
}  // namespace starling
