#include "actors/gradient_message.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>

#include "tests/support/temp_dir.h"

namespace starling::actors {
namespace {

constexpr std::size_t kFloats = 32;

TEST(GradientSpace, WithoutSharedMemoryGradientsAreSent) {
  TempDir dir;
  for (const std::string& shared : {std::string(), (dir / "nothing").string()}) {
    GradientSpace space;
    space.Open(shared, kFloats, wire::ElementType::kF32);
    const std::span<float> gradient = space.Next();
    ASSERT_EQ(gradient.size(), kFloats);
    EXPECT_EQ(space.buffer(), 0u);
    std::ranges::fill(gradient, 0.5f);
    const wire::SharedTensor sent = space.TakeUnshared();
    EXPECT_EQ(static_cast<const void*>(sent.bytes().data()), gradient.data());
    EXPECT_NE(space.Next().data(), gradient.data());  // it may still be under way
    EXPECT_TRUE(std::ranges::all_of(gradient, [](float value) { return value == 0.5f; }));
  }
}

TEST(GradientSpace, OfBf16TheHalfIsSent) {
  GradientSpace space;
  space.Open("", kFloats, wire::ElementType::kBf16);
  std::ranges::fill(space.Next(), -1.5f);
  const wire::SharedTensor sent = space.TakeUnshared();
  EXPECT_EQ(sent.type(), wire::ElementType::kBf16);
  EXPECT_EQ(sent.count(), kFloats);
  EXPECT_EQ(sent.bytes().size(), 2 * kFloats);
  std::uint16_t first = 0;
  std::memcpy(&first, sent.bytes().data(), sizeof first);
  EXPECT_EQ(first, 0xbfc0);
}

TEST(GradientSpace, ASharedBufferIsFreeAgainOnceItsMessageIsAnswered) {
  TempDir dir;
  const wire::GradientBuffers learner(dir / "buffers", 1, kFloats);
  GradientSpace space;
  space.Open(learner.path().string(), kFloats, wire::ElementType::kF32);
  const float* const shared = space.Next().data();
  EXPECT_EQ(space.buffer(), 1u);
  EXPECT_TRUE(space.TakeUnshared().bytes().empty());  // it is there already
  space.Pushed(7);
  EXPECT_NE(space.Next().data(), shared);  // it is the learner's: the next one would be sent
  EXPECT_EQ(space.buffer(), 0u);
  space.Answered(6);
  space.Next();
  EXPECT_EQ(space.buffer(), 0u);
  space.Answered(7);
  EXPECT_EQ(space.Next().data(), shared);
  EXPECT_EQ(space.buffer(), 1u);
}

}  // namespace
}  // namespace starling::actors
