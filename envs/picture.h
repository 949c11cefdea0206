// A raw frame for people: an RGB image, for the terminal, for GIF and PNG.
//
//   picture   frames of 1 or 3 channels that are bytes, or floats with a side of 32 or more: grey
//             or RGB, unchanged
//   grid      other frames with a height: a cell has the colour of its first lit channel, as bright
//             as the value. Twelve colours that colour-blind people can distinguish (Okabe and
//             Ito's eight less black, and some between), then again from the first
//   vector    (1, 1, n): n cells in a row, from blue (low) over dark to orange (high)
//   entries   the first picture among them; if there is none, a vector of all
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "envs/frames.h"

namespace starling::envs {

using Rgb = std::array<std::uint8_t, 3>;

// The background of a grid.
inline constexpr Rgb kBackground{22, 24, 33};
// Between the cells of an enlarged grid, and between the tiles of a sheet.
inline constexpr Rgb kLine{34, 37, 49}, kGap{74, 79, 96};

struct Image {
  int width = 0, height = 0;      // pixels
  std::vector<std::uint8_t> rgb;  // (height, width, 3)

  Rgb at(int row, int column) const {
    const std::uint8_t* pixel = rgb.data() + (row * width + column) * 3;
    return {pixel[0], pixel[1], pixel[2]};
  }
  friend bool operator==(const Image&, const Image&) = default;
};

// The spec of the array that Paint shows: of several arrays the first picture, else the frame.
FrameSpec PaintedSpec(const FrameSpec& spec);

enum class FrameKind { kPicture, kGrid, kVector };
FrameKind KindOf(const FrameSpec& spec);

Rgb ColorOfChannel(int channel);

// One frame, a pixel for each cell. Reads `bytes` if spec.bytes, else `floats`.
Image Paint(const FrameSpec& spec, std::span<const std::uint8_t> bytes,
            std::span<const float> floats);
// The newest frame of env `env`.
Image Paint(const FrameEnvs& envs, int env);

// The first lit channel of every cell of a grid, or -1 if none is lit. (H, W) of PaintedSpec.
std::vector<int> LitChannels(const FrameSpec& spec, std::span<const std::uint8_t> bytes,
                             std::span<const float> floats);

// Enlarges every pixel to `scale` x `scale` pixels, scale >= 1. With `lines`, the last row and
// column of each are lines, so that cells can be counted.
Image Enlarged(const Image& image, int scale, bool lines = false);

// Replaces every `factor` x `factor` pixels by their mean, factor >= 1. Blocks at the right and
// lower edge may be smaller.
Image Shrunk(const Image& image, int factor);

}  // namespace starling::envs
