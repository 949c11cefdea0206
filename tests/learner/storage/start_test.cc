// Resuming a run: the optimizer's state is restored, and must fit the configured optimizer.
#include "learner/storage/start.h"

#include <gmock/gmock.h>

#include "learner/apply/optimizer.h"
#include "learner/run_status.h"
#include "learner/storage/terms.h"
#include "tests/support/error_of.h"
#include "tests/support/learner_fixture.h"
#include "tests/support/own_disk.h"

namespace starling::learner {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;

class StartTest : public LearnerFixture {
 protected:
  // Returns the error of resuming a checkpoint of configuration `before` with `now`; "" if none.
  std::string Refusal(const std::string& before, const std::string& now) {
    const TempDir run;
    const Config config = MakeConfig(before);
    Checkpoint checkpoint =
        CheckpointOf(config, SmallNet().layout, "",
                     {.state = {.weights = SmallNet().initial, .optimizer_state = {}},
                      .counters = Counters{}.Save()});
    checkpoint.optimizer_state.assign(checkpoint.slot_names.size(), SmallNet().initial);
    WriteCheckpoint(run / "checkpoints", checkpoint);
    return ErrorOf([&] { CheckStart(MakeConfig(now), SmallNet(), run.path(), true); });
  }
};

const char kUseSgd[] = "optimizer.kind=sgd";
const char kUseRmsProp[] = "optimizer.kind=rmsprop";
const char kUseAdam[] = "optimizer.kind=adam";

TEST_F(StartTest, AnotherOptimizerIsRefusedWithTheNamesOfItsSlots) {
  EXPECT_THAT(
      Refusal(kUseRmsProp, kUseAdam),
      AllOf(HasSubstr("t0001-v000000000000.safetensors holds the state of another optimizer "
                      "(square_avg)"),
            HasSubstr("optimizer.kind = \"adam\" keeps (exp_avg, exp_avg_sq)"),
            HasSubstr("resume with the [optimizer] it was trained with")));
  EXPECT_THAT(Refusal(kUseAdam, kUseSgd),
              AllOf(HasSubstr("(exp_avg, exp_avg_sq)"), HasSubstr("(none)")));
  EXPECT_THAT(Refusal(kUseSgd, kUseRmsProp), AllOf(HasSubstr("(none)"), HasSubstr("(square_avg)")));
}

TEST_F(StartTest, OtherSlotNamesAreAnotherOptimizer) {
  EXPECT_THAT(Refusal(kUseRmsProp, "optimizer.kind=sgd\noptimizer.momentum=0.9"),
              AllOf(HasSubstr("(square_avg)"), HasSubstr("(momentum)")));
  EXPECT_THAT(Refusal("optimizer.kind=rmsprop\noptimizer.centered=true", kUseAdam),
              HasSubstr("(square_avg, grad_avg)"));
  EXPECT_THAT(Refusal("optimizer.kind=rmsprop\noptimizer.centered=true",
                      "optimizer.kind=rmsprop\noptimizer.momentum=0.9"),
              HasSubstr("(square_avg, momentum)"));
}

TEST_F(StartTest, OtherSettingsOfTheSameOptimizerAreAccepted) {
  for (const char* kind : {kUseSgd, kUseRmsProp, kUseAdam}) EXPECT_EQ(Refusal(kind, kind), "");
  EXPECT_EQ(Refusal(kUseAdam, "optimizer.kind=adam\noptimizer.beta1=0.5\noptimizer.lr=0.1"), "");
  EXPECT_EQ(Refusal(kUseRmsProp, "optimizer.kind=rmsprop\noptimizer.epsilon_place=inside"), "");
}

// Pictures leave no parameters that could differ.
TEST_F(StartTest, OtherNumbersThanTheNetHasLearntFromAreRefused) {
  for (const std::string key : {"env.normalize_observations", "env.normalize_rewards"}) {
    EXPECT_THAT(Refusal(key + "=true", key + "=false"),
                testing::AllOf(HasSubstr(key + " = false: "),
                               HasSubstr("holds a net that has learnt with true; set it so")));
  }
}

// Behind a gap nothing is known, unless the learner said that it ended there.
TEST_F(StartTest, ARunThatEndedBehindAGapLostNothing) {
  const Config config = MakeConfig(kUseSgd);
  for (const auto& [phase, version, said] :
       {std::tuple{"done", 7, "; nothing is lost\n"},
        {"done", 9, "; what came after it may be lost: the journal has a gap\n"},
        {"running", 7, "; what came after it may be lost: the journal has a gap\n"}}) {
    const TempDir run;
    CheckpointContent content{
        .state = {.version = 7, .weights = SmallNet().initial, .optimizer_state = {}},
        .counters = Counters{}.Save(),
        .journal_whole = false};
    content.state.term = ClaimTerm(run / "checkpoints", std::nullopt);
    WriteCheckpoint(run / "checkpoints",
                    CheckpointOf(config, SmallNet().layout, "", std::move(content)));
    RunStatus last;
    last.phase = phase;
    last.term = 1;
    last.version = static_cast<std::uint64_t>(version);
    run.Write("metrics.jsonl", MetricsLine(last).dump() + "\n");
    testing::internal::CaptureStderr();
    FindStart(config, SmallNet(), run.path(), /*resume=*/true);
    EXPECT_THAT(testing::internal::GetCapturedStderr(), HasSubstr(said)) << phase << version;
  }
}

TEST_F(StartTest, RanksThatStartAgainMakeTheRestAgain) {
  const Config config = MakeConfig("updates.exchange=allreduce\nstaleness.bound=0");
  for (const auto& [restart, states, said, reached] :
       {std::tuple{true, true, "; the ranks make what came after it again\n", 9u},
        {true, false, "; what came after it may be lost", 0u},
        {false, true, "; what came after it may be lost", 0u}}) {
    const TempDir run;
    CheckpointContent content{
        .state = {.version = 7, .weights = SmallNet().initial, .optimizer_state = {}},
        .counters = Counters{}.Save(),
        .journal_whole = false};
    if (states) content.actors.emplace();
    content.state.term = ClaimTerm(run / "checkpoints", std::nullopt);
    WriteCheckpoint(run / "checkpoints",
                    CheckpointOf(config, SmallNet().layout, "", std::move(content)));
    RunStatus last;
    last.phase = "running";
    last.term = 1;
    last.version = 9;
    run.Write("metrics.jsonl", MetricsLine(last).dump() + "\n");
    testing::internal::CaptureStderr();
    const auto start = FindStart(config, SmallNet(), run.path(), /*resume=*/true, {}, restart);
    EXPECT_THAT(testing::internal::GetCapturedStderr(), HasSubstr(said)) << restart << states;
    EXPECT_EQ(start.reached, reached);
  }
}

TEST_F(StartTest, WithoutRoomForItsClaimAResumedRunWaits) {
  const Config config = MakeConfig(kUseSgd);
  const TempDir run;
  const OwnDisk disk(run.path(), 1);
  if (!disk.trouble().empty()) GTEST_SKIP() << "no disk of our own here: " << disk.trouble();
  CheckpointContent content{.state = {.weights = SmallNet().initial, .optimizer_state = {}},
                            .counters = Counters{}.Save()};
  content.state.term = ClaimTerm(run / "checkpoints", std::nullopt);
  WriteCheckpoint(run / "checkpoints",
                  CheckpointOf(config, SmallNet().layout, "", std::move(content)));
  const auto filler = run / "filler";
  disk.Fill(filler);
  const auto start = [&](const std::function<bool()>& await_room) {
    return FindStart(config, SmallNet(), run.path(), /*resume=*/true, await_room).state.term;
  };
  // 1. Given up: nothing is left of the attempt.
  EXPECT_THROW(start([] { return false; }), std::system_error);
  EXPECT_EQ(NewestTerm(run / "checkpoints"), 1u);
  // 2. There is room in the end.
  int waits = 0;
  testing::internal::CaptureStderr();
  const std::uint32_t term = start([&] {
    if (++waits == 2) std::filesystem::remove(filler);
    return true;
  });
  EXPECT_THAT(testing::internal::GetCapturedStderr(),
              HasSubstr("t0002.term: No space left on device; tried again for 10 minutes: free "
                        "space there\n"));
  EXPECT_EQ(term, 2u);
  EXPECT_EQ(waits, 2);
}

TEST_F(StartTest, AdamContinuesBitForBit) {
  const std::string config = "updates.start_with=1\noptimizer.kind=adam\noptimizer.lr=0.5";
  // Applies one update for each gradient, in a new learner or a resumed one.
  const auto train = [&](const std::vector<float>& gradients, bool resume) {
    Start(config, resume);
    auto actor = NewActor();
    for (const float gradient : gradients) actor->Push(actor->NextGrant(), gradient);
    actor->NextGrant();
    actor.reset();
    Discard();
    return LastCheckpoint();
  };
  const Checkpoint whole = train({0.25f, -1.0f, 3.0f}, false);
  for (const auto& entry : std::filesystem::directory_iterator(dir_.path())) {
    std::filesystem::remove_all(entry);
  }
  train({0.25f}, false);
  train({-1.0f}, true);
  const Checkpoint cut = train({3.0f}, true);
  EXPECT_EQ(cut.term, 3u);
  EXPECT_EQ(cut.optimizer_step, 3u);
  EXPECT_EQ(cut.weights, whole.weights);
  EXPECT_THAT(cut.slot_names, ElementsAre("exp_avg", "exp_avg_sq"));
  EXPECT_EQ(cut.optimizer_state, whole.optimizer_state);
  // The gradients did change it: exp_avg = 0.9 exp_avg + 0.1 g.
  EXPECT_NE(cut.weights[0], 0);
  EXPECT_FLOAT_EQ(cut.optimizer_state[0][0], 0.1f * (0.81f * 0.25f - 0.9f + 3));
}

}  // namespace
}  // namespace starling::learner
