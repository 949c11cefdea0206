// Makes pictures smaller: every new pixel is the mean of the area it covers.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace starling::envs {

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

  int height_, width_, new_height_, new_width_;
  std::vector<Share> rows_, columns_;
};

}  // namespace starling::envs
