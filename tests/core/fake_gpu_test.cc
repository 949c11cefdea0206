// The GPU that the tests have where there is none (tests/support/fake_gpu.h).
#include "tests/support/fake_gpu.h"

#include <gtest/gtest-spi.h>

#include <algorithm>
#include <cstdlib>
#include <vector>

#include "core/memory.h"

namespace starling {
namespace {

// Doubles each of three numbers.
class FakeGpuTest : public ::testing::Test {
 protected:
  void Double() {
    gpu_.Ask([data = there_.data()] {
      for (int i = 0; i < 3; ++i) data[i] *= 2;
    });
  }
  void Send(const std::vector<int>& numbers) {
    std::ranges::copy(numbers, here_.data());
    Write<int>(gpu_.memory(), there_.span(), here_.span());
  }
  std::vector<int> Here() const { return {here_.data(), here_.data() + here_.size()}; }

  FakeGpu gpu_;
  Buffer<int> there_{3, gpu_.memory()}, here_{3, gpu_.memory().host_side()};
};

TEST_F(FakeGpuTest, DoesNothingBeforeItIsWaitedFor) {
  Send({1, 2, 3});
  Double();
  Read<int>(gpu_.memory(), here_.span(), there_.span());
  std::ranges::copy(std::vector<int>{4, 5, 6}, here_.data());  // a GPU may not have read them yet
  EXPECT_EQ(Here(), (std::vector<int>{4, 5, 6}));
  gpu_.memory().Wait();
  EXPECT_EQ(Here(), (std::vector<int>{8, 10, 12}));
}

TEST_F(FakeGpuTest, RepeatsWhatWasRecorded) {
  Send({1, 2, 3});
  int asked = 0;
  for (int round = 0; round < 4; ++round) {
    gpu_.Repeat(7, [&] {
      ++asked;
      Double();
    });
  }
  Read<int>(gpu_.memory(), here_.span(), there_.span());
  gpu_.memory().Wait();
  EXPECT_EQ(Here(), (std::vector<int>{16, 32, 48}));
  EXPECT_EQ(asked, 2);
  EXPECT_EQ(gpu_.recordings(), 1);
  EXPECT_EQ(gpu_.replays(), 3);
}

TEST_F(FakeGpuTest, FailsATestThatAllocatesInARecording) {
  gpu_.Repeat(1, [] {});
  void* data = nullptr;
  EXPECT_NONFATAL_FAILURE(gpu_.Repeat(1, [&] { data = gpu_.memory().Allocate(1); }),
                          "allocated while a graph is recorded");
  gpu_.memory().Free(data);
}

TEST_F(FakeGpuTest, NewArraysAreZero) {
  here_.data()[1] = 9;
  Read<int>(gpu_.memory(), here_.span(), there_.span());
  gpu_.memory().Wait();
  EXPECT_EQ(Here(), std::vector<int>(3, 0));
}

TEST_F(FakeGpuTest, FailsATestThatMixesUpTheSides) {
  std::vector<int> anywhere(3);
  const char* const why = "the other memory's array";
  EXPECT_NONFATAL_FAILURE(gpu_.memory().Write(here_.data(), there_.data(), 4), why);
  EXPECT_NONFATAL_FAILURE(gpu_.memory().Read(there_.data(), here_.data(), 4), why);
  EXPECT_NONFATAL_FAILURE(gpu_.memory().Write(there_.data(), anywhere.data(), 4), why);
}

TEST(FakeGpuMemoryTest, SaysThatItIsFull) {
  FakeGpu gpu(1000);
  const Buffer<char> most(900, gpu.memory());
  EXPECT_THROW(Buffer<char>(200, gpu.memory()), UserError);
  EXPECT_EQ(gpu.allocated(), 900u);
}

using FakeGpuDeathTest = FakeGpuTest;

TEST_F(FakeGpuDeathTest, TheHostCannotTouchItsMemory) {
  EXPECT_DEATH(std::exit(there_.data()[0]), "");
  EXPECT_DEATH(there_.data()[1] = 5, "");
}

}  // namespace
}  // namespace starling
