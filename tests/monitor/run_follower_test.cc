// A run that is followed by its files. The files of its processes are written by hand.
#include "monitor/run_follower.h"

#include <gmock/gmock.h>

#include <nlohmann/json.hpp>
#include <optional>

#include "core/file.h"
#include "tests/monitor/http/published.h"
#include "tests/support/written_run.h"
#include "wire/runtime_dir.h"

namespace starling::monitor {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using wire::RuntimeDir;

class RunFollowerTest : public TempDirTest {
 protected:
  RunFollowerTest() { clock_.AdvanceMs(1'000'000); }

  void Write(WrittenRun run) {
    WriteRun(dir_, "run", run);
    dir_.Write("run/config.toml", ConfigOf(run) + fmt::format("[wire]\nruntime_dir = \"{}\"\n"
                                                              "[actors]\ncount = 4\n",
                                                              dir_.path().string()));
  }
  // The run has gone on.
  void Append(int steps, double seconds) {
    const std::string more =
        fmt::format("{{\"phase\":\"running\",\"steps\":{},\"seconds\":{},\"mean_return\":9}}\n",
                    steps, seconds);
    dir_.Write("run/metrics.jsonl", ReadFile(dir_ / "run/metrics.jsonl") + more);
  }
  std::filesystem::path root() const { return wire::RuntimeRoot(dir_.path().string()); }
  // A process of the run comes to life, until `dir` is gone.
  void StartLearner() { learner_.emplace(RuntimeDir::Create(root(), dir_ / "run")); }
  void StartSupervisor() {
    supervisor_.emplace(RuntimeDir::Create(root(), RuntimeDir::FleetOf(dir_ / "run")));
  }
  void Publish(std::uint64_t steps) {
    auto published = MakePublished(clock_.NowMs());
    published->status.steps = steps;
    ReplaceFile(RuntimeDir::StatusPath(root(), dir_ / "run"), ToJson(*published).dump());
  }
  void Tell(const FleetStatus& fleet) {
    ReplaceFile(RuntimeDir::StatusPath(root(), RuntimeDir::FleetOf(dir_ / "run")), ToText(fleet));
  }
  // A second later.
  Standing Look() {
    clock_.AdvanceMs(1000);
    follower_.Look();
    return follower_.standing();
  }

  FakeClock clock_;
  RunFollower follower_{dir_ / "run", clock_};
  std::optional<RuntimeDir> learner_, supervisor_;
};

TEST_F(RunFollowerTest, ARunThatIsOverIsKnownByItsFiles) {
  Write({});
  EXPECT_EQ(Look(), Standing::kFinished);
  EXPECT_EQ(follower_.sentence(), "after 1,000 steps");
  EXPECT_FALSE(follower_.published());
  const RunView view = follower_.View();
  EXPECT_DOUBLE_EQ(view.elapsed_s, 10);  // 1000 steps, 100 a second
  EXPECT_EQ(view.returns->last(), 5);
  EXPECT_NEAR(view.rate->last(), 100, 1);
  EXPECT_THAT(view.staleness.histogram, ElementsAre(60, 30, 9, 1));
  clock_.AdvanceMs(100'000);
  EXPECT_DOUBLE_EQ(follower_.View().elapsed_s, 10) << "its time stands still";
  EXPECT_THAT(follower_.LogLines(), ElementsAre(HasSubstr("learner started")));
}

TEST_F(RunFollowerTest, AnInterruptedOneAndOneThatFailed) {
  Write({.steps = 500, .summary = false});
  EXPECT_EQ(Look(), Standing::kInterrupted);
  EXPECT_EQ(follower_.sentence(), "not at work here, at 500 steps") << "there is no checkpoint";
  dir_.Write("run/checkpoints/t0001-v000000000003.safetensors", "x");
  Look();
  EXPECT_THAT(follower_.sentence(),
              testing::AllOf(HasSubstr("unless it trains on another machine, starling train "),
                             HasSubstr("--resume " + (dir_ / "run").string())));
  Write({.steps = 500, .error = "the disk is full"});
  EXPECT_EQ(Look(), Standing::kFailed);
  EXPECT_EQ(follower_.sentence(), "at 500 steps: the disk is full");
}

TEST_F(RunFollowerTest, WithoutAConfigurationItSaysWhy) {
  dir_.Write("run/config.toml", "[run]\nsteps = \"many\"\n");
  EXPECT_EQ(Look(), Standing::kUnreadable);
  EXPECT_THAT(follower_.sentence(), HasSubstr("run.steps"));
  EXPECT_FALSE(follower_.config());
  Write({});
  EXPECT_EQ(Look(), Standing::kFinished) << "it is there now";
}

// Under a supervisor, from the start to a learner's death and its return.
TEST_F(RunFollowerTest, ALearnerThatDiesIsMissed) {
  Write({.steps = 0, .summary = false});
  StartSupervisor();
  Tell({.learner_alive = true, .actors = std::vector<ActorProcess>(4)});
  EXPECT_EQ(Look(), Standing::kLive);
  EXPECT_FALSE(follower_.published()) << "it has not said anything yet";
  StartLearner();
  Publish(960);
  EXPECT_EQ(Look(), Standing::kLive);
  EXPECT_THAT(follower_.sentence(), HasSubstr("960 of "));
  ASSERT_TRUE(follower_.published());
  EXPECT_FALSE(follower_.learner_gone());

  Tell({.learner_alive = false, .actors = std::vector<ActorProcess>(4)});
  EXPECT_EQ(Look(), Standing::kLearnerGone);
  EXPECT_TRUE(follower_.learner_gone());
  EXPECT_THAT(follower_.sentence(), HasSubstr("the learner has died at 960 steps"));
  Tell({.learner_alive = false, .redo = RedoStatus{3, 40}});
  EXPECT_EQ(Look(), Standing::kLive) << "what it had applied is done again";
  EXPECT_THAT(follower_.sentence(), HasSubstr("3 of 40"));

  Tell({.learner_alive = true, .actors = std::vector<ActorProcess>(4)});
  Publish(800);
  EXPECT_EQ(Look(), Standing::kLive);
  EXPECT_THAT(follower_.sentence(), HasSubstr("800 of "));
  Tell({.learner_alive = false, .over = true});
  EXPECT_EQ(Look(), Standing::kLive) << "at the end it goes in order";
}

TEST_F(RunFollowerTest, TheRowsAreThoseOfTheSupervisor) {
  Write({.steps = 0, .summary = false});
  StartSupervisor();
  StartLearner();
  Publish(960);
  Tell({.learner_alive = true, .actors = {{true, true, 2}, {false, false, 1}, {true, false}, {}}});
  Look();
  ASSERT_TRUE(follower_.has_actors());
  const std::vector<ActorRow> rows = follower_.View().actors;
  ASSERT_EQ(rows.size(), 4u);
  EXPECT_EQ(rows[0].state, ActorRow::State::kAlive);
  EXPECT_EQ(rows[0].restarts, 2u);
  EXPECT_EQ(rows[0].version, 4u);
  EXPECT_EQ(rows[1].state, ActorRow::State::kDead);
  EXPECT_EQ(rows[2].state, ActorRow::State::kStarting);
}

// A learner by hand tells of its members; nobody tells of their restarts.
TEST_F(RunFollowerTest, WithoutASupervisorTheRowsAreThoseOfTheLearner) {
  Write({.steps = 0, .summary = false});
  StartLearner();
  Publish(960);
  EXPECT_EQ(Look(), Standing::kLive);
  const std::vector<ActorRow> rows = follower_.View().actors;
  ASSERT_EQ(rows.size(), 4u);
  EXPECT_EQ(rows[0].state, ActorRow::State::kAlive);
  EXPECT_EQ(rows[1].state, ActorRow::State::kDead);
  EXPECT_EQ(rows[2].state, ActorRow::State::kStarting);
  learner_.reset();
  EXPECT_EQ(Look(), Standing::kInterrupted);
  EXPECT_FALSE(follower_.has_actors());
}

// Its learner by hand stands still: its last status is old.
TEST_F(RunFollowerTest, ASilentLearnerIsNamed) {
  Write({.steps = 0, .summary = false});
  StartLearner();
  Publish(960);
  for (int second = 0; second < 4; ++second) Look();
  EXPECT_THAT(follower_.sentence(), HasSubstr("960 of "));
  Look();
  EXPECT_THAT(follower_.sentence(), HasSubstr("does not report"));
  EXPECT_EQ(follower_.standing(), Standing::kLive);
}

TEST_F(RunFollowerTest, CurvesGoOnWhereTheFilesEnd) {
  Write({.wanted = 100'000, .steps = 1000, .summary = false});
  StartLearner();
  Publish(1100);
  Look();
  EXPECT_DOUBLE_EQ(follower_.View().elapsed_s, 10);
  Publish(1200);
  Look();
  const RunView view = follower_.View();
  EXPECT_DOUBLE_EQ(view.elapsed_s, 11);
  EXPECT_EQ(view.returns->last(), 4.25);  // of the status; the files end at 5
  const auto columns = view.returns->Columns(view.elapsed_s, 11);
  EXPECT_EQ(columns[9], 4.5) << "of the files";
}

// Nobody looked for a while: what the learner said meanwhile is in its files.
TEST_F(RunFollowerTest, AfterAGapTheFilesAreReadAgain) {
  Write({.wanted = 100'000, .steps = 1000, .summary = false});
  StartLearner();
  Publish(1000);
  Look();
  Append(8000, 80);
  Publish(8000);
  Look();
  EXPECT_NEAR(follower_.View().elapsed_s, 11, 1e-9) << "no gap: the files are not read";
  clock_.AdvanceMs(10'000);
  Look();
  EXPECT_NEAR(follower_.View().elapsed_s, 80, 1e-9);
}

TEST_F(RunFollowerTest, ARunOnAnotherMachineIsSeenToGrow) {
  Write({.wanted = 100'000, .steps = 1000, .summary = false});
  EXPECT_EQ(Look(), Standing::kInterrupted);
  Append(20'000, 200);
  EXPECT_EQ(Look(), Standing::kElsewhere);
  EXPECT_THAT(follower_.sentence(), HasSubstr("at 20,000 steps: its files grow"));
  for (int second = 0; second < 11; ++second) Look();
  EXPECT_EQ(follower_.standing(), Standing::kInterrupted);
}

TEST_F(RunFollowerTest, FilesMayBeTorn) {
  Write({.steps = 0, .summary = false});
  StartSupervisor();
  StartLearner();
  ReplaceFile(RuntimeDir::StatusPath(root(), dir_ / "run"), "{\"phase\":");
  ReplaceFile(RuntimeDir::StatusPath(root(), RuntimeDir::FleetOf(dir_ / "run")), "{");
  dir_.Write("run/metrics.jsonl", "{\"steps\":");
  EXPECT_EQ(Look(), Standing::kLive);
  EXPECT_FALSE(follower_.published());
}

// The health of a run costs the same however long it is: its curves are not read.
TEST_F(RunFollowerTest, ALookAtTheStatusReadsNoCurves) {
  Write({.steps = 1000, .summary = false});
  StartLearner();
  Publish(960);
  follower_.LookAtStatus();
  ASSERT_TRUE(follower_.published());
  EXPECT_EQ(follower_.published()->status.steps, 960u);
  EXPECT_TRUE(follower_.alive());
  Look();
  EXPECT_DOUBLE_EQ(follower_.View().elapsed_s, 10) << "they are read now";
}

// Its last line was written a moment ago, by a process that we knew.
TEST_F(RunFollowerTest, ARunThatEndsHereIsNotElsewhere) {
  Write({.wanted = 20'000, .steps = 1000, .summary = false});
  StartLearner();
  Publish(1000);
  Look();
  Append(20'000, 200);
  dir_.Write("run/summary.json", SummaryOf({.wanted = 20'000, .steps = 20'000}));
  Publish(20'000);
  learner_.reset();
  EXPECT_EQ(Look(), Standing::kFinished);
}

TEST_F(RunFollowerTest, ANewLearnerHasSaidNothingYet) {
  Write({.steps = 0, .summary = false});
  StartSupervisor();
  Tell({.learner_alive = true});
  StartLearner();
  Publish(960);
  Look();
  ASSERT_TRUE(follower_.published());
  learner_.reset();
  StartLearner();  // which clears its directory
  Look();
  EXPECT_FALSE(follower_.published()) << "that was of the one before";
}

TEST_F(RunFollowerTest, AConfigurationThatChangesIsReadAgain) {
  Write({.wanted = 1000, .steps = 1000});
  EXPECT_EQ(Look(), Standing::kFinished);
  Write({.wanted = 500'000, .steps = 1000});
  EXPECT_EQ(Look(), Standing::kInterrupted) << "it is to go on";
  EXPECT_EQ(follower_.View().progress.total, 500'000u);
}

// It was copied from a machine whose directory is not here.
TEST_F(RunFollowerTest, ItsRuntimeDirectoryMayBeMissing) {
  Write({});
  dir_.Write("run/config.toml", ConfigOf({}) + "[wire]\nruntime_dir = \"/no/such/place\"\n");
  EXPECT_EQ(Look(), Standing::kFinished);
  EXPECT_FALSE(std::filesystem::exists("/no"));
}

}  // namespace
}  // namespace starling::monitor
