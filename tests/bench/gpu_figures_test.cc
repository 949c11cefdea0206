// The measuring code of the figures about GPUs, on a GPU made of loops.
#include <gtest/gtest.h>

#include <memory>

#include "bench/gpu_games.h"
#include "bench/gpu_limits.h"
#include "bench/timed_gpu.h"
#include "envs/games/catch.h"
#include "tests/envs/on_loops.h"
#include "tests/support/fake_gpu.h"

namespace starling::bench {
namespace {

TEST(GpuFiguresTest, LimitsAreMeasured) {
  FakeGpu gpu;
  int nothings = 0, spins = 0;
  const Probe probe{.queue_nothing = [&](Gpu&) { gpu.Ask([&] { ++nothings; }); },
                    .spin =
                        [&](Gpu& its) {
                          ++spins;
                          its.memory().Wait();
                        }};
  const Limits limits = MeasureLimits(gpu, probe, 0);
  for (const double us : {limits.up_us, limits.down_us, limits.node_us, limits.blocking_us,
                          limits.spin_us, limits.copy_gb_s}) {
    EXPECT_GT(us, 0);
  }
  EXPECT_EQ(gpu.recordings(), 2);
  EXPECT_GE(nothings, 15 * 1000 + 2 * 15);
  EXPECT_GE(spins, 15);
}

TEST(GpuFiguresTest, GamesArePlayedInOneRecording) {
  FakeGpu gpu;
  const auto games = envs::MakeOnLoops<envs::Catch>({.name = "catch"}, 3, {.seed = 1}, 12, gpu);
  EXPECT_GT(GameStepNs(gpu, *games, 12, 0), 0);
  EXPECT_EQ(gpu.recordings(), 1);
  EXPECT_GE(gpu.replays(), 14);
}

TEST(GpuFiguresTest, ATimedGpuTimesItsRepeatedWork) {
  TimedGpu gpu(std::make_unique<FakeGpu>());
  Buffer<float> array(4, gpu.memory());
  const auto clear = [&] { Clear(gpu.memory(), array.span()); };
  for (int i = 0; i < 3; ++i) {
    gpu.Repeat(0, clear);
    clear();
  }
  gpu.memory().Wait();
  EXPECT_EQ(gpu.TakeNs(), 3 * FakeGpu::kNsOfWork) << "not the work between";
  EXPECT_EQ(gpu.TakeNs(), 0) << "since the last time";
}

}  // namespace
}  // namespace starling::bench
