#include "core/denormals.h"

#include <gtest/gtest.h>

#include <limits>
#include <thread>

namespace starling {
namespace {

float HalfOfTheSmallestNormal() {
  volatile float value = std::numeric_limits<float>::min();
  value = value * 0.5f;
  return value;
}

#if defined(__SSE__) || defined(__aarch64__)
TEST(Denormals, AreZeroInTheThreadThatAskedOnly) {
  float there = 1;
  std::thread([&] {
    FlushDenormals();
    there = HalfOfTheSmallestNormal();
  }).join();
  EXPECT_EQ(there, 0.0f);
  EXPECT_GT(HalfOfTheSmallestNormal(), 0.0f);
}
#endif

}  // namespace
}  // namespace starling
