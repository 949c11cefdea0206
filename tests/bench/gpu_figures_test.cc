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

// Counts ticks; a second passes between any two.
class CountingWatch final : public Stopwatch {
 public:
  explicit CountingWatch(int& ticks) : ticks_(ticks) {}
  void Tick() override { ++ticks_; }
  double TakeSeconds() override { return ticks_ / 2; }

 private:
  int& ticks_;
};

TEST(GpuFiguresTest, ATimedGpuTicksAroundItsWork) {
  int ticks = 0, seen = -1;
  TimedGpu gpu(std::make_unique<FakeGpu>(), std::make_unique<CountingWatch>(ticks));
  for (int i = 0; i < 3; ++i) gpu.Repeat(0, [&] { seen = ticks; });
  EXPECT_EQ(seen, 3) << "the second call is the one that records";
  EXPECT_EQ(ticks, 6);
  EXPECT_EQ(gpu.TakeSeconds(), 3);
}

}  // namespace
}  // namespace starling::bench
