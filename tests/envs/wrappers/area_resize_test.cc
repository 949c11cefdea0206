#include "envs/wrappers/area_resize.h"

#include <gtest/gtest.h>

#include <cmath>

#include "core/random.h"

namespace starling::envs {
namespace {

using Bytes = std::vector<std::uint8_t>;

Bytes Resized(const Bytes& picture, int height, int width, int new_height, int new_width) {
  Bytes out(static_cast<std::size_t>(new_height * new_width));
  AreaResize(height, width, new_height, new_width)(picture, out);
  return out;
}

TEST(AreaResizeTest, ThreePixelsBecomeTwo) {
  // The first new pixel covers the first old one and half of the second: (10 + 20/2) / 1.5 = 13.3.
  // The second one: (20/2 + 60) / 1.5 = 46.7.
  EXPECT_EQ(Resized({10, 20, 60}, 1, 3, 1, 2), (Bytes{13, 47}));
  EXPECT_EQ(Resized({10, 20, 60}, 3, 1, 2, 1), (Bytes{13, 47}));
}

TEST(AreaResizeTest, HalvesAreRoundedToEven) {
  // Means 0.5, 1.5, 2.5.
  EXPECT_EQ(Resized({0, 1, 1, 2, 2, 3}, 1, 6, 1, 3), (Bytes{0, 2, 2}));
}

TEST(AreaResizeTest, TheSameSizeIsTheSamePicture) {
  EXPECT_EQ(Resized({1, 2, 3, 4, 5, 6}, 2, 3, 2, 3), (Bytes{1, 2, 3, 4, 5, 6}));
}

TEST(AreaResizeTest, AnAtariScreenIsTheMeanOverEveryCoveredArea) {
  constexpr int kHeight = 210, kWidth = 160, kSide = 84;
  RandomStream random(StreamId{.seed = 3});
  Bytes screen(kHeight * kWidth);
  for (std::uint8_t& pixel : screen) pixel = static_cast<std::uint8_t>(random.Below(256));
  const Bytes small = Resized(screen, kHeight, kWidth, kSide, kSide);
  // How much of old pixel `from` lies within new pixel `to`, in old pixels.
  const auto overlap = [](int from, int to, double scale) {
    return std::max(
        0.0, std::min<double>(from + 1, (to + 1) * scale) - std::max<double>(from, to * scale));
  };
  for (int y = 0; y < kSide; ++y) {
    for (int x = 0; x < kSide; ++x) {
      double sum = 0;
      for (int row = 0; row < kHeight; ++row) {
        const double part = overlap(row, y, 2.5);
        if (part == 0) continue;
        for (int column = 0; column < kWidth; ++column) {
          sum += part * overlap(column, x, kWidth / 84.0) *
                 screen[static_cast<std::size_t>(row * kWidth + column)];
        }
      }
      const double mean = sum / (2.5 * kWidth / 84.0);
      ASSERT_LE(std::abs(mean - small[static_cast<std::size_t>(y * kSide + x)]), 0.501)
          << "at " << y << ", " << x;
    }
  }
}

TEST(AreaResizeDeathTest, PicturesDoNotGrow) { EXPECT_DEATH(AreaResize(2, 2, 3, 2), "2 x 2 to 3"); }

}  // namespace
}  // namespace starling::envs
