// Appliers that start and end while they have work, and lanes at work while other threads read the
// snapshots; runs under ThreadSanitizer as well.
#include <gtest/gtest.h>

#include <atomic>

#include "learner/apply/lanes.h"
#include "tests/learner/apply/applier_fixture.h"

namespace starling::learner {
namespace {

constexpr std::size_t kApplierRaceSize = 16 * 67;

class ApplierLockfree : public testing::TestWithParam<ApplyMode> {};
INSTANTIATE_TEST_SUITE_P(Ways, ApplierLockfree, kEachWay, NameOfWay);

TEST_P(ApplierLockfree, TheDestructorFinishesEverySubmittedUpdate) {
  UpdateStream stream(kApplierRaceSize, 8);
  const std::vector<StateCopy> expected = stream.Reference();
  for (int round = 0; round < 300; ++round) {
    wire::SnapshotWriter snapshot("", kApplierRaceSize, 1, kTestTerm);
    const int threads = 1 + round % 4;
    std::atomic<std::uint64_t> progress{0};
    std::uint64_t taken = 0;
    bool in_order = true;
    {
      const auto applier = MakeApplier(
          GetParam(), {.threads = threads, .optimizer = stream.spec(), .size = kApplierRaceSize},
          stream.initial(), {}, snapshot, UpdateStream::Meta(0), [&] { progress.fetch_add(1); });
      in_order = applier->in_order() || threads == 1;
      // Submit as many as fit now, then destroy the applier.
      while (taken < 8 && applier->Submit(&stream.at(taken + 1))) ++taken;
      ASSERT_GE(taken, applier->capacity());
    }
    // One call for every version; out of order, one call may cover several versions.
    if (in_order) {
      ASSERT_EQ(progress, taken);
    }
    ASSERT_GE(progress, 1u);
    ASSERT_LE(progress, taken);
    wire::SnapshotReader reader(snapshot);
    std::vector<float> weights(kApplierRaceSize);
    wire::SnapshotMeta meta;
    ASSERT_TRUE(reader.Read(taken, weights, meta));
    if (in_order) {
      ASSERT_EQ(weights, expected[taken].weights);
    }
  }
}

TEST_P(ApplierLockfree, EndsWithoutAnyUpdate) {
  UpdateStream stream(kApplierRaceSize, 1);
  for (int round = 0; round < 200; ++round) TestApplier(GetParam(), stream, 1 + round % 4);
}

TEST(LanesLockfree, EverySnapshotReadIsExactlyOneVersionAndVersionsNeverGoBack) {
  constexpr std::uint64_t kVersions = 600;
  UpdateStream stream(kApplierRaceSize, kVersions);
  std::vector<std::uint64_t> hashes;
  for (const StateCopy& capture : stream.Reference())
    hashes.push_back(HashWeights(capture.weights));

  for (const int threads : {1, 2, 4}) {
    TestApplier lanes(ApplyMode::kLanes, stream, threads);
    SCOPED_TRACE(threads);
    RunWatched(lanes, stream, [&](const std::vector<float>& weights, std::uint64_t version) {
      return HashWeights(weights) == hashes.at(version);
    });
  }
}

// Like the network thread: reuses a few Update objects, and overwrites the gradients as soon as the
// update is completed.
TEST(LanesLockfree, CompletedUpdatesAndGradientsMayBeReused) {
  constexpr std::uint64_t kVersions = 3000;
  UpdateStream stream(kApplierRaceSize, 1, {.kind = OptimizerKind::kSgd});
  TestApplier lanes(ApplyMode::kLanes, stream, 3);
  std::vector<Update> updates(kMaxUpdatesInLanes);
  std::vector<std::vector<float>> gradients(kMaxUpdatesInLanes,
                                            std::vector<float>(kApplierRaceSize));
  std::vector<float> expected = stream.initial();
  for (std::uint64_t v = 1; v <= kVersions; ++v) {
    if (v > kMaxUpdatesInLanes) lanes.WaitFor(v - kMaxUpdatesInLanes);
    Update& update = updates[v % kMaxUpdatesInLanes];
    std::vector<float>& gradient = gradients[v % kMaxUpdatesInLanes];
    for (std::size_t i = 0; i < kApplierRaceSize; ++i) {
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
