// Threads that apply whole updates concurrently; runs under ThreadSanitizer as well.
//
// Most tests count in ones: weights start at 0 and every update subtracts 1 from each, so -weight
// is the number of updates in it. Let C be the capacity. Update v begins when v - C has landed, and
// v - C began when all updates up to v - 2 C had landed. So v reads a value written by one of the
// 2 C - 1 updates before it: of 2 C - 1 consecutive updates at least one is not lost.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <thread>

#include "tests/learner/apply/applier_fixture.h"

namespace starling::learner {
namespace {

constexpr std::size_t kLine = 16, kLines = 97, kHogwildSize = kLine * kLines;

const StateCopy& Zeros() {
  static const StateCopy zeros{std::vector<float>(kHogwildSize), {}};
  return zeros;
}

// Every update has a gradient of ones and learning rate 1.
class Ones : public UpdateStream {
 public:
  explicit Ones(std::uint64_t versions)
      : UpdateStream(kHogwildSize, versions, {.kind = OptimizerKind::kSgd}) {
    for (std::uint64_t v = 1; v <= versions; ++v) {
      at(v).gradients.assign(1, {ones_, 1});
      at(v).lr = at(v).scale = 1;
    }
  }

 private:
  const std::vector<float> ones_ = std::vector<float>(kHogwildSize, 1);
};

// The smallest and largest number of updates in any weight.
struct Counted {
  double least = 0, most = 0;
};
Counted Count(std::span<const float> weights) {
  const auto [low, high] = std::ranges::minmax(weights);
  return {-high, -low};
}
// Checks `counted` for weights of a completed `version`. Up to C later updates may be in them, too.
testing::AssertionResult Holds(const Counted& counted, std::uint64_t version,
                               std::uint64_t capacity) {
  const std::uint64_t most = version + capacity;
  const std::uint64_t least = version < 2 * capacity
                                  ? (version > 0 ? 1 : 0)
                                  : 2 + (version - 2 * capacity) / (2 * capacity - 1);
  if (counted.least >= static_cast<double>(least) && counted.most <= static_cast<double>(most)) {
    return testing::AssertionSuccess();
  }
  return testing::AssertionFailure()
         << counted.least << " to " << counted.most << " updates at version " << version
         << ", not within " << least << " to " << most;
}

TEST(HogwildLockfree, UpdatesOfDifferentLinesLoseNothing) {
  constexpr std::uint64_t kUpdates = 24;
  std::vector<std::vector<float>> gradients(kUpdates, std::vector<float>(kHogwildSize));
  for (std::size_t line = 0; line < kLines; ++line) {
    const std::vector<float> values = RandomVector(kLine, static_cast<std::uint32_t>(line + 1));
    std::ranges::copy(values, &gradients[line % kUpdates][line * kLine]);
  }
  // This holds with an average of squares, too. On a line without a gradient it stays zero or
  // decays; the weight does not change.
  for (const OptimizerKind kind : {OptimizerKind::kSgd, OptimizerKind::kRmsProp}) {
    UpdateStream stream(kHogwildSize, kUpdates, {.kind = kind});
    for (std::uint64_t v = 1; v <= kUpdates; ++v)
      stream.at(v).gradients.assign(1, {gradients[v - 1], 1});
    const StateCopy expected = stream.Reference().back();
    for (int round = 0; round < 24; ++round) {
      TestApplier hogwild(ApplyMode::kHogwild, stream, 1 + round % 8);
      hogwild.Run(stream, 1, kUpdates);
      ASSERT_EQ(hogwild->CaptureNow().weights, expected.weights)
          << NameOf(kind) << ", round " << round;
    }
  }
}

TEST(HogwildLockfree, UpdatesOfAllLinesLoseAtMostTheirOverlap) {
  constexpr std::uint64_t kVersions = 600;
  for (const int threads : {1, 2, 6}) {
    Ones stream(kVersions);
    TestApplier hogwild(ApplyMode::kHogwild, stream, threads, &Zeros());
    hogwild.Run(stream, 1, kVersions);
    const Counted counted = Count(hogwild->CaptureNow().weights);
    EXPECT_TRUE(Holds(counted, kVersions, hogwild->capacity())) << threads << " threads";
    EXPECT_LE(counted.most, kVersions);
    if (threads == 1) {
      EXPECT_EQ(counted.least, kVersions);
    }
  }
}

TEST(HogwildLockfree, EverySnapshotIsOfACompletedVersionAndVersionsNeverGoBack) {
  constexpr std::uint64_t kVersions = 600;
  for (const int threads : {1, 2, 4}) {
    Ones stream(kVersions);
    TestApplier hogwild(ApplyMode::kHogwild, stream, threads, &Zeros());
    const std::uint64_t capacity = hogwild->capacity();
    SCOPED_TRACE(threads);
    RunWatched(hogwild, stream, [&](const std::vector<float>& weights, std::uint64_t version) {
      return Holds(Count(weights), version, capacity);
    });
  }
}

TEST(HogwildLockfree, ProgressReachesTheLastVersionInStepsBelowTheSlotCount) {
  constexpr std::uint64_t kVersions = 400;
  Ones stream(kVersions);
  wire::SnapshotWriter snapshot("", kHogwildSize, 1, kTestTerm);
  std::vector<std::uint64_t> seen;  // by the publishing thread; one publishes at a time
  std::atomic<std::uint64_t> completed{0};
  std::unique_ptr<Applier> hogwild;
  std::atomic<Applier*> made{nullptr};
  hogwild = MakeApplier(ApplyMode::kHogwild,
                        {.threads = 4, .optimizer = stream.spec(), .size = kHogwildSize},
                        Zeros().weights, {}, snapshot, UpdateStream::Meta(0), [&] {
                          seen.push_back(made.load()->Completed());
                          std::this_thread::yield();  // lets the other threads get ahead
                          completed.store(seen.back());
                          completed.notify_one();
                        });
  made.store(hogwild.get());
  for (std::uint64_t v = 1; v <= kVersions; ++v) {
    for (std::uint64_t at; v - (at = completed.load()) > hogwild->capacity();) completed.wait(at);
    ASSERT_TRUE(hogwild->Submit(&stream.at(v)));
  }
  hogwild.reset();
  ASSERT_FALSE(seen.empty());
  EXPECT_EQ(seen.back(), kVersions);
  std::uint64_t before = 0;
  for (const std::uint64_t version : seen) {
    EXPECT_GT(version, before);
    EXPECT_LT(version, before + wire::kSnapshotSlots);
    before = version;
  }
}

// A thread that finishes while another publishes leaves its version to the publisher, which may
// have just checked. Here no later update would publish the last one of a round.
TEST(HogwildLockfree, EveryUpdateIsPublished) {
  constexpr std::uint64_t kRounds = 1500, kTogether = 3;
  UpdateStream stream(kLine, kRounds * kTogether, {.kind = OptimizerKind::kSgd});
  TestApplier hogwild(ApplyMode::kHogwild, stream, kTogether);
  for (std::uint64_t v = 0; v < kRounds * kTogether;) {
    for (std::uint64_t i = 0; i < kTogether; ++i) ASSERT_TRUE(hogwild->Submit(&stream.at(++v)));
    while (!hogwild->Idle()) std::this_thread::yield();
  }
  EXPECT_EQ(wire::SnapshotReader(hogwild.snapshot()).Latest(), kRounds * kTogether);
}

TEST(HogwildLockfree, ACaptureHoldsAllOfItsVersion) {
  constexpr std::uint64_t kVersions = 400;
  Ones stream(kVersions);
  for (std::uint64_t v = 1; v <= kVersions; v += 7)
    stream.at(v).capture = std::make_shared<StateCopy>();
  TestApplier hogwild(ApplyMode::kHogwild, stream, 4, &Zeros());
  hogwild.Run(stream, 1, kVersions);
  for (std::uint64_t v = 1; v <= kVersions; v += 7) {
    EXPECT_TRUE(Holds(Count(stream.at(v).capture->weights), v, hogwild->capacity()));
  }
}

// Like the network thread: reuses a few Update objects, and overwrites the gradients as soon as the
// update is completed.
TEST(HogwildLockfree, CompletedUpdatesAndGradientsMayBeReused) {
  constexpr std::uint64_t kVersions = 1000;
  Ones stream(1);
  TestApplier hogwild(ApplyMode::kHogwild, stream, 3, &Zeros());
  const std::uint64_t capacity = hogwild->capacity();
  std::vector<Update> updates(capacity);
  std::vector<std::vector<float>> gradients(capacity, std::vector<float>(kHogwildSize));
  for (std::uint64_t v = 1; v <= kVersions; ++v) {
    if (v > capacity) hogwild.WaitFor(v - capacity);
    Update& update = updates[v % capacity];
    std::vector<float>& gradient = gradients[v % capacity];
    std::ranges::fill(gradient, 1e6f);  // a thread that still reads it makes a large error
    asm volatile("" : : "r"(gradient.data()) : "memory");  // keeps the compiler from removing it
    std::ranges::fill(gradient, 1.0f);
    update.version = v;
    update.gradients.assign(1, {gradient, 1});
    update.lr = update.scale = 1;
    update.optimizer_step = v;
    update.meta = UpdateStream::Meta(v);
    ASSERT_TRUE(hogwild->Submit(&update));
  }
  hogwild.WaitFor(kVersions);
  const Counted counted = Count(hogwild->CaptureNow().weights);
  EXPECT_TRUE(Holds(counted, kVersions, capacity));
  EXPECT_LE(counted.most, kVersions);
}

}  // namespace
}  // namespace starling::learner
