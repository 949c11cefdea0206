// Lanes at work while other threads read the snapshots; runs under ThreadSanitizer as well.
#include <gtest/gtest.h>

#include <atomic>
#include <thread>

#include "learner/apply/lanes.h"
#include "tests/learner/apply/applier_fixture.h"

namespace starling::learner {
namespace {

constexpr std::size_t kLanesRaceSize = 16 * 67;

TEST(LanesLockfree, EverySnapshotReadIsExactlyOneVersionAndVersionsNeverGoBack) {
  constexpr std::uint64_t kVersions = 600;
  UpdateStream stream(kLanesRaceSize, kVersions);
  std::vector<std::uint64_t> hashes;
  for (const StateCopy& capture : stream.Reference())
    hashes.push_back(HashWeights(capture.weights));

  for (const int threads : {1, 2, 4}) {
    TestLanes lanes(stream, threads);
    Watched watched;
    RunWatched(
        lanes, stream,
        [&](const std::vector<float>& weights, std::uint64_t version) {
          return HashWeights(weights) == hashes.at(version);
        },
        watched);
    EXPECT_EQ(watched.wrong, 0u) << threads << " lanes";
    EXPECT_EQ(watched.backward, 0u) << threads << " lanes";
    EXPECT_GE(watched.read, 2u);
  }
}

// Like the network thread: reuses a few Update objects, and overwrites the gradients as soon as the
// update is completed.
TEST(LanesLockfree, CompletedUpdatesAndGradientsMayBeReused) {
  constexpr std::uint64_t kVersions = 3000;
  UpdateStream stream(kLanesRaceSize, 1, {.kind = OptimizerKind::kSgd});
  TestLanes lanes(stream, 3);
  std::vector<Update> updates(kMaxUpdatesInLanes);
  std::vector<std::vector<float>> gradients(kMaxUpdatesInLanes, std::vector<float>(kLanesRaceSize));
  std::vector<float> expected = stream.initial();
  for (std::uint64_t v = 1; v <= kVersions; ++v) {
    if (v > kMaxUpdatesInLanes) lanes.WaitFor(v - kMaxUpdatesInLanes);
    Update& update = updates[v % kMaxUpdatesInLanes];
    std::vector<float>& gradient = gradients[v % kMaxUpdatesInLanes];
    for (std::size_t i = 0; i < kLanesRaceSize; ++i) {
      gradient[i] = static_cast<float>((v + i) % 8) * 0.125f;
      expected[i] -= 0.25f * gradient[i];
    }
    update.version = v;
    update.gradients.assign(1, {gradient, 1});
    update.lr = 0.25;
    update.optimizer_step = v;
    update.meta = UpdateStream::Meta(v);
    update.hash = true;
    update.capture = v % 100 == 0 ? std::make_shared<StateCopy>() : nullptr;
    ASSERT_TRUE(lanes->Submit(&update));
    if (v % 100 == 0) {
      lanes.WaitFor(v);
      ASSERT_EQ(update.WeightsHash(), HashWeights(expected)) << v;
      ASSERT_EQ(update.capture->weights, expected) << v;
    }
  }
}

}  // namespace
}  // namespace starling::learner
