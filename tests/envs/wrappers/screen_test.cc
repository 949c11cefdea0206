#include "envs/wrappers/screen.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <cmath>

#include "core/random.h"
#include "tests/support/error_of.h"

namespace starling::envs {
namespace {

FrameSpec Raw(int height, int width, int channels, bool bytes) {
  return {.env = {.name = "game",
                  .height = height,
                  .width = width,
                  .channels = channels,
                  .actions = ActionSpace::Choice(2),
                  .action_names = {"a", "b"},
                  .low = 0,
                  .high = bytes ? 255.0f : 1.0f},
          .bytes = bytes};
}

TEST(ScreenTest, BytesBecomeFloatsUpToOne) {
  Screen screen(Raw(1, 2, 1, true), false);
  const std::uint8_t bytes[] = {0, 255};
  float out[2] = {-1, -1};
  screen.Show(bytes, out);
  EXPECT_EQ(out[0], 0);
  EXPECT_EQ(out[1], 1);
  EXPECT_EQ(screen.spec().high, 1);
}

TEST(ScreenTest, FloatsPassAsTheyAre) {
  Screen screen(Raw(1, 1, 3, false), false);
  const float floats[] = {-2, 0.5, 7};
  float out[3] = {};
  screen.Show(floats, out);
  EXPECT_THAT(out, testing::ElementsAre(-2, 0.5, 7));
}

TEST(ScreenTest, AMaskStaysAMask) {
  FrameSpec spec = Raw(1, 1, 1, true);
  spec.env.actions.masked = true;
  Screen screen(spec, false);
  const std::uint8_t bytes[] = {255, 0, 1};
  float out[3] = {-1, -1, -1};
  screen.Show(bytes, out);
  EXPECT_THAT(out, testing::ElementsAre(1, 0, testing::Gt(0)));
  EXPECT_TRUE(screen.spec().actions.masked);
}

TEST(ScreenTest, AnRgbPictureIsGreyAndSmall) {
  Screen screen(Raw(168, 84, 3, true), true);
  EXPECT_EQ(screen.spec().height, 84);
  EXPECT_EQ(screen.spec().width, 84);
  EXPECT_EQ(screen.spec().channels, 1);
  std::vector<std::uint8_t> red(168 * 84 * 3);
  for (std::size_t i = 0; i < red.size(); i += 3) red[i] = 200;
  std::vector<float> out(84 * 84);
  screen.Show(red, out.data());
  EXPECT_THAT(out, testing::Each(60.0f / 255.0f));  // 0.299 * 200 = 59.8
}

// 3 x 2 cells of 28 pixels: the grid is 84 high and 56 wide, 14 pixels are free on either side.
TEST(ScreenTest, AGridIsDrawnInSquares) {
  Screen screen(Raw(3, 2, 2, false), true);
  std::vector<float> grid(3 * 2 * 2, 0.0f);
  grid[(0 * 2 + 0) * 2 + 0] = 1;  // row 0, column 0: the first channel
  grid[(2 * 2 + 1) * 2 + 1] = 1;  // row 2, column 1: the last channel
  std::vector<float> out(84 * 84, -1.0f);
  screen.Show(grid, out.data());
  for (int y = 0; y < 84; ++y) {
    for (int x = 0; x < 84; ++x) {
      float expected = 0;
      if (y < 28 && x >= 14 && x < 42) expected = 1;
      if (y >= 56 && x >= 42 && x < 70) expected = 0.25;
      ASSERT_EQ(out[static_cast<std::size_t>(y * 84 + x)], expected) << y << ", " << x;
    }
  }
}

TEST(ScreenTest, WhatIsAsLargeAsTheScreenIsDrawnUnlessItIsOne) {
  std::vector<float> out(84 * 84, -1.0f);
  Screen two(Raw(84, 84, 2, false), true);
  std::vector<float> second(84 * 84 * 2, 0.0f);
  for (std::size_t i = 1; i < second.size(); i += 2) second[i] = 1;
  two.Show(second, out.data());
  EXPECT_THAT(out, testing::Each(0.25f));
  Screen narrow(Raw(84, 40, 1, false), true);
  narrow.Show(std::vector<float>(84 * 40, 1.0f), out.data());
  EXPECT_EQ(std::ranges::count(out, 1.0f), 84 * 40);
  Screen one(Raw(84, 84, 1, false), true);
  one.Show(std::vector<float>(84 * 84, 0.5f), out.data());
  EXPECT_THAT(out, testing::Each(0.5f));
}

TEST(ScreenTest, WhereChannelsMeetTheFirstIsSeen) {
  Screen screen(Raw(2, 2, 2, false), true);
  const std::vector<float> both(2 * 2 * 2, 1.0f);
  std::vector<float> out(84 * 84);
  screen.Show(both, out.data());
  EXPECT_THAT(out, testing::Each(1.0f));
}

std::string Refusal(const FrameSpec& spec) {
  return ErrorOf([&] { Screen(spec, true); });
}

TEST(ScreenTest, PixelsOfAVectorAreRefused) {
  EXPECT_THAT(Refusal(Raw(1, 1, 4, false)), testing::HasSubstr("game observes (1, 1, 4)"));
  EXPECT_THAT(Refusal(Raw(83, 84, 1, true)), testing::HasSubstr("leave env.pixels out"));
  EXPECT_THAT(Refusal(Raw(100, 100, 2, true)), testing::HasSubstr("(100, 100, 2)"));
  EXPECT_EQ(Refusal(Raw(84, 84, 1, true)), "");
  EXPECT_EQ(Refusal(Raw(10, 10, 4, false)), "");
  FrameSpec wide = Raw(10, 10, 4, false);
  wide.env.low = -1;
  EXPECT_THAT(Refusal(wide), testing::HasSubstr("from -1 to 1"));
}

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

// The same sums in the plainest order, rounded by the library.
Bytes PlainlyResized(const Bytes& picture, int height, int width, int side) {
  const auto share = [](int from, int to, double scale) -> float {
    const double part =
        std::min<double>(from + 1, (to + 1) * scale) - std::max<double>(from, to * scale);
    return part <= 1e-3 ? 0 : static_cast<float>(part / scale);
  };
  Bytes out;
  for (int y = 0; y < side; ++y) {
    std::vector<float> sums(static_cast<std::size_t>(side));
    for (int row = 0; row < height; ++row) {
      const float of_row = share(row, y, static_cast<double>(height) / side);
      if (of_row == 0) continue;
      for (int x = 0; x < side; ++x) {
        volatile float sum = 0, product = 0;  // each product is rounded
        for (int column = 0; column < width; ++column) {
          const float weight = share(column, x, static_cast<double>(width) / side);
          if (weight == 0) continue;
          product = picture[static_cast<std::size_t>(row * width + column)] * weight;
          sum = sum + product;
        }
        product = of_row * sum;
        sums[static_cast<std::size_t>(x)] += product;
      }
    }
    for (const float sum : sums) out.push_back(static_cast<std::uint8_t>(std::lrint(sum)));
  }
  return out;
}

TEST(AreaResizeTest, RowsThatRepeatAndWhiteOnesAreTheSameBytes) {
  RandomStream random(StreamId{.seed = 4});
  for (const auto& [height, width] :
       {std::pair(210, 160), std::pair(250, 160), std::pair(90, 117)}) {
    // Rows in runs of 1 to 5, of four kinds; the first kind is white.
    std::vector<Bytes> kinds(4, Bytes(static_cast<std::size_t>(width), 255));
    for (Bytes& kind : std::span(kinds).subspan(1)) {
      for (std::uint8_t& pixel : kind) pixel = static_cast<std::uint8_t>(random.Below(256));
    }
    Bytes picture;
    for (int row = 0; row < height;) {
      const Bytes& kind = kinds[random.Below(4)];
      for (auto run = random.Below(5) + 1; run > 0 && row < height; --run, ++row) {
        picture.insert(picture.end(), kind.begin(), kind.end());
      }
    }
    EXPECT_EQ(Resized(picture, height, width, 84, 84), PlainlyResized(picture, height, width, 84));
  }
}

TEST(AreaResizeDeathTest, PicturesDoNotGrow) { EXPECT_DEATH(AreaResize(2, 2, 3, 2), "2 x 2 to 3"); }

}  // namespace
}  // namespace starling::envs
