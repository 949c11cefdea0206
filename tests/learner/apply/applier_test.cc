// The contract of every applier.
#include "learner/apply/applier.h"

#include <gtest/gtest.h>

#include <semaphore>

#include "learner/apply/hogwild.h"
#include "tests/learner/apply/applier_fixture.h"

namespace starling::learner {
namespace {

constexpr std::size_t kApplierSize = 16 * 101;  // the last block is not full

class ApplierTest : public testing::TestWithParam<ApplyMode> {
 protected:
  TestApplier Make(UpdateStream& stream, int threads, const StateCopy* from = nullptr,
                   std::uint64_t version = 0) {
    return {GetParam(), stream, threads, from, version};
  }
};
INSTANTIATE_TEST_SUITE_P(Ways, ApplierTest, kEachWay, NameOfWay);

TEST_P(ApplierTest, OneThreadEqualsThePlainOptimizerBitForBit) {
  for (const auto& [name, config] : OptimizerVariants()) {
    UpdateStream stream(kApplierSize, 30, config);
    const StateCopy expected = stream.Reference().back();
    TestApplier applier = Make(stream, 1);
    applier.Run(stream, 1, 30);
    ExpectEqual(applier->CaptureNow(), expected, name);
  }
}

// This makes the bits of staleness.bound = 0 independent of the number of threads.
TEST_P(ApplierTest, OneUpdateAtATimeEqualsThePlainOptimizerInAnyNumberOfThreads) {
  UpdateStream stream(kApplierSize, 30);
  const StateCopy expected = stream.Reference().back();
  for (int threads = 1; threads <= 5; ++threads) {
    TestApplier applier = Make(stream, threads);
    for (std::uint64_t v = 1; v <= 30; ++v) applier.Run(stream, v, v);
    ExpectEqual(applier->CaptureNow(), expected, std::to_string(threads) + " threads");
  }
}

TEST_P(ApplierTest, TheInitialWeightsArePublishedAtOnce) {
  UpdateStream stream(kApplierSize, 1);
  TestApplier applier = Make(stream, 2, nullptr, 40);
  wire::SnapshotReader reader(applier.snapshot());
  std::vector<float> got(kApplierSize);
  wire::SnapshotMeta meta;
  ASSERT_TRUE(reader.Read(40, got, meta));
  EXPECT_EQ(got, stream.initial());
  EXPECT_EQ(meta, UpdateStream::Meta(40));
  EXPECT_EQ(applier->Completed(), 40u);
  EXPECT_TRUE(applier->Idle());
  EXPECT_EQ(applier->threads(), 2);
}

TEST_P(ApplierTest, EachVersionIsPublishedAndCapturedWithItsWeightsAndMeta) {
  UpdateStream stream(kApplierSize, 12);
  const std::vector<StateCopy> expected = stream.Reference();
  for (std::uint64_t v = 1; v <= 12; v += 3) stream.at(v).capture = std::make_shared<StateCopy>();
  TestApplier applier = Make(stream, 3);
  wire::SnapshotReader reader(applier.snapshot());
  std::vector<float> got(kApplierSize);
  wire::SnapshotMeta meta;
  for (std::uint64_t v = 1; v <= 12; ++v) {
    applier.Run(stream, v, v);
    ASSERT_TRUE(reader.Read(v, got, meta));
    EXPECT_EQ(got, expected[v].weights);
    EXPECT_EQ(meta, UpdateStream::Meta(v));
    if (v % 3 == 1) ExpectEqual(*stream.at(v).capture, expected[v], std::to_string(v));
  }
  applier.End();
  EXPECT_EQ(applier.progress(), 12) << "one call for each update";
}

TEST_P(ApplierTest, ContinuesFromACaptureBitForBit) {
  UpdateStream stream(kApplierSize, 20);
  const StateCopy expected = stream.Reference().back();
  StateCopy middle;
  {
    TestApplier applier = Make(stream, 1);
    applier.Run(stream, 1, 9);
    middle = applier->CaptureNow();
  }
  TestApplier applier = Make(stream, 1, &middle, 9);
  applier.Run(stream, 10, 20);
  ExpectEqual(applier->CaptureNow(), expected, "continued");
}

// The running square of a weight without gradients decays in every update. As a denormal number it
// would make each later update many times slower.
TEST_P(ApplierTest, DecayingStateBecomesZeroNotDenormal) {
  constexpr std::uint64_t kVersions = 40;
  UpdateStream stream(kApplierSize, kVersions, {.decay = 0.5});
  const std::vector<float> tiny(kApplierSize, 1e-15f), zero(kApplierSize, 0.0f);
  for (std::uint64_t v = 1; v <= kVersions; ++v)
    stream.at(v).gradients = {{v == 1 ? tiny : zero, 1}};
  TestApplier applier = Make(stream, 2);
  for (std::uint64_t v = 1; v <= kVersions; ++v) applier.Run(stream, v, v);
  // 1e-30 / 2 halved 39 times is about 1e-42, a denormal number; float's smallest is 1.4e-45.
  const StateCopy last = applier->CaptureNow();
  for (const float square : last.state[0]) EXPECT_EQ(square, 0.0f);
}

TEST_P(ApplierTest, RefusesMoreUpdatesThanItsCapacity) {
  UpdateStream stream(kApplierSize, 4);
  wire::SnapshotWriter snapshot("", kApplierSize, 1, kTestTerm);
  std::counting_semaphore<> reached(0), go_on(0);
  {
    // The only thread waits inside on_progress after each version.
    const auto applier =
        MakeApplier(GetParam(), {.threads = 1, .optimizer = stream.spec(), .size = kApplierSize},
                    stream.initial(), {}, snapshot, UpdateStream::Meta(0), [&] {
                      reached.release();
                      go_on.acquire();
                    });
    ASSERT_EQ(applier->capacity(), 2u);
    ASSERT_TRUE(applier->Submit(&stream.at(1)));
    reached.acquire();
    EXPECT_EQ(applier->Completed(), 1u);
    EXPECT_TRUE(applier->Submit(&stream.at(2)));
    EXPECT_TRUE(applier->Submit(&stream.at(3)));
    EXPECT_FALSE(applier->Submit(&stream.at(4)));
    EXPECT_EQ(applier->Completed(), 1u);
    EXPECT_EQ(applier->Submitted(), 3u);
    go_on.release();
    reached.acquire();
    EXPECT_EQ(applier->Completed(), 2u);
    EXPECT_TRUE(applier->Submit(&stream.at(4)));
    go_on.release(10);
  }
  // The destructor has finished every submitted update.
  EXPECT_EQ(wire::SnapshotReader(snapshot).Latest(), 4u);
}

using ApplierDeathTest = ApplierTest;
INSTANTIATE_TEST_SUITE_P(Ways, ApplierDeathTest, kEachWay, NameOfWay);

TEST_P(ApplierDeathTest, AVersionOutOfOrderAborts) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  UpdateStream stream(kApplierSize, 2);
  TestApplier applier = Make(stream, 1);
  EXPECT_DEATH(applier->Submit(&stream.at(2)), "version 2 after 0");
}

TEST(SharedFloats, StoreChangedWritesChangedLinesOnly) {
  SharedFloats shared(64);
  const std::vector<float> before(48, 1.0f);
  std::vector<float> now = before, got(64);
  now[20] = 2;  // in the second line of the three
  shared.Store(0, std::vector<float>(64, 7.0f));
  shared.StoreChanged(16, before, now);
  shared.Load(0, got);
  for (std::size_t i = 0; i < 64; ++i) {
    const float expected = i == 36 ? 2 : i >= 32 && i < 48 ? 1 : 7;
    EXPECT_EQ(got[i], expected) << i;
  }
}

}  // namespace
}  // namespace starling::learner
