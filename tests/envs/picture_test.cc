#include "envs/picture.h"

#include <gtest/gtest.h>

#include <limits>
#include <set>
#include <vector>

#include "envs/registry.h"

namespace starling::envs {
namespace {

FrameSpec Spec(int height, int width, int channels, bool bytes = false) {
  FrameSpec spec;
  spec.env.height = height;
  spec.env.width = width;
  spec.env.channels = channels;
  spec.bytes = bytes;
  return spec;
}

Image PaintFloats(const FrameSpec& spec, const std::vector<float>& floats) {
  return Paint(spec, {}, floats);
}

TEST(Picture, KindsOfFrames) {
  EXPECT_EQ(KindOf(Spec(1, 1, 4)), FrameKind::kVector);
  EXPECT_EQ(KindOf(Spec(10, 10, 4)), FrameKind::kGrid);
  EXPECT_EQ(KindOf(Spec(10, 5, 1)), FrameKind::kGrid);
  EXPECT_EQ(KindOf(Spec(84, 84, 1)), FrameKind::kPicture);
  EXPECT_EQ(KindOf(Spec(84, 84, 4)), FrameKind::kGrid);
  EXPECT_EQ(KindOf(Spec(16, 32, 3)), FrameKind::kPicture);
  EXPECT_EQ(KindOf(Spec(16, 31, 3)), FrameKind::kGrid);
  EXPECT_EQ(KindOf(Spec(10, 10, 3, true)), FrameKind::kPicture);
  EXPECT_EQ(KindOf(Spec(10, 10, 2, true)), FrameKind::kGrid);
}

TEST(Picture, OfSeveralArraysTheFirstPictureIsPainted) {
  FrameSpec spec = Spec(1, 1, 10);
  spec.env.low = -9, spec.env.high = 9;
  spec.env.entries = {{"time", 1, 1, 2, -9, 9}, {"map", 2, 1, 2, 0, 1}, {"other", 1, 2, 2, 0, 1}};
  spec.env.actions = ActionSpace::Choice(2);
  spec.env.actions.masked = true;
  EXPECT_EQ(KindOf(spec), FrameKind::kGrid);
  const std::vector<float> seen = {7, -8, 0, 1, 0, 0, 1, 1, 1, 1, 0, 1};
  const Image image = PaintFloats(spec, seen);
  EXPECT_EQ(image, PaintFloats(Spec(2, 1, 2), {0, 1, 0, 0}));
  EXPECT_EQ(LitChannels(spec, {}, seen), (std::vector<int>{1, -1}));
  EXPECT_EQ(PaintedSpec(spec).env.row(), 4u);
  // Without a picture, all numbers.
  spec.env.entries = {{"a", 1, 1, 4}, {"b", 1, 1, 6}};
  EXPECT_EQ(KindOf(spec), FrameKind::kVector);
  EXPECT_EQ(PaintFloats(spec, seen).width, 10);
}

TEST(Picture, ACellHasTheColorOfItsFirstLitChannel) {
  const Image image = PaintFloats(Spec(1, 4, 3), {0, 0, 0, 0, 1, 1, 0, 0, 1, 1, 0, 0});
  ASSERT_EQ(image.width, 4);
  ASSERT_EQ(image.height, 1);
  EXPECT_EQ(image.at(0, 0), kBackground);
  EXPECT_EQ(image.at(0, 1), ColorOfChannel(1));
  EXPECT_EQ(image.at(0, 2), ColorOfChannel(2));
  EXPECT_EQ(image.at(0, 3), ColorOfChannel(0));
}

// Background 22 24 33, white 240: half of the way is 131, 132, 136.5.
TEST(Picture, ACellIsAsBrightAsItsValue) {
  const Image image = PaintFloats(Spec(2, 1, 1), {0.5f, -1});
  EXPECT_EQ(image.at(0, 0), (Rgb{131, 132, 136}));
  EXPECT_EQ(image.at(1, 0), ColorOfChannel(0)) << "negative values are lit too";
}

TEST(Picture, GreyAndColorsAreAsTheyAre) {
  const std::vector<std::uint8_t> grey = {0, 100, 255, 7};
  const Image of_grey = Paint(Spec(2, 2, 1, true), grey, {});
  EXPECT_EQ(of_grey.rgb,
            (std::vector<std::uint8_t>{0, 0, 0, 100, 100, 100, 255, 255, 255, 7, 7, 7}));
  const std::vector<std::uint8_t> rgb = {1, 2, 3, 4, 5, 6};
  EXPECT_EQ(Paint(Spec(1, 2, 3, true), rgb, {}).rgb, rgb);
}

TEST(Picture, FloatsAreScaledByTheirBounds) {
  FrameSpec spec = Spec(32, 1, 1);
  spec.env.low = -1;
  std::vector<float> floats(32, -1);
  floats[1] = 0;
  floats[2] = 1;
  const Image image = PaintFloats(spec, floats);
  EXPECT_EQ(image.at(0, 0), (Rgb{0, 0, 0}));
  EXPECT_EQ(image.at(1, 0), (Rgb{128, 128, 128}));
  EXPECT_EQ(image.at(2, 0), (Rgb{255, 255, 255}));
}

TEST(Picture, AVectorGoesFromBlueOverDarkToOrange) {
  FrameSpec spec = Spec(1, 1, 4);
  spec.env.low = -std::numeric_limits<float>::infinity();
  spec.env.high = std::numeric_limits<float>::infinity();
  const Image image = PaintFloats(spec, {0, 1e30f, -1e30f, 1});
  ASSERT_EQ(image.width, 4);
  EXPECT_EQ(image.at(0, 0), kBackground);
  EXPECT_EQ(image.at(0, 1), ColorOfChannel(1)) << "orange";
  EXPECT_EQ(image.at(0, 2), ColorOfChannel(2)) << "sky blue";
  // 1 / (1 + 1): half of the way to orange.
  EXPECT_EQ(image.at(0, 3), (Rgb{126, 92, 16}));
}

TEST(Picture, ValuesThatAreNoneAreDrawnSomehow) {
  const float nan = std::nanf(""), infinity = std::numeric_limits<float>::infinity();
  EXPECT_EQ(PaintFloats(Spec(2, 1, 1), {nan, infinity}).at(0, 0), ColorOfChannel(0));
  EXPECT_EQ(PaintFloats(Spec(1, 1, 2), {nan, infinity}).at(0, 1), ColorOfChannel(1));
}

TEST(Picture, TwelveChannelsCanBeToldApart) {
  std::set<Rgb> colors = {kBackground};
  for (int channel = 0; channel < 12; ++channel) colors.insert(ColorOfChannel(channel));
  EXPECT_EQ(colors.size(), 13u);
  EXPECT_EQ(ColorOfChannel(12), ColorOfChannel(0));
}

TEST(Picture, EnlargedWithAndWithoutLines) {
  const Image image{2, 1, {1, 1, 1, 9, 9, 9}};
  const Image large = Enlarged(image, 2);
  EXPECT_EQ(large.rgb, (std::vector<std::uint8_t>{1, 1, 1, 1, 1, 1, 9, 9, 9, 9, 9, 9,  //
                                                  1, 1, 1, 1, 1, 1, 9, 9, 9, 9, 9, 9}));
  const Image lined = Enlarged(image, 3, true);
  ASSERT_EQ(lined.width, 6);
  ASSERT_EQ(lined.height, 3);
  EXPECT_EQ(lined.at(1, 1), (Rgb{1, 1, 1}));
  EXPECT_EQ(lined.at(1, 2), kLine);
  EXPECT_EQ(lined.at(1, 3), (Rgb{9, 9, 9}));
  EXPECT_EQ(lined.at(2, 3), kLine);
  EXPECT_EQ(Enlarged(image, 1), image);
}

// 3 x 2 pixels by 2: the last column is averaged alone.
TEST(Picture, ShrunkIsTheMean) {
  const Image image{3, 2, {0, 0, 0, 4, 0, 0, 10, 0, 0, 8, 0, 1, 1, 0, 1, 21, 0, 0}};
  const Image small = Shrunk(image, 2);
  ASSERT_EQ(small.width, 2);
  ASSERT_EQ(small.height, 1);
  EXPECT_EQ(small.at(0, 0), (Rgb{3, 0, 1})) << "(0 + 4 + 8 + 1) / 4, (0 + 0 + 1 + 1) / 4";
  EXPECT_EQ(small.at(0, 1), (Rgb{16, 0, 0})) << "(10 + 21) / 2";
}

TEST(Picture, EveryBundledEnvHasOne) {
  for (const std::string& name : EnvNames()) {
    const auto frames = MakeFrames({.name = name}, 2, {});
    const int words = 2 * frames->spec().env.actions.width();
    frames->Advance(std::vector<std::int32_t>(static_cast<std::size_t>(words), FrameEnvs::kReset));
    const Image image = Paint(*frames, 1);
    std::set<Rgb> colors;
    for (int row = 0; row < image.height; ++row) {
      for (int column = 0; column < image.width; ++column) colors.insert(image.at(row, column));
    }
    EXPECT_GE(colors.size(), 2u) << name;
  }
}

}  // namespace
}  // namespace starling::envs
