#include "wire/gradient_buffers.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <stdexcept>

#include "tests/support/error_of.h"
#include "tests/wire/wire_test_util.h"

namespace starling::wire {
namespace {

using testing::Each;
using testing::HasSubstr;

constexpr std::size_t kBufferFloats = 1024, kCount = 2;

class GradientBuffersTest : public testing::Test {
 protected:
  GradientBuffersClient Client() const { return {path_, kBufferFloats}; }

  TempDir directory_;
  const std::filesystem::path path_ = directory_.path() / "gradients";
  std::optional<GradientBuffers> buffers_{std::in_place, path_, kCount, kBufferFloats};
};

TEST_F(GradientBuffersTest, WhatTheActorWritesTheLearnerReads) {
  const GradientBuffersClient client = Client();
  for (std::size_t i = 0; i < kCount; ++i) {
    std::ranges::fill(client.floats(i), static_cast<float>(i + 1));
  }
  for (std::size_t i = 0; i < kCount; ++i) {
    const auto loan = buffers_->Lend(i);
    ASSERT_TRUE(loan);
    ASSERT_EQ(loan->values.size(), kBufferFloats);
    EXPECT_THAT(loan->values, Each(static_cast<float>(i + 1)));
  }
}

TEST_F(GradientBuffersTest, ABufferIsLentOnceAtATime) {
  auto loan = buffers_->Lend(1);
  ASSERT_TRUE(loan);
  EXPECT_FALSE(buffers_->Lend(1));
  EXPECT_TRUE(buffers_->Lend(0)) << "another one is free";
  const auto held = *loan;  // a copy holds it, too
  loan.reset();
  EXPECT_FALSE(buffers_->Lend(1));
}

TEST_F(GradientBuffersTest, ABufferThatIsGivenBackCanBeLentAgain) {
  buffers_->Lend(1);
  EXPECT_TRUE(buffers_->Lend(1));
}

TEST_F(GradientBuffersTest, ThereAreNoMoreThanThereAre) {
  EXPECT_FALSE(buffers_->Lend(kCount));
  EXPECT_FALSE(buffers_->Lend(~std::size_t{0}));
}

// An actor dies while its gradient waits: the learner applies it all the same.
TEST_F(GradientBuffersTest, ALoanOutlivesTheBuffersAndTheirFile) {
  std::ranges::fill(Client().floats(0), 5.0f);
  const auto loan = buffers_->Lend(0);
  buffers_.reset();
  EXPECT_FALSE(std::filesystem::exists(path_));
  ASSERT_TRUE(loan);
  EXPECT_THAT(loan->values, Each(5.0f));
}

TEST_F(GradientBuffersTest, AnActorHasABufferAgainWhenItIsAnswered) {
  GradientBuffersClient client = Client();
  ASSERT_EQ(client.Free(), 0u);
  client.Pushed(0, 7);
  ASSERT_EQ(client.Free(), 1u);
  client.Pushed(1, 9);
  EXPECT_EQ(client.Free(), std::nullopt);
  client.Answered(0);  // an answer to nothing
  client.Answered(8);  // to something else
  EXPECT_EQ(client.Free(), std::nullopt);
  client.Answered(9);
  EXPECT_EQ(client.Free(), 1u);
  client.Answered(7);
  EXPECT_EQ(client.Free(), 0u);
}

TEST_F(GradientBuffersTest, ClientsOfWhatIsNoneAreToldSo) {
  const auto error = [](const std::filesystem::path& path) {
    return ErrorOf<std::runtime_error>([&] { GradientBuffersClient(path, kBufferFloats); });
  };
  EXPECT_THAT(error(directory_.path() / "nothing"), HasSubstr("No such file"));
  EXPECT_THAT(error(directory_.path()), HasSubstr("directory"));
  std::ofstream(directory_.path() / "odd") << std::string(kBufferFloats * 4 + 4, 'x');
  EXPECT_THAT(error(directory_.path() / "odd"), HasSubstr("4100 bytes are no buffers of 1024"));
  std::ofstream(directory_.path() / "empty");
  EXPECT_THAT(error(directory_.path() / "empty"), HasSubstr("0 bytes are too few"));
}

TEST_F(GradientBuffersTest, NoMemoryIsAnErrorThatNamesThePath) {
  EXPECT_THAT(
      ErrorOf([&] { GradientBuffers(directory_.path() / "huge", 1, std::size_t{1} << 52); }),
      HasSubstr("huge: cannot reserve"));
  EXPECT_FALSE(std::filesystem::exists(directory_.path() / "huge"));
}

}  // namespace
}  // namespace starling::wire
