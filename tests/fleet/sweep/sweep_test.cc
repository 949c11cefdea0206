// `starling sweep` with stand-ins (fake_child.cc) for learners and actors.
#include "fleet/sweep/sweep.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <sys/file.h>

#include <nlohmann/json.hpp>

#include "core/config.h"
#include "core/error.h"
#include "fleet/blueprint.h"
#include "fleet/run_dir.h"
#include "fleet/summary.h"
#include "learner/checkpoint.h"
#include "learner/counters.h"
#include "tests/fleet/fixtures.h"

namespace starling::fleet {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

// A whole training, within a moment.
const char* const kTrains =
    R"(mkdir checkpoints; touch checkpoints/a.safetensors; status {"phase":"done","term":1,)"
    R"("steps":1000,"frames":1000,"updates":7,"seconds":2.5,"steps_per_second":400.0,)"
    R"("mean_return":1.5,"episodes":9,"staleness":{"max":1,"mean":0.5,"histogram":[4,4]},)"
    R"("gradients":{"received":8,"applied":8,"merged":0,"in_flight":0,"dropped":{}},)"
    R"("checkpoint":"checkpoints/a.safetensors","final":true}; touch over; exit 0)";

class SweepTest : public testing::Test {
 protected:
  SweepTest() {
    const auto bin = dir_.path() / "bin";
    std::filesystem::create_directory(bin);
    std::filesystem::copy_file(STARLING_PROGRAM, bin / "starling");
    for (const char* name : {"starling-learner", "starling-actor"}) {
      std::filesystem::copy_file(STARLING_FAKE_CHILD, bin / name);
    }
    std::filesystem::create_directory(dir_.path() / "place");
    dir_.Write("catch.toml",
               "[run]\nsteps = 1000\n[env]\nname = \"catch\"\n[actors]\ncount = 1\n[net]\n"
               "kind = \"mlp\"\n[wire]\nruntime_dir = \"" +
                   (dir_.path() / "place").string() + "\"\n");
    dir_.Write("bounds.toml",
               "config = \"catch.toml\"\nseeds = [1, 2]\nat_once = 3\neval_episodes = 0\n"
               "[grid]\nstaleness.bound = [0, 4]\n");
    dir_.Write("script.learner", kTrains);
  }
  Finished Sweep() {
    return RunProgram(dir_, {(dir_.path() / "bin/starling").string(), "sweep", "bounds.toml"},
                      {"FAKE_SCRIPTS=" + dir_.path().string()});
  }
  nlohmann::json SweepJson() const {
    return nlohmann::json::parse(dir_.Read("sweeps/bounds/sweep.json"), nullptr, false);
  }
  // Its run, trained, with weights of a net of that width that claim to be of the right one.
  void WriteTrained(const std::string& hidden) const {
    const Config right = LoadConfig(dir_ / "catch.toml", {"staleness.bound=4"});
    const Config config = LoadConfig(dir_ / "catch.toml", {"net.hidden=" + hidden});
    const learner::NetBlueprint net = BlueprintOf(config);
    const auto run = dir_ / "sweeps/bounds/bound=4/seed-1";
    const auto last =
        learner::WriteCheckpoint(run / "checkpoints", {.term = 1,
                                                       .version = 7,
                                                       .steps = 1000,
                                                       .layout = net.layout,
                                                       .weights = net.initial,
                                                       .slot_names = {"square_avg"},
                                                       .state = {net.initial},
                                                       .config = ToToml(right),
                                                       .counters = learner::Counters{}.Save()});
    LearnerStatus status;
    status.steps = 1000;
    status.checkpoint = "checkpoints/" + last.filename().string();
    WriteConfig(run, right);
    EXPECT_EQ(WriteSummary(run, BuildSummary(right, status, {})), "");
  }
  // One run, and how it is judged.
  void WriteOneRun(int eval_episodes) const {
    dir_.Write("bounds.toml",
               fmt::format("config = \"catch.toml\"\nseeds = [1]\neval_episodes = {}\n[grid]\n"
                           "staleness.bound = [4]\n",
                           eval_episodes));
  }
  TempDir dir_;
};

TEST_F(SweepTest, EveryPointWithEverySeedAndThenNothingMore) {
  const Finished first = Sweep();
  EXPECT_EQ(first.status, kExitDone) << first.err;
  const std::string table =
      "point       seeds       mean     median    iq mean    steps/s\n"
      "bound=0         2       1.50       1.50       1.50        400\n"
      "bound=4         2       1.50       1.50       1.50        400\n"
      "Returns of the last 100 training episodes of each run.\n";
  EXPECT_EQ(first.out, table);
  EXPECT_THAT(first.err, AllOf(HasSubstr("sweep in sweeps/bounds: 4 runs (2 points, 2 seeds), 3 at "
                                         "a time\n"),
                               HasSubstr("bound=4 seed 2: return 1.50, 400 steps/s"),
                               HasSubstr("4/4  "), HasSubstr("starling report sweeps/bounds")));
  for (const char* run : {"bound=0/seed-1", "bound=0/seed-2", "bound=4/seed-1", "bound=4/seed-2"}) {
    const Config config = LoadConfig(dir_ / ("sweeps/bounds/" + std::string(run) + "/config.toml"));
    EXPECT_EQ(config.staleness.bound, run[6] == '4' ? 4u : 0u);
    EXPECT_EQ(config.run.seed, run[13] == '2' ? 2u : 1u);
    EXPECT_EQ(config.run.name, std::string(run, 7));
  }
  EXPECT_EQ(SweepJson()["points"][1]["runs"][0]["state"], "finished");
  EXPECT_EQ(SweepJson()["points"][1]["finished"], 2);

  dir_.Write("script.learner", "exit 1");  // nobody is started
  const Finished second = Sweep();
  EXPECT_EQ(second.status, kExitDone) << second.err;
  EXPECT_EQ(second.out, table);
  EXPECT_THAT(second.err, HasSubstr("; 4 done already\n"));
}

TEST_F(SweepTest, AGridMayGrow) {
  EXPECT_EQ(Sweep().status, kExitDone);
  dir_.Write("bounds.toml",
             "config = \"catch.toml\"\nseeds = [1, 2]\neval_episodes = 0\n"
             "[grid]\nstaleness.bound = [0, 1, 4]\n");
  const Finished grown = Sweep();
  EXPECT_EQ(grown.status, kExitDone) << grown.err;
  EXPECT_THAT(grown.err, AllOf(HasSubstr("6 runs (3 points, 2 seeds), 1 at a time; 4 done already"),
                               HasSubstr("bound=1 seed 2: "), Not(HasSubstr("bound=0 seed"))));
}

TEST_F(SweepTest, AFailedRunIsNamedStopsNobodyAndIsTriedAgain) {
  dir_.Write("script.learner", "say this game needs a licence; touch over; exit 2");
  const Finished failed = Sweep();
  EXPECT_EQ(failed.status, kExitFailed);
  for (const char* who : {"bound=0 seed 1", "bound=4 seed 1", "bound=0 seed 2", "bound=4 seed 2"}) {
    EXPECT_THAT(failed.err, HasSubstr(std::string(who) + " failed: this game needs a licence\n"));
  }
  EXPECT_THAT(failed.err, HasSubstr("0 of 4 runs are done; go on with: "));
  EXPECT_EQ(SweepJson()["points"][0]["runs"][0]["error"], "this game needs a licence");

  dir_.Write("script.learner", kTrains);
  const Finished again = Sweep();
  EXPECT_EQ(again.status, kExitDone) << again.err;
  EXPECT_THAT(again.err,
              HasSubstr("sweeps/bounds/bound=0/seed-1: nothing in it to go on from; it is begun "
                        "anew, what was there is in sweeps/bounds/old/bound=0/seed-1\n"));
  EXPECT_THAT(dir_.Read("sweeps/bounds/old/bound=0/seed-1/log"), HasSubstr("needs a licence"));
}

// A line that is longer than what is kept of it is cut, maybe in the middle of a character.
TEST_F(SweepTest, WhateverAFailedRunSaidTheOthersAreTried) {
  dir_.Write("script.learner", "say " + std::string(6000, '\xe9') + "; touch over; exit 2");
  const Finished failed = Sweep();
  EXPECT_EQ(failed.status, kExitFailed) << failed.err;
  ASSERT_TRUE(SweepJson().is_object());
  for (const auto& point : SweepJson()["points"]) {
    for (const auto& run : point["runs"]) EXPECT_EQ(run["state"], "failed");
  }
}

// Each of the two learners waits for the other.
TEST_F(SweepTest, RunsSideBySide) {
  dir_.Write("bounds.toml",
             "config = \"catch.toml\"\nseeds = [1, 2]\nat_once = 2\neval_episodes = 0\n");
  dir_.Write("script.learner",
             std::string("touch here; await ../seed-1/here; await ../seed-2/here; ") + kTrains);
  EXPECT_EQ(Sweep().status, kExitDone);
}

TEST_F(SweepTest, ARunThatIsFinishedNeedsItsCheckpointsNoMore) {
  EXPECT_EQ(Sweep().status, kExitDone);
  std::filesystem::remove_all(dir_ / "sweeps/bounds/bound=4/seed-1/checkpoints");
  const Finished second = Sweep();
  EXPECT_THAT(second.err, HasSubstr("; 4 done already\n"));
}

// While the sweep was busy with the first run, somebody began the second by hand.
TEST_F(SweepTest, ARunThatSomebodyElseHasBegunMeanwhileIsLeftAlone) {
  dir_.Write("bounds.toml",
             "config = \"catch.toml\"\nseeds = [1]\neval_episodes = 0\n[grid]\n"
             "staleness.bound = [0, 4]\n");
  dir_.Write(
      "script.learner",
      std::string("mkdir ../../bound=4/seed-1; touch ../../bound=4/seed-1/thesis.tex; ") + kTrains);
  const Finished sweep = Sweep();
  EXPECT_EQ(sweep.status, kExitFailed);
  EXPECT_THAT(sweep.err, HasSubstr("bound=4 seed 1 failed: sweeps/bounds/bound=4/seed-1 is in the "
                                   "way: it is no run"));
  EXPECT_TRUE(std::filesystem::exists(dir_ / "sweeps/bounds/bound=4/seed-1/thesis.tex"));
}

TEST_F(SweepTest, ARunThatIsTrainedElsewhereIsNotTouched) {
  dir_.Write("script.learner", "touch over; exit 2");
  EXPECT_EQ(Sweep().status, kExitFailed);  // nothing in any of them to go on from
  dir_.Write("script.learner", kTrains);
  const int log = ::open((dir_ / "sweeps/bounds/bound=4/seed-1/log").c_str(), O_RDWR | O_CLOEXEC);
  ASSERT_EQ(::flock(log, LOCK_EX | LOCK_NB), 0);
  const Finished sweep = Sweep();
  ::close(log);
  EXPECT_EQ(sweep.status, kExitFailed);
  EXPECT_THAT(sweep.err, AllOf(HasSubstr("bound=4 seed 1 failed: another starling train is running "
                                         "in sweeps/bounds/bound=4/seed-1; wait for its end"),
                               HasSubstr("3 of 4 runs are done")));
  EXPECT_FALSE(std::filesystem::exists(dir_ / "sweeps/bounds/old/bound=4/seed-1"));
}

TEST_F(SweepTest, ASweepJsonThatCannotBeWrittenIsAFailureThatStopsNobody) {
  std::filesystem::create_directories(dir_ / "sweeps/bounds/sweep.json/in the way");
  const Finished sweep = Sweep();
  EXPECT_EQ(sweep.status, kExitFailed);
  EXPECT_THAT(sweep.err, AllOf(HasSubstr("sweep.json: Is a directory"), HasSubstr("4/4  ")));
}

TEST_F(SweepTest, WithoutItsProgramARunFails) {
  dir_.Write("bounds.toml", "config = \"catch.toml\"\nseeds = [1, 2]\neval_episodes = 0\n");
  dir_.Write("script.learner", std::string("remove ../../../../bin/starling; ") + kTrains);
  const Finished sweep = Sweep();
  EXPECT_EQ(sweep.status, kExitFailed);
  EXPECT_THAT(sweep.err,
              AllOf(HasSubstr("1/2  base seed 1: return 1.50"),
                    HasSubstr("base seed 2 failed: could not be started (No such file or "
                              "directory)")));
}

TEST_F(SweepTest, ARunThatSomeoneElseInterruptsHasFailed) {
  dir_.Write("script.learner", "interrupt; hold; touch over; exit 0");
  const Finished sweep = Sweep();
  EXPECT_EQ(sweep.status, kExitFailed) << sweep.err;
  EXPECT_THAT(sweep.err, HasSubstr("failed: it was interrupted, and not by us"));
}

TEST_F(SweepTest, ATrainedRunIsEvaluatedOnly) {
  WriteOneRun(/*eval_episodes=*/3);
  WriteTrained("[128]");
  dir_.Write("script.learner", "exit 1");  // nobody is started
  const Finished sweep = Sweep();
  EXPECT_EQ(sweep.status, kExitDone) << sweep.err;
  EXPECT_EQ(SweepJson()["points"][0]["runs"][0]["evaluation"]["episodes"], 3);
}

TEST_F(SweepTest, AnEvaluatedRunWhoseWeightsAreGoneIsNotTrainedAgain) {
  WriteOneRun(/*eval_episodes=*/3);
  WriteTrained("[128]");
  EXPECT_EQ(Sweep().status, kExitDone);
  std::filesystem::remove_all(dir_ / "sweeps/bounds/bound=4/seed-1/checkpoints");
  EXPECT_EQ(Sweep().status, kExitDone);
  WriteOneRun(/*eval_episodes=*/5);
  const Finished sweep = Sweep();
  EXPECT_EQ(sweep.status, kExitFailed);
  EXPECT_THAT(sweep.err, HasSubstr("bound=4 seed 1 failed: it was evaluated with 3 episodes, and "
                                   "its weights are gone or damaged: set eval_episodes = 3"));
  EXPECT_TRUE(std::filesystem::exists(dir_ / "sweeps/bounds/bound=4/seed-1/final_eval.json"));
}

TEST_F(SweepTest, AnEvaluationThatFailsIsTheRunsFailure) {
  WriteOneRun(/*eval_episodes=*/3);
  WriteTrained("[3]");
  const Finished sweep = Sweep();
  EXPECT_EQ(sweep.status, kExitFailed);
  EXPECT_THAT(sweep.err,
              AllOf(HasSubstr("bound=4 seed 1 failed: evaluation: "), HasSubstr("another net")));
}

TEST_F(SweepTest, WithoutGoodWeightsThereIsNothingToEvaluate) {
  WriteOneRun(/*eval_episodes=*/3);
  const Finished sweep = Sweep();  // its checkpoint is an empty file
  EXPECT_EQ(sweep.status, kExitFailed);
  EXPECT_THAT(sweep.err, HasSubstr("bound=4 seed 1 failed: it ended well, but is not complete"));
}

// Runs train what was tried out, whatever becomes of the file.
TEST_F(SweepTest, TheConfigurationMayBeEditedMeanwhile) {
  dir_.Write("script.learner", std::string("remove ../../../../catch.toml; ") + kTrains);
  dir_.Write("bounds.toml",
             "config = \"catch.toml\"\nseeds = [1]\neval_episodes = 0\n[grid]\n"
             "staleness.bound = [0, 4]\n");
  const Finished sweep = Sweep();
  EXPECT_EQ(sweep.status, kExitDone) << sweep.err;
}

TEST_F(SweepTest, ARunThatCannotBeReadFailsAlone) {
  EXPECT_EQ(Sweep().status, kExitDone);
  std::filesystem::remove(dir_ / "sweeps/bounds/bound=4/seed-1/summary.json");
  std::filesystem::remove_all(dir_ / "sweeps/bounds/bound=4/seed-1/checkpoints");
  std::filesystem::create_symlink("checkpoints", dir_ / "sweeps/bounds/bound=4/seed-1/checkpoints");
  const Finished sweep = Sweep();
  EXPECT_EQ(sweep.status, kExitFailed);
  EXPECT_THAT(sweep.err, AllOf(HasSubstr("; 3 done already"), HasSubstr("bound=4 seed 1 failed: "),
                               HasSubstr("Too many levels of symbolic links")));
}

TEST_F(SweepTest, RunsOfAnotherConfigurationAreNeverMixedIn) {
  EXPECT_EQ(Sweep().status, kExitDone);
  dir_.Write("bounds.toml",
             "config = \"catch.toml\"\nseeds = [1, 2]\neval_episodes = 0\n[set]\nloss.gamma = 0.5\n"
             "[grid]\nstaleness.bound = [0, 4]\n");
  const std::string before = dir_.Read("sweeps/bounds/sweep.json");
  const Finished mixed = Sweep();
  EXPECT_EQ(mixed.status, kExitUserError);
  EXPECT_EQ(mixed.out, "");
  EXPECT_THAT(mixed.err, HasSubstr("sweeps/bounds/bound=4/seed-2 was trained with another "
                                   "configuration: loss.gamma is 0.99 there and 0.5 here; "
                                   "write what is there under [set] to go on with it, or give the "
                                   "sweep another dir = \"...\"\n"));
  EXPECT_EQ(dir_.Read("sweeps/bounds/sweep.json"), before);
}

TEST_F(SweepTest, ASecondSweepInTheSameDirectoryIsRefused) {
  dir_.Write("sweeps/bounds/lock", "");
  const int lock = ::open((dir_ / "sweeps/bounds/lock").c_str(), O_RDWR | O_CLOEXEC);
  ASSERT_EQ(::flock(lock, LOCK_EX | LOCK_NB), 0);
  const Finished second = Sweep();
  ::close(lock);
  EXPECT_EQ(second.status, kExitUserError);
  EXPECT_THAT(second.err, HasSubstr("another starling sweep is running in sweeps/bounds"));
  EXPECT_FALSE(std::filesystem::exists(dir_ / "sweeps/bounds/bound=0"));
}

TEST_F(SweepTest, ADirectoryThatCannotBeWritten) {
  dir_.Write("sweeps", "a file");
  const Finished sweep = Sweep();
  EXPECT_EQ(sweep.status, kExitUserError);
  EXPECT_THAT(sweep.err, HasSubstr("the sweep's directory sweeps/bounds cannot be written"));
}

TEST_F(SweepTest, AMistakeInTheGridStartsNothing) {
  dir_.Write("bounds.toml", "config = \"catch.toml\"\n[grid]\nstaleness.bound = [0, -1]\n");
  const Finished sweep = Sweep();
  EXPECT_EQ(sweep.status, kExitUserError);
  EXPECT_THAT(sweep.err, HasSubstr("bounds.toml:3:23: staleness.bound = -1 is out of range"));
  EXPECT_FALSE(std::filesystem::exists(dir_ / "sweeps"));
}

}  // namespace
}  // namespace starling::fleet
