// Reads a GIF as a viewer shows it, by giflib's own reader.
#pragma once

#include <gif_lib.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <string>
#include <vector>

#include "envs/picture.h"

namespace starling::play {

using envs::Image;
using envs::Rgb;

inline Image Plain(int width, int height, const Rgb& color) {
  Image image{width, height, {}};
  for (int i = 0; i < width * height; ++i) {
    image.rgb.insert(image.rgb.end(), color.begin(), color.end());
  }
  return image;
}

inline void Set(Image& image, int row, int column, const Rgb& color) {
  std::ranges::copy(color, image.rgb.begin() + 3 * (row * image.width + column));
}

struct Movie {
  struct Frame {
    Image image;  // as a viewer shows it
    int delay_cs = 0, stored_width = 0, stored_height = 0;
  };
  std::vector<Frame> frames;
  bool loops = false;
};

struct Source {
  const std::string* bytes;
  std::size_t at = 0;
};

inline int ReadFrom(GifFileType* gif, GifByteType* out, int wanted) {
  auto& source = *static_cast<Source*>(gif->UserData);
  const std::size_t count =
      std::min(static_cast<std::size_t>(wanted), source.bytes->size() - source.at);
  std::memcpy(out, source.bytes->data() + source.at, count);
  source.at += count;
  return static_cast<int>(count);
}

// Composes each frame over the ones before, as a viewer does.
inline Movie Watch(const std::string& bytes) {
  Source source{&bytes};
  int error = 0;
  GifFileType* gif = DGifOpen(&source, ReadFrom, &error);
  EXPECT_NE(gif, nullptr) << error;
  if (gif == nullptr) return {};
  EXPECT_EQ(DGifSlurp(gif), GIF_OK) << GifErrorString(gif->Error);
  EXPECT_EQ(source.at, bytes.size());
  Movie movie;
  Image canvas = Plain(gif->SWidth, gif->SHeight, {0, 0, 0});
  for (int i = 0; i < gif->ImageCount; ++i) {
    const SavedImage& saved = gif->SavedImages[i];
    const GifImageDesc& part = saved.ImageDesc;
    for (int k = 0; k < part.Width * part.Height; ++k) {
      const GifColorType& color = part.ColorMap->Colors[saved.RasterBits[k]];
      Set(canvas, part.Top + k / part.Width, part.Left + k % part.Width,
          {color.Red, color.Green, color.Blue});
    }
    GraphicsControlBlock control{};
    EXPECT_EQ(DGifSavedExtensionToGCB(gif, i, &control), GIF_OK);
    EXPECT_EQ(control.DisposalMode, DISPOSE_DO_NOT);
    movie.frames.push_back({canvas, control.DelayTime, part.Width, part.Height});
    for (int k = 0; k < saved.ExtensionBlockCount; ++k) {
      const ExtensionBlock& block = saved.ExtensionBlocks[k];
      movie.loops |= block.ByteCount == 11 && std::memcmp(block.Bytes, "NETSCAPE2.0", 11) == 0;
    }
  }
  DGifCloseFile(gif, nullptr);
  return movie;
}

}  // namespace starling::play
