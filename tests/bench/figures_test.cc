// The figures that need no other program, quickly: that they measure something, not how much.
#include "bench/figure.h"

#include <gmock/gmock.h>

#include "bench/actor_speed.h"
#include "core/gpu.h"
#include "envs/registry.h"
#include "tests/support/temp_dir.h"
#include "tools/sweep/grid.h"

namespace starling::bench {
namespace {

using nlohmann::json;
using testing::Ge;
using testing::HasSubstr;
using testing::SizeIs;

class FiguresTest : public testing::Test {
 protected:
  // Too quick a run to say whether a limit is kept.
  static void ExpectNoVerdict(const Result& result) {
    for (const Row& row : result.rows) EXPECT_FALSE(row.holds) << row.what;
    EXPECT_FALSE(result.broken);
  }

  const TempDir dir_;
  const Site site_{.programs = "/nowhere",
                   .config = std::filesystem::path(STARLING_SOURCE_DIR) / "bench/minatar.toml",
                   .shipped = std::filesystem::path(STARLING_SOURCE_DIR) / "configs",
                   .scratch = dir_.path(),
                   .quick = true};
};

TEST_F(FiguresTest, Wire) {
  const Result result = MeasureWire(site_);
  ASSERT_THAT(result.rows, SizeIs(2));
  ExpectNoVerdict(result);
  const json numbers = result.json;
  for (const char* size : {"0.53_MB", "4.00_MB"}) {
    for (const char* way : {"snapshot", "ipc", "tcp", "memcpy"}) {
      EXPECT_GT(numbers[size][way]["us"].get<double>(), 0) << size << way;
      EXPECT_GT(numbers[size][way]["gb_per_second"].get<double>(), 0) << size << way;
    }
  }
}

TEST_F(FiguresTest, Latency) {
  const Result result = MeasureLatency(site_);
  ASSERT_THAT(result.rows, SizeIs(2));
  ExpectNoVerdict(result);
  EXPECT_THAT(result.rows[0].what, HasSubstr("132,720 weights"));
  const json numbers = result.json;
  for (const char* reader : {"polled", "beacon"}) {
    EXPECT_GT(numbers[reader]["p50_ms"], 0) << reader;
    EXPECT_GE(numbers[reader]["p99_ms"], numbers[reader]["p50_ms"]) << reader;
  }
}

TEST_F(FiguresTest, LockShowsEveryWayAtEveryNumberOfPushers) {
  const Result result = MeasureLock(site_);
  ASSERT_THAT(result.rows, SizeIs(7));
  ExpectNoVerdict(result);
  EXPECT_THAT(result.rows[0].what, HasSubstr("132,720 weights, 1 thread pushes"));
  const json numbers = result.json;
  for (const char* way : {"lanes", "hogwild", "mutex"}) {
    for (const char* pushers : {"1", "2", "4", "8", "16"}) {
      const json& one = numbers["pushers"][pushers][way];
      EXPECT_GT(one["updates_per_second"], 0) << way << pushers;
      EXPECT_GT(one["waiting"], 0) << way << pushers;
      EXPECT_LE(one["waiting"], 1) << way << pushers;
    }
    for (const char* game : {"catch", "minatar/breakout"}) {
      EXPECT_THAT(numbers["scores"][game][way]["mean_return"], SizeIs(1)) << way << game;
    }
  }
}

TEST_F(FiguresTest, KernelsShowEveryOpOfBothNets) {
  const Result result = MeasureKernels(site_);
  ExpectNoVerdict(result);
  const json numbers = result.json;
  EXPECT_THAT(numbers["MinAtar"]["ops"], SizeIs(Ge(10)));
  EXPECT_THAT(numbers["Atari"]["ops"], SizeIs(Ge(10)));
  for (const char* net : {"MinAtar", "Atari"}) {
    EXPECT_GT(numbers[net]["gradient_us_per_step"], 0) << net;
    for (const json& op : numbers[net]["ops"]) EXPECT_GT(op["us"], 0) << op;
  }
  EXPECT_THAT(result.details, HasSubstr("| conv 16@8×8/4 backward weights | 40 |"));
}

TEST_F(FiguresTest, GpuSaysWhyNothingIsMeasuredWhereThereIsNone) {
  const std::string why = FindGpus().why_none;
  if (why.empty()) GTEST_SKIP() << "there is one";
  const std::pair<Result, std::size_t> figures[] = {
      {MeasureGpuLimits(site_), 6},
      {MeasureGpuGames(site_), envs::EnvNames().size()},
      {MeasureGpuActors(site_), 5},
      {MeasureGpuProducts(site_), 6},
      {MeasureGpuTraining(site_), 2}};
  for (const auto& [result, rows] : figures) {
    ASSERT_THAT(result.rows, SizeIs(rows));
    ExpectNoVerdict(result);
    for (const Row& row : result.rows) EXPECT_EQ(row.measured, "not measured: no GPU (see below)");
    EXPECT_THAT(result.details, HasSubstr(why));
    const json numbers = result.json;
    ASSERT_THAT(numbers, SizeIs(rows));
    for (const json& row : numbers) EXPECT_EQ(row["not_measured"], why);
  }
}

TEST_F(FiguresTest, LadderShowsEveryKernel) {
  const Result result = MeasureLadder(site_);
  EXPECT_FALSE(result.broken);
  ASSERT_THAT(result.rows, SizeIs(8));
  for (const Row& row : result.rows) EXPECT_EQ(row.holds, true) << row.what << row.measured;
  const json numbers = result.json;
  const json& backward = numbers["linear 1024×128 backward, batch 320, 13 % set"];
  ASSERT_THAT(backward, SizeIs(3));
  for (const json& kernel : backward) EXPECT_GT(kernel["us"], 0) << kernel;
  EXPECT_FALSE(numbers["linear 1024×128 forward, batch 64, 100 % set"][1].contains("us"));
  EXPECT_THAT(numbers["conv 16@3×3 of 10×10×4 forward, batch 64, 8 % set"], SizeIs(4));
}

// A mistake in one would show only when its figure is measured.
TEST_F(FiguresTest, EveryGridIsASweep) {
  for (const auto& file :
       std::filesystem::directory_iterator(site_.config.parent_path() / "grids")) {
    const sweep::Grid grid = sweep::ReadGrid(file.path());
    EXPECT_FALSE(grid.points.empty()) << file.path();
    EXPECT_FALSE(grid.simulate) << file.path();
  }
}

TEST_F(FiguresTest, AnActorOnTheProcessorTellsWhereItsTimeGoes) {
  ActorCase one = CaseOnProcessor(LoadConfig(site_.config));
  one.config.actors.envs_per_actor = 4;
  const ActorSpeed speed = MeasureActor(one.config, 0.05);
  EXPECT_GT(speed.least, 0);
  EXPECT_LE(speed.least, speed.steps_per_second);
  EXPECT_LE(speed.steps_per_second, speed.most);
  EXPECT_GT(speed.act, 0);
  EXPECT_GT(speed.gradient, 0);
  EXPECT_LE(speed.act + speed.gradient, 1);
  EXPECT_EQ(speed.busy, 0) << "there is no GPU in it";
}

}  // namespace
}  // namespace starling::bench
