// When the pipeline may submit an update to an applier whose updates may overtake each other.
#include "learner/pipeline.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <semaphore>
#include <string>
#include <vector>

#include "tests/support/temp_dir.h"

namespace starling::learner {
namespace {

constexpr std::size_t kSize = 64;

// Two actors, one gradient per update, four threads.
class HogwildPipeline {
 public:
  explicit HogwildPipeline(const std::string& bound)
      : config_(ParseConfig("[run]\nsteps = 1000\n[actors]\ncount = 2\n"
                            "[learner]\napply = \"hogwild\"\nthreads = 4\n"
                            "[updates]\ngradients = 1\nin_flight = 1\n",
                            "x.toml", {"staleness.bound=" + bound})),
        pipeline_(config_, TrainingState{.weights = gradient_, .optimizer_state = {}}, SIZE_MAX,
                  snapshot_, journal_, counters_, [this] { progress_.release(); }) {
    for (std::uint32_t slot : {0u, 1u}) pipeline_.judge().Join(slot);
    pipeline_.judge().Open();
  }

  // Holds a gradient for a grant of `slot`, computed on the version of the grant.
  void Push(std::uint32_t slot) {
    for (const Grant& grant : pipeline_.judge().TakeGrants()) grants_.push_back(grant);
    const auto grant = std::ranges::find(grants_, slot, &Grant::slot);
    ASSERT_NE(grant, grants_.end());
    EXPECT_EQ(pipeline_.Hold({.header = {.slot = slot, .version = grant->version},
                              .body = {.grant = grant->number, .samples = 10},
                              .tensor = {.values = gradient_, .hold = {}}}),
              Arrival::kHeld);
    grants_.erase(grant);
  }
  bool Advance() { return pipeline_.AdvanceOne(); }
  // Waits until the oldest submitted update is finished, and takes it.
  void TakeOne() {
    while (!pipeline_.TakeFinished()) progress_.acquire();
  }
  std::uint64_t taken() const { return pipeline_.taken(); }
  const Counters& counters() const { return counters_; }

 private:
  TempDir dir_;
  const std::vector<float> gradient_ = std::vector<float>(kSize, 0.5f);
  const Config config_;
  wire::SnapshotWriter snapshot_{"", kSize, 1, /*term=*/1};
  JournalWriter journal_{dir_ / "journal", {}};
  Counters counters_;
  std::vector<Grant> grants_;
  std::counting_semaphore<> progress_{0};
  Pipeline pipeline_;
};

// Bound 1. Versions 1 and 2 are made of gradients on version 0. Version 3 is ready and within the
// bound, but if it landed before one of them, that one would land after two others.
TEST(PipelineTest, AnUpdateThatWouldMakeAnotherTooOldWaits) {
  HogwildPipeline pipeline("1");
  pipeline.Push(0);
  ASSERT_TRUE(pipeline.Advance());
  pipeline.Push(1);
  ASSERT_TRUE(pipeline.Advance());
  pipeline.Push(0);
  EXPECT_FALSE(pipeline.Advance());
  EXPECT_EQ(pipeline.taken(), 0u) << "even if the threads have finished";
  pipeline.TakeOne();
  EXPECT_EQ(pipeline.taken(), 1u);
  EXPECT_FALSE(pipeline.Advance());
  pipeline.TakeOne();
  EXPECT_TRUE(pipeline.Advance());
  pipeline.TakeOne();
  EXPECT_EQ(pipeline.counters().staleness.max(), 1u);
}

TEST(PipelineTest, WithoutABoundNoUpdateWaits) {
  HogwildPipeline pipeline("\"unbounded\"");
  for (const std::uint32_t slot : {0u, 1u, 0u, 1u}) {
    pipeline.Push(slot);
    EXPECT_TRUE(pipeline.Advance());
  }
  for (int i = 0; i < 4; ++i) pipeline.TakeOne();
}

}  // namespace
}  // namespace starling::learner
