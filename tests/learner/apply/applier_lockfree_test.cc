// Appliers that start and end while they have work; runs under ThreadSanitizer as well.
#include <gtest/gtest.h>

#include <atomic>

#include "tests/learner/apply/applier_fixture.h"

namespace starling::learner {
namespace {

constexpr std::size_t kApplierRaceSize = 16 * 67;

class ApplierLockfree : public testing::TestWithParam<ApplyMode> {};
INSTANTIATE_TEST_SUITE_P(Ways, ApplierLockfree,
                         testing::Values(ApplyMode::kLanes, ApplyMode::kHogwild),
                         [](const auto& test) { return std::string(NameOf(test.param)); });

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

}  // namespace
}  // namespace starling::learner
