// `starling train` decides whether a run begins or goes on, before it starts a process.
#include "fleet/train_plan.h"

#include <gmock/gmock.h>

#include <optional>

#include "core/locked_file.h"
#include "learner/storage/checkpoint.h"
#include "results/run_dir.h"
#include "tests/results/first_checkpoint.h"
#include "tests/support/error_of.h"
#include "tests/support/temp_dir.h"
#include "wire/runtime_dir.h"

namespace starling::fleet {
namespace {

using testing::HasSubstr;

class ContinueTest : public testing::Test {
 protected:
  ContinueTest() { WriteGame(1000); }

  void WriteGame(int steps) {
    dir_.Write("game.toml",
               "[run]\nsteps = " + std::to_string(steps) +
                   "\n[env]\nname = \"catch\"\n[actors]\ncount = 2\n[net]\nkind = \"mlp\"\n" +
                   "[wire]\nruntime_dir = \"" + dir_.path().string() + "\"\n");
  }
  TrainOptions Options(std::vector<std::string> overrides = {}) const {
    return {.config = dir_ / "game.toml",
            .overrides = std::move(overrides),
            .run_dir = run_,
            .resume = {},
            .continues = true,
            .programs = std::filesystem::path(STARLING_PROGRAM).parent_path()};
  }
  Plan PlanFor(std::vector<std::string> overrides = {}) const {
    return PreparePlan(Options(std::move(overrides)));
  }
  std::string Refusal(const TrainOptions& options) const {
    return ErrorOf([&] { PreparePlan(options, [] { return false; }); });
  }

  // A run without a checkpoint.
  void Begin(int steps) const {
    std::filesystem::create_directory(run_);
    results::WriteConfig(run_, LoadConfig(dir_ / "game.toml"));
    dir_.Write("run/log", "learner started\n");
    dir_.Write("run/metrics.jsonl", "{\"steps\":" + std::to_string(steps) + "}\n");
  }
  std::filesystem::path WriteCheckpoint() const {
    std::filesystem::create_directory(run_);
    results::WriteConfig(run_, LoadConfig(dir_ / "game.toml"));
    return learner::WriteCheckpoint(run_ / "checkpoints",
                                    results::FirstCheckpoint(LoadConfig(dir_ / "game.toml")));
  }

  TempDir dir_;
  const std::filesystem::path run_ = dir_ / "run";
};

TEST_F(ContinueTest, WithoutARunItBegins) {
  const Plan plan = PlanFor({"run.steps=2000"});
  EXPECT_FALSE(plan.resume);
  EXPECT_EQ(plan.run_dir, run_);
  EXPECT_EQ(plan.config.run.steps, 2000u);
  EXPECT_EQ(plan.warning, "");
  EXPECT_TRUE(std::filesystem::is_directory(run_));
}

TEST_F(ContinueTest, WithACheckpointItGoesOn) {
  WriteCheckpoint();
  const Plan plan = PlanFor({"run.steps=2000"});
  EXPECT_TRUE(plan.resume);
  EXPECT_EQ(plan.run_dir, run_);
  EXPECT_EQ(plan.config.run.steps, 2000u);
  EXPECT_EQ(plan.warning, "");
}

TEST_F(ContinueTest, WhatOnlyABeginningTakesIsLeftOut) {
  WriteCheckpoint();
  TrainOptions options =
      Options({"net.init = fan_in", "run.init_from=elsewhere", "run.dir=" + run_.string()});
  options.run_dir = {};
  options.init_from = "elsewhere";
  const Plan plan = PreparePlan(options);
  EXPECT_TRUE(plan.resume);
  EXPECT_EQ(plan.run_dir, run_);
  EXPECT_EQ(plan.config.run.init_from, "");
}

TEST_F(ContinueTest, AConfigurationThatChangedSinceIsToldAndNotTaken) {
  WriteCheckpoint();
  WriteGame(5000);
  EXPECT_EQ(PlanFor().config.run.steps, 1000u);
  EXPECT_EQ(PlanFor().warning,
            "the run goes on with its own " + (run_ / "config.toml").string() + ", not with " +
                (dir_ / "game.toml").string() +
                ": run.steps is 1000 there and 5000 here; --set changes a run that has begun");
  EXPECT_EQ(PlanFor({"run.steps=9000"}).warning, "") << "that is taken";
  // What is of the machine is not the file's.
  dir_.Write("game.toml",
             "[env]\nname = \"catch\"\n[actors]\ncount = \"auto\"\n"
             "[net]\nkind = \"mlp\"\n[updates]\ngradients = \"auto\"\n");
  EXPECT_EQ(PlanFor().warning, "");
  std::filesystem::remove(dir_ / "game.toml");
  EXPECT_EQ(PlanFor().warning, "") << "nothing of it is needed";
}

TEST_F(ContinueTest, AStartThatWasKilledBeforeItsFirstCheckpointBeginsAgain) {
  Begin(0);
  EXPECT_FALSE(PlanFor().resume);
  EXPECT_TRUE(std::filesystem::is_empty(run_));
}

TEST_F(ContinueTest, WhatIsNoRunOrHasLostItsCheckpointsIsLeftAlone) {
  dir_.Write("run/letter", "dear");
  EXPECT_THAT(Refusal(Options()), HasSubstr("it has no config.toml: not a run"));
  std::filesystem::remove_all(run_);
  Begin(160);
  EXPECT_THAT(Refusal(Options()), HasSubstr("it has no checkpoint to go on from"));
  std::filesystem::remove_all(run_);
  std::filesystem::resize_file(WriteCheckpoint(), 100);
  EXPECT_THAT(Refusal(Options()), HasSubstr("no good checkpoint"));
  std::filesystem::remove_all(run_ / "checkpoints");
  std::filesystem::create_symlink(dir_ / "unplugged", run_ / "checkpoints");
  EXPECT_THAT(Refusal(Options()), HasSubstr("it has no checkpoint to go on from"));
  EXPECT_TRUE(std::filesystem::exists(run_ / "config.toml"));
}

TEST_F(ContinueTest, ARunBeforeItsFirstCheckpointWhoseProcessesLiveIsNotBegunAgain) {
  Begin(0);
  for (const char* const file : {"lock", "log"}) {
    const LockedFile other(run_ / file);
    EXPECT_EQ(Refusal(Options()), run_.string() + ": another process trains there");
  }
  {  // one that has not locked anything yet
    const auto learner = wire::RuntimeDir::Create(wire::RuntimeRoot(dir_.path().string()), run_);
    EXPECT_EQ(Refusal(Options()), run_.string() + ": another process trains there");
  }
  EXPECT_TRUE(std::filesystem::exists(run_ / "metrics.jsonl"));
  // One that is ending is waited for.
  auto learner = std::make_optional<LockedFile>(run_ / "lock");
  EXPECT_FALSE(PreparePlan(Options(), [&] {
                 learner.reset();
                 return true;
               }).resume);
}

TEST_F(ContinueTest, ARunWithACheckpointWhoseProcessesAreStillEndingIsWaitedFor) {
  WriteCheckpoint();
  auto learner = std::make_optional<LockedFile>(run_ / "lock");
  int waits = 0;
  const Plan plan = PreparePlan(Options(), [&] {
    if (++waits == 3) learner.reset();
    return true;
  });
  EXPECT_TRUE(plan.resume);
  EXPECT_EQ(waits, 3);
}

TEST_F(ContinueTest, ItsRunMustBeNamed) {
  TrainOptions options = Options();
  options.run_dir = {};
  EXPECT_EQ(Refusal(options),
            "--continue must know its run: give --run-dir DIR, or run.dir in the configuration");
  options.overrides = {"run.dir=" + run_.string()};
  EXPECT_EQ(PreparePlan(options).run_dir, run_);
}

}  // namespace
}  // namespace starling::fleet
