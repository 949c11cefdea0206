// From a raw frame to the observed frame: env.pixels, and scaling to floats.
//
//   frame      env.pixels = false        env.pixels = true
//   picture    bytes / 255               grey, shrunk to 84 x 84 (AreaResize), / 255
//   grid       unchanged                 drawn: a cell is a square, as bright as its first channel
//                                        that is not zero (the first channel is white, the last a
//                                        quarter as bright)
//   vector     unchanged                 refused
//
// A mask of actions behind the frame is treated as more of the frame; env.pixels has none.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "envs/frames.h"

namespace starling::envs {

// Makes pictures smaller: every new pixel is the mean of the area it covers.
//
// Grey bytes (height, width) to (new_height, new_width), neither larger than before (CHECKed).
// Means are computed in float, along the rows first, and rounded to the nearest byte, halves to
// even: the same bytes as OpenCV's INTER_AREA where the ratio is not a whole number.
class AreaResize {
 public:
  AreaResize(int height, int width, int new_height, int new_width);

  // picture (height * width), out (new_height * new_width).
  void operator()(std::span<const std::uint8_t> picture, std::span<std::uint8_t> out) const;

 private:
  // new[to] += weight * old[from]
  struct Share {
    int from, to;
    float weight;
  };
  static std::vector<Share> Shares(int size, int new_size);
  void Narrow(const std::uint8_t* from, float* wide, float* to) const;

  int height_, width_, new_height_, new_width_;
  std::vector<Share> rows_;
  // (shares, new_width): the old columns of each new one, and their weights, 0 where it has fewer
  std::vector<int> columns_;
  std::vector<float> weights_;
};

class Screen {
 public:
  static constexpr int kSide = 84;  // pixels

  // Throws UserError if `pixels` is set for an env of vectors, or of pictures smaller than 84 x 84.
  Screen(const FrameSpec& spec, bool pixels);

  // Shape and bounds of the observed frame; name and actions are those of the raw env.
  const EnvSpec& spec() const { return observed_; }

  // Converts one raw frame to `out` (spec().row() floats). Bytes if FrameSpec::bytes.
  void Show(std::span<const std::uint8_t> bytes, float* out);
  void Show(std::span<const float> floats, float* out) const;

 private:
  void Draw(std::span<const float> grid, float* out) const;

  EnvSpec raw_, observed_;
  bool pixels_;
  std::optional<AreaResize> shrink_;
  std::vector<std::uint8_t> grey_, small_;
};

}  // namespace starling::envs
