// `starling train` from the command line to its summary: the built program, beside which stand-ins
// (fake_child.cc) play learner and actor.
#include "fleet/train.h"

#include <gmock/gmock.h>
#include <signal.h>

#include <functional>
#include <nlohmann/json.hpp>
#include <thread>

#include "core/config/config.h"
#include "core/error.h"
#include "learner/storage/checkpoint.h"
#include "tests/results/first_checkpoint.h"
#include "tests/support/fleet_fixtures.h"

namespace starling::fleet {
namespace {

using testing::HasSubstr;
using testing::Not;

const char* const kFinal =
    R"(status {"phase":"done","term":1,"steps":1000,"frames":1000,"updates":7,"seconds":2.5,)"
    R"("steps_per_second":400.0,"mean_return":1.5,"episodes":9,)"
    R"("staleness":{"max":1,"mean":0.5,"histogram":[4,4]},)"
    R"("gradients":{"received":9,"applied":8,"merged":2,"in_flight":0,"dropped":{"late":1}},)"
    R"("checkpoint":"checkpoints/t0001-v000000000007.safetensors","final":true})";

class TrainTest : public testing::Test {
 protected:
  TrainTest() {
    const auto bin = dir_ / "bin";
    std::filesystem::create_directory(bin);
    std::filesystem::copy_file(STARLING_PROGRAM, bin / "starling");
    for (const char* name : {"starling-learner", "starling-actor"}) {
      std::filesystem::copy_file(STARLING_FAKE_CHILD, bin / name);
    }
    dir_.Write("game.toml", "[run]\nsteps = 1000\n[env]\nname = \"catch\"\n[actors]\ncount = 2\n" +
                                std::string("[net]\nkind = \"mlp\"\n"));
    // The private place of this test alone.
    std::filesystem::create_directory(dir_ / "place");
  }

  // The learner's last status line comes before `end`.
  void Script(const std::string& end) {
    dir_.Write("script.learner", std::string(kFinal) + "; " + end + "\n");
  }
  // The stand-ins find their scripts in dir_: the run directory must be new.
  Finished Train(std::vector<std::string> words) {
    words.insert(words.begin(), {(dir_ / "bin/starling").string(), "train"});
    words.insert(words.end(), {"--set", "wire.runtime_dir=" + (dir_ / "place").string()});
    return RunProgram(dir_, words, {"FAKE_SCRIPTS=" + dir_.path().string()});
  }

  TempDir dir_;
};

TEST_F(TrainTest, RunFromConfigToSummary) {
  Script("touch over; exit 0");
  const Finished run = Train({"game.toml", "--set", "staleness.bound=3"});
  EXPECT_EQ(run.status, kExitDone) << run.err;
  EXPECT_EQ(run.out, "") << "results for programs only";
  EXPECT_THAT(run.err, HasSubstr("training catch in runs/game: 2 actors, 1,000 steps"));
  EXPECT_THAT(run.err, HasSubstr("done in 0:03: 1,000 steps, 7 updates, 400 steps/s"));
  EXPECT_THAT(run.err, HasSubstr("starling eval runs/game --episodes 100"));

  // The files of the run.
  const auto summary = nlohmann::json::parse(dir_.Read("runs/game/summary.json"));
  EXPECT_EQ(summary["env"], "catch");
  EXPECT_EQ(summary["steps"], 1000);
  EXPECT_EQ(summary["staleness"]["bound"], 3);
  EXPECT_EQ(summary["actors"]["started"], 2);
  EXPECT_EQ(summary["final_checkpoint"], "checkpoints/t0001-v000000000007.safetensors");

  const Config config = LoadConfig(dir_ / "runs/game/config.toml");
  EXPECT_EQ(config.run.dir, "runs/game");
  EXPECT_EQ(config.staleness.bound, 3u);
  EXPECT_THAT(dir_.Read("runs/game/log"), HasSubstr("learner started, pid "));
}

TEST_F(TrainTest, SecondRunIsNumberedAndAnExplicitOneRefused) {
  Script("touch over; exit 0");
  EXPECT_EQ(Train({"game.toml"}).status, kExitDone);
  EXPECT_EQ(Train({"game.toml"}).status, kExitDone);
  EXPECT_TRUE(std::filesystem::exists(dir_ / "runs/game-2/summary.json"));
  EXPECT_EQ(LoadConfig(dir_ / "runs/game-2/config.toml").run.dir, "runs/game-2");
  for (const std::vector<std::string>& words : std::vector<std::vector<std::string>>{
           {"game.toml", "--run-dir", "runs/game"}, {"game.toml", "--set", "run.dir=runs/game"}}) {
    const Finished refused = Train(words);
    EXPECT_EQ(refused.status, kExitUserError);
    EXPECT_THAT(refused.err, HasSubstr("runs/game is not empty; choose another"));
  }
  EXPECT_FALSE(std::filesystem::exists(dir_ / "runs/game-3"));
}

TEST_F(TrainTest, ResumeUsesItsOwnConfigAndKeepsTheDirectory) {
  Script("touch over; exit 0");
  EXPECT_EQ(Train({"game.toml", "--run-dir", "mine"}).status, kExitDone);
  EXPECT_THAT(Train({"--resume", "mine"}).err, HasSubstr("it has no checkpoint to go on from"));
  const Config trained = LoadConfig(dir_ / "mine/config.toml");
  learner::WriteCheckpoint(dir_ / "mine/checkpoints", results::FirstCheckpoint(trained));

  const Finished complete = Train({"--resume", "mine"});
  EXPECT_EQ(complete.status, kExitDone);
  EXPECT_EQ(complete.err, "mine is complete (1,000 steps); to go on, raise --set run.steps=...\n");

  // Its length is what it has, not what it is asked for; and it stays where it is.
  EXPECT_EQ(Train({"--resume", "mine", "--set", "run.steps=1"}).err, complete.err);
  const Finished elsewhere = Train({"--resume", "mine", "--set", "run.dir=other"});
  EXPECT_EQ(elsewhere.status, kExitUserError);
  EXPECT_EQ(elsewhere.err,
            "--set run.dir=other: a resumed run stays in its directory; leave it out\n");

  // Of a moved run the new place counts.
  std::filesystem::rename(dir_ / "mine", dir_ / "moved");
  std::filesystem::remove(dir_ / "moved/over");
  std::filesystem::remove(dir_ / "moved/arguments");
  const Finished more = Train({"--resume", "moved", "--set", "run.steps=1001"});
  EXPECT_EQ(more.status, kExitInterrupted) << "the stand-in stops at 1000 again: " << more.err;
  EXPECT_THAT(dir_.Read("moved/arguments"), HasSubstr("--resume"));
  const Config config = LoadConfig(dir_ / "moved/config.toml");
  EXPECT_EQ(config.run.steps, 1001u);
  EXPECT_EQ(config.run.dir, "moved");
  EXPECT_EQ(config.env.name, "catch");

  // A change that cannot be resumed with is refused before anything of the run is touched.
  const std::string summary = dir_.Read("moved/summary.json"),
                    kept = dir_.Read("moved/config.toml");
  for (const char* change : {"net.hidden=[64]", "optimizer.kind=sgd", "run.seed=2"}) {
    EXPECT_EQ(Train({"--resume", "moved", "--set", change}).status, kExitUserError) << change;
  }
  EXPECT_EQ(dir_.Read("moved/summary.json"), summary);
  EXPECT_EQ(dir_.Read("moved/config.toml"), kept);
}

class InitFromTest : public TrainTest {
 protected:
  // A run of another name, with one checkpoint; where that is.
  std::filesystem::path SaveRun(const std::string& name,
                                const std::vector<std::string>& changes = {}) {
    const Config config = LoadConfig(dir_ / "game.toml", changes);
    return learner::WriteCheckpoint(dir_ / (name + "/checkpoints"),
                                    results::FirstCheckpoint(config));
  }
};

TEST_F(InitFromTest, TheCheckpointIsFoundNotedAndTold) {
  Script("touch over; exit 0");
  const std::string checkpoint = std::filesystem::canonical(SaveRun("old"));
  for (const std::string& from : {std::string("old"), checkpoint}) {
    std::filesystem::remove_all(dir_ / "runs");
    const Finished run = Train({"game.toml", "--init-from", from});
    EXPECT_EQ(run.status, kExitDone) << run.err;
    EXPECT_THAT(run.err, HasSubstr("1,000 steps, from the weights of " + checkpoint));
    EXPECT_EQ(LoadConfig(dir_ / "runs/game/config.toml").run.init_from, checkpoint);
    EXPECT_EQ(nlohmann::json::parse(dir_.Read("runs/game/summary.json"))["init_from"], checkpoint);
  }
}

TEST_F(InitFromTest, WhatARunCannotStartFromIsSaidInASentenceBeforeAnythingStarts) {
  SaveRun("wide", {"net.hidden=[64]"});
  SaveRun("deep", {"net.hidden=[128, 128]"});
  dir_.Write("noise.safetensors", "this is no checkpoint, but it is long enough");
  const auto refusal = [&](const std::string& from) {
    const Finished run = Train({"game.toml", "--init-from", from});
    EXPECT_EQ(run.status, kExitUserError);
    EXPECT_EQ(std::count(run.err.begin(), run.err.end(), '\n'), 1) << run.err;
    return run.err;
  };
  EXPECT_THAT(
      refusal("wide"),
      HasSubstr(
          "wide/checkpoints/t0001-v000000000007.safetensors cannot be started from: "
          "its net has fc1.weight (50, 64) where this configuration's has fc1.weight (50, 128)"));
  EXPECT_THAT(refusal("deep"),
              HasSubstr("its net has fc2.weight (128, 128) where this configuration's has "));
  EXPECT_THAT(refusal("absent"), HasSubstr("absent is neither a run directory nor a checkpoint"));
  EXPECT_THAT(refusal("place"), HasSubstr("no good checkpoint in place/checkpoints"));
  EXPECT_THAT(refusal("noise.safetensors"), HasSubstr("noise.safetensors"));
  EXPECT_FALSE(std::filesystem::exists(dir_ / "runs"));
}

TEST_F(InitFromTest, ARunThatIsGoneOnWithKeepsItsWeightsWhateverBecameOfTheOthers) {
  dir_.Write("script.learner", "interrupt; hold; exit 0\n");
  SaveRun("old");
  EXPECT_EQ(Train({"game.toml", "--init-from", "old", "--run-dir", "mine"}).status,
            kExitInterrupted);
  SaveRun("mine");
  std::filesystem::remove_all(dir_ / "old");
  EXPECT_EQ(Train({"--resume", "mine"}).status, kExitInterrupted);
  const Finished other = Train({"--resume", "mine", "--set", "run.init_from=mine"});
  EXPECT_EQ(other.status, kExitUserError);
  EXPECT_EQ(
      other.err,
      "--set run.init_from=mine: only a new run starts from other weights, this one has its own\n");
  EXPECT_EQ(
      Train({"--resume", "mine", "--set", "net.init=fan_in"}).err,
      "--set net.init=fan_in: only a new run starts from other weights, this one has its own\n");
}

TEST_F(TrainTest, SummaryThatCannotBeWrittenIsSaidAndFails) {
  // A directory in the way stands for a full disk.
  Script("mkdir summary.json/x; touch over; exit 0");
  const Finished run = Train({"game.toml"});
  EXPECT_EQ(run.status, kExitFailed);
  EXPECT_THAT(run.err, HasSubstr("no summary: "));
  EXPECT_THAT(dir_.Read("runs/game/log"), HasSubstr("would have been: {\n  \"env\": \"catch\""));
}

TEST_F(TrainTest, FailedRunHasItsSummary) {
  dir_.Write("script.learner", "say nothing works; exit 2\n");
  const Finished run = Train({"game.toml"});
  EXPECT_EQ(run.status, kExitUserError);
  EXPECT_THAT(run.err, HasSubstr("nothing works\n"));
  const auto summary = nlohmann::json::parse(dir_.Read("runs/game/summary.json"));
  EXPECT_EQ(summary["steps"], 0);
  EXPECT_EQ(summary["error"], "nothing works");
}

TEST_F(TrainTest, AResumedRunHasFailedNoMore) {
  Script("touch over; exit 1");
  EXPECT_EQ(Train({"game.toml", "--run-dir", "mine"}).status, kExitFailed);
  EXPECT_THAT(dir_.Read("mine/summary.json"), HasSubstr("ended with exit status 1"));
  const Config trained = LoadConfig(dir_ / "mine/config.toml");
  learner::WriteCheckpoint(dir_ / "mine/checkpoints", results::FirstCheckpoint(trained));
  dir_.Write("script.learner", "interrupt; hold; exit 0\n");
  std::filesystem::remove(dir_ / "mine/over");
  EXPECT_EQ(Train({"--resume", "mine", "--set", "run.steps=1001"}).status, kExitInterrupted);
  const auto summary = nlohmann::json::parse(dir_.Read("mine/summary.json"));
  EXPECT_EQ(summary["error"], nullptr);
  EXPECT_EQ(summary["steps"], 1000) << "its learner never reported: the numbers are kept";
}

TEST_F(TrainTest, AResumedRunWhoseLearnerNeverReportsIsAsItWas) {
  Script("touch over; exit 0");
  EXPECT_EQ(Train({"game.toml", "--run-dir", "mine"}).status, kExitDone);
  learner::WriteCheckpoint(dir_ / "mine/checkpoints",
                           results::FirstCheckpoint(LoadConfig(dir_ / "mine/config.toml")));
  const std::string config = dir_.Read("mine/config.toml");
  dir_.Write("script.learner", "say no such place; exit 2\n");
  const Finished run = Train({"--resume", "mine", "--set", "run.steps=1001"});
  EXPECT_EQ(run.status, kExitUserError);
  EXPECT_THAT(run.err, HasSubstr("failed before the learner had started: the run is as it was\n"
                                 "  error       no such place\n"
                                 "  go on with  "));
  EXPECT_THAT(run.err, HasSubstr("train --resume mine\n"));
  EXPECT_EQ(dir_.Read("mine/config.toml"), config);
  EXPECT_EQ(nlohmann::json::parse(dir_.Read("mine/summary.json"))["steps"], 1000);
}

TEST_F(TrainTest, AFailedStartIsStartedAgainByTheSameCommand) {
  dir_.Write("script.learner", "say nothing works; exit 2\n");
  const Finished failed = Train({"game.toml", "--run-dir", "mine"});
  EXPECT_THAT(failed.err, HasSubstr("no checkpoint was written; the log is mine/log\n"
                                    "  start again with the same command\n"));
  std::filesystem::remove(dir_ / "mine/arguments");  // of the stand-ins, as the next
  for (const auto& entry : std::filesystem::directory_iterator(dir_ / "mine")) {
    if (entry.path().filename().string().starts_with("pids.")) std::filesystem::remove(entry);
  }
  EXPECT_THAT(Train({"--resume", "mine"}).err,
              HasSubstr("it has no checkpoint to go on from; start again with: starling train "
                        "CONFIG --run-dir mine\n"));
  Script("touch over; exit 0");
  EXPECT_EQ(Train({"game.toml", "--run-dir", "mine"}).status, kExitDone);
  EXPECT_THAT(dir_.Read("mine/log"), Not(HasSubstr("nothing works")));
}

// It never reported, or reported one that it removed before it was killed.
TEST_F(TrainTest, TheNewestCheckpointThatIsThereIsInTheSummary) {
  std::string removed = kFinal;
  removed.replace(removed.find("v000000000007"), 13, "v000000000003");
  for (const std::string& report : {std::string(), removed + "; "}) {
    dir_.Write("script.learner", report + "await go; say it went wrong; exit 2\n");
    std::thread other([&] {
      while (dir_.Lines("mine/pids.learner").empty()) std::this_thread::yield();
      learner::WriteCheckpoint(dir_ / "mine/checkpoints",
                               results::FirstCheckpoint(LoadConfig(dir_ / "mine/config.toml")));
      dir_.Write("mine/go", "");
    });
    EXPECT_NE(Train({"game.toml", "--run-dir", "mine"}).status, kExitDone);
    other.join();
    EXPECT_EQ(nlohmann::json::parse(dir_.Read("mine/summary.json"))["final_checkpoint"],
              "checkpoints/t0001-v000000000007.safetensors");
    std::filesystem::remove_all(dir_ / "mine");
  }
}

TEST_F(TrainTest, ARunDirectoryThatIsMovedOrDeletedIsSaid) {
  Script("await go; touch over; exit 0");
  const auto train = [&](const std::function<void()>& meanwhile) {
    std::thread other([&] {
      for (const char* who : {"learner", "actor.0", "actor.1"}) {
        while (dir_.Lines(std::string("mine/pids.") + who).empty()) std::this_thread::yield();
      }
      meanwhile();
    });
    const Finished run = Train({"game.toml", "--run-dir", "mine"});
    other.join();
    EXPECT_EQ(run.status, kExitFailed);
    return run.err;
  };
  const std::string moved = train([&] {
    std::filesystem::rename(dir_ / "mine", dir_ / "other");
    std::filesystem::create_directory(dir_ / "mine");
    dir_.Write("mine/go", "");
  });
  const std::string other = std::filesystem::canonical(dir_ / "other");
  EXPECT_THAT(moved, HasSubstr("the run directory mine was moved to " + other));
  EXPECT_THAT(moved, HasSubstr("train --resume " + other + "\n"));
  EXPECT_THAT(moved, Not(HasSubstr("--resume mine")));
  EXPECT_EQ(nlohmann::json::parse(dir_.Read("other/summary.json"))["steps"], 1000);
  EXPECT_FALSE(std::filesystem::exists(dir_ / "mine/summary.json"));

  std::filesystem::remove_all(dir_ / "mine");
  const std::string deleted = train([&] {
    std::filesystem::remove_all(dir_ / "mine");
    std::filesystem::create_directory(dir_ / "mine");
    dir_.Write("mine/go", "");
  });
  EXPECT_THAT(deleted, HasSubstr("the run directory mine was deleted during training"));
  EXPECT_THAT(deleted, Not(HasSubstr("--resume")));
}

TEST_F(TrainTest, ProgramMissingBesideStarling) {
  std::filesystem::remove(dir_ / "bin/starling-actor");
  const Finished run = Train({"game.toml"});
  EXPECT_EQ(run.status, kExitUserError);
  EXPECT_THAT(run.err, HasSubstr("bin/starling-actor is missing beside starling"));
  EXPECT_FALSE(std::filesystem::exists(dir_ / "runs"));
}

}  // namespace
}  // namespace starling::fleet
