// The libraries' own readers read the files back.
#include "tools/play/play.h"

#include <gtest/gtest.h>
#include <png.h>

#include <cstdlib>

#include "tests/tools/play/watch_gif.h"

namespace starling::play {
namespace {

TEST(GifWriter, StoresWhatChangedAndShowsAll) {
  Image first = Plain(20, 10, {10, 20, 30}), second = first;
  Set(second, 3, 4, {255, 0, 1});
  Set(second, 5, 9, {0, 255, 2});
  GifWriter gif(20, 10, 10);
  gif.Add(first);
  gif.Add(second);
  const Movie movie = Watch(gif.Finish(0));
  ASSERT_EQ(movie.frames.size(), 2u);
  EXPECT_TRUE(movie.loops);
  EXPECT_EQ(movie.frames[0].image, first);
  EXPECT_EQ(movie.frames[1].image, second);
  EXPECT_EQ(movie.frames[1].stored_width, 9 - 4 + 1);
  EXPECT_EQ(movie.frames[1].stored_height, 5 - 3 + 1);
}

TEST(GifWriter, AFrameThatChangesNothingMakesTheOneBeforeLast) {
  const Image dark = Plain(4, 4, {1, 1, 1}), light = Plain(4, 4, {200, 200, 200});
  GifWriter gif(4, 4, 10);
  for (const Image* image : {&dark, &dark, &dark, &light, &dark}) gif.Add(*image);
  const Movie movie = Watch(gif.Finish(500));
  ASSERT_EQ(movie.frames.size(), 3u);
  EXPECT_EQ(movie.frames[0].delay_cs, 30);
  EXPECT_EQ(movie.frames[1].delay_cs, 10);
  EXPECT_EQ(movie.frames[2].delay_cs, 10 + 50);
  EXPECT_EQ(movie.frames[2].image, dark);
}

// A thirtieth of a second is 3.33 hundredths: 3, 4, 3, … and 300 of them are 10 seconds.
TEST(GifWriter, TheWholeDoesNotDrift) {
  for (const int fps : {30, 50, 7, 1}) {
    GifWriter gif(2, 2, fps);
    for (int i = 0; i < 10 * fps; ++i) gif.Add(Plain(2, 2, {static_cast<std::uint8_t>(i), 0, 0}));
    const Movie movie = Watch(gif.Finish(0));
    int sum = 0;
    for (const Movie::Frame& frame : movie.frames) {
      EXPECT_LE(std::abs(frame.delay_cs - 100.0 / fps), 1) << fps;
      sum += frame.delay_cs;
    }
    EXPECT_EQ(sum, 1000) << fps;
  }
}

TEST(GifWriter, HoldsUpTo256ColorsExactly) {
  Image image = Plain(16, 16, {0, 0, 0});
  for (int i = 0; i < 256; ++i) Set(image, i / 16, i % 16, {static_cast<std::uint8_t>(i), 7, 200});
  GifWriter gif(16, 16, 10);
  gif.Add(image);
  EXPECT_EQ(Watch(gif.Finish()).frames.at(0).image, image);
}

// 6, 7 and 6 levels are 51, 42.5 and 51 apart: none is further than 26 from its colour.
TEST(GifWriter, RoundsMoreColorsThanThat) {
  Image image = Plain(40, 40, {0, 0, 0});
  for (int i = 0; i < 1600; ++i) {
    Set(image, i / 40, i % 40,
        {static_cast<std::uint8_t>(i % 256), static_cast<std::uint8_t>(i / 7),
         static_cast<std::uint8_t>(i * 13)});
  }
  GifWriter gif(40, 40, 10);
  gif.Add(image);
  const Movie movie = Watch(gif.Finish());
  ASSERT_EQ(movie.frames.size(), 1u);
  for (std::size_t i = 0; i < image.rgb.size(); ++i) {
    ASSERT_LE(std::abs(movie.frames[0].image.rgb[i] - image.rgb[i]), 26) << i;
  }
}

TEST(EncodePng, IsReadBackAsItWas) {
  Image image = Plain(37, 11, {22, 24, 33});
  Set(image, 10, 36, {255, 1, 2});
  const std::string bytes = EncodePng(image);
  png_image png{};
  png.version = PNG_IMAGE_VERSION;
  ASSERT_NE(png_image_begin_read_from_memory(&png, bytes.data(), bytes.size()), 0) << png.message;
  ASSERT_EQ(png.width, 37u);
  ASSERT_EQ(png.height, 11u);
  png.format = PNG_FORMAT_RGB;
  std::vector<std::uint8_t> rgb(PNG_IMAGE_SIZE(png));
  ASSERT_NE(png_image_finish_read(&png, nullptr, rgb.data(), 0, nullptr), 0) << png.message;
  EXPECT_EQ(rgb, image.rgb);
}

// Three images of 2 x 1 in two columns with gaps of 1: 7 x 5.
TEST(ContactSheet, SetsImagesInRows) {
  const Rgb colors[] = {{1, 1, 1}, {2, 2, 2}, {3, 3, 3}};
  std::vector<Image> images;
  for (const Rgb& color : colors) images.push_back(Plain(2, 1, color));
  const Image sheet = ContactSheet(images, 2, 1);
  ASSERT_EQ(sheet.width, 7);
  ASSERT_EQ(sheet.height, 5);
  EXPECT_EQ(sheet.at(1, 1), colors[0]);
  EXPECT_EQ(sheet.at(1, 2), colors[0]);
  EXPECT_EQ(sheet.at(1, 3), envs::kGap);
  EXPECT_EQ(sheet.at(1, 4), colors[1]);
  EXPECT_EQ(sheet.at(3, 1), colors[2]);
  EXPECT_EQ(sheet.at(3, 4), envs::kGap) << "an empty place";
  EXPECT_EQ(ContactSheet({images[0]}, 5, 0), images[0]);
}

}  // namespace
}  // namespace starling::play
