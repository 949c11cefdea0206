#include "actors/pipeline.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <set>
#include <string>

#include "core/denormals.h"
#include "core/error.h"
#include "tests/support/error_of.h"

namespace starling::actors {
namespace {

constexpr int kStages = 4;

// Each job appends to its own list, which no lock guards: the order of stages makes it safe (and
// ThreadSanitizer says so if it does not).
TEST(PipelineTest, AJobGoesUpOrDownThroughAllStages) {
  for (const bool threaded : {true, false}) {
    std::vector<std::vector<int>> seen(3000);
    {
      Pipeline pipeline(
          kStages, [](int) {}, threaded);
      for (std::size_t job = 0; job < seen.size(); ++job) {
        pipeline.Submit(job % 3 == 0 ? Way::kDown : Way::kUp,
                        [&seen, job](int stage) { seen[job].push_back(stage); });
      }
      pipeline.WaitAll();
    }
    for (std::size_t job = 0; job < seen.size(); ++job) {
      const auto expected =
          job % 3 == 0 ? testing::ElementsAre(3, 2, 1, 0) : testing::ElementsAre(0, 1, 2, 3);
      ASSERT_THAT(seen[job], expected) << job;
    }
  }
}

TEST(PipelineTest, AStageDoesItsJobsInOrder) {
  std::vector<std::vector<std::size_t>> seen(kStages);
  Pipeline pipeline(kStages, [](int) {});
  for (std::size_t job = 0; job < 100; ++job) {
    const Way ways[] = {Way::kUp, Way::kDown, Way::kEach};
    pipeline.Submit(ways[job % 3], [&seen, job](int stage) {
      seen[static_cast<std::size_t>(stage)].push_back(job);
    });
  }
  pipeline.WaitAll();
  for (const auto& jobs : seen) {
    ASSERT_EQ(jobs.size(), 100u);
    EXPECT_TRUE(std::ranges::is_sorted(jobs));
  }
}

// Stage 1 holds job 0 until stage 0 has done job 1.
TEST(PipelineTest, AStageWorksOnAJobWhileTheNextOneIsBusyWithTheOneBefore) {
  std::atomic<bool> ahead{false};
  Pipeline pipeline(2, [](int) {});
  const std::uint64_t first = pipeline.Submit(Way::kUp, [&](int stage) {
    if (stage == 1) ahead.wait(false);
  });
  EXPECT_FALSE(pipeline.Done(first));
  pipeline.Submit(Way::kUp, [&](int stage) {
    if (stage == 0) {
      ahead = true;
      ahead.notify_all();
    }
  });
  pipeline.WaitAll();
  EXPECT_TRUE(pipeline.Done(first));
}

TEST(PipelineTest, EachStageHasAThreadThatEndsIt) {
  std::vector<std::thread::id> made(kStages), ended(kStages);
  {
    Pipeline pipeline(kStages, [&](int stage) {
      ended[static_cast<std::size_t>(stage)] = std::this_thread::get_id();
    });
    pipeline.Wait(pipeline.Submit(Way::kEach, [&](int stage) {
      made[static_cast<std::size_t>(stage)] = std::this_thread::get_id();
    }));
  }
  EXPECT_EQ(made[0], std::this_thread::get_id());
  EXPECT_EQ(made, ended);
  EXPECT_EQ(std::set<std::thread::id>(made.begin(), made.end()).size(), std::size_t{kStages});
}

// Whichever stage throws, nothing hangs, and later jobs are not done.
TEST(PipelineTest, AnExceptionComesToTheOwnerAndEndsTheWork) {
  for (const bool threaded : {true, false}) {
    for (const int guilty : {0, 2, 3}) {
      for (const Way way : {Way::kUp, Way::kDown, Way::kEach}) {
        Pipeline pipeline(
            kStages, [](int) {}, threaded);
        const std::string error = ErrorOf([&] {
          pipeline.Wait(pipeline.Submit(way, [&](int stage) {
            if (stage == guilty) throw UserError("the GPU was lost");
          }));
        });
        EXPECT_EQ(error, "the GPU was lost");
        EXPECT_EQ(ErrorOf([&] { pipeline.WaitAll(); }), "the GPU was lost");
        EXPECT_EQ(ErrorOf([&] { pipeline.Done(0); }), "the GPU was lost");
        EXPECT_EQ(ErrorOf([&] { pipeline.Submit(Way::kUp, [](int) { FAIL(); }); }),
                  "the GPU was lost");
      }
    }
  }
}

// A job may read what other stages own. AddressSanitizer reports a stage that ends too early.
TEST(PipelineTest, NoStageEndsWhileAnotherIsInAJob) {
  for (int round = 0; round < 50; ++round) {
    std::vector<std::unique_ptr<std::vector<int>>> owned(kStages);
    const auto at = [&](int stage) -> auto& { return owned[static_cast<std::size_t>(stage)]; };
    Pipeline pipeline(kStages, [&](int stage) { at(stage) = nullptr; });
    pipeline.Wait(pipeline.Submit(Way::kEach, [&](int stage) {
      at(stage) = std::make_unique<std::vector<int>>(1000, stage);
    }));
    for (int job = 0; job < 20; ++job) {
      pipeline.Submit(Way::kUp, [&](int stage) {
        int sum = 0;
        for (const int value : *at(std::max(stage - 1, 0))) sum += value;
        EXPECT_EQ(sum, 1000 * std::max(stage - 1, 0));
      });
    }
  }
}

TEST(PipelineTest, WhatIsUnderWayIsDroppedAtTheEnd) {
  std::atomic<int> done{0};
  {
    Pipeline pipeline(kStages, [](int) {});
    for (int job = 0; job < 100; ++job) {
      pipeline.Submit(Way::kDown, [&](int stage) { done += stage == 0 ? 1 : 0; });
    }
  }
  EXPECT_EQ(done, 0) << "stage 0 is the caller's, who did not wait";
}

// Else the bits of a stage would depend on its thread.
TEST(PipelineTest, StagesTreatDenormalsAsTheirOwnerDoes) {
  const auto smallest = [] {
    float results[2] = {};
    Pipeline pipeline(2, [](int) {});
    pipeline.Wait(pipeline.Submit(Way::kEach, [&](int stage) {
      volatile float small = 1e-30f;
      results[stage] = small * 1e-10f;
    }));
    EXPECT_EQ(results[0], results[1]);
    return results[1];
  };
  std::thread([&] {
    FlushDenormals();
    EXPECT_EQ(smallest(), 0);
  }).join();
}

TEST(PipelineTest, CountsTheTimeOfItsJobs) {
  Pipeline pipeline(2, [](int) {});
  EXPECT_EQ(pipeline.busy_ns(1), 0);
  pipeline.Wait(pipeline.Submit(Way::kEach, [](int stage) {
    volatile double sum = 0;
    for (int i = 0; stage == 1 && i < 1000; ++i) sum = sum + i;
  }));
  EXPECT_GT(pipeline.busy_ns(1), 0);
}

}  // namespace
}  // namespace starling::actors
