#include "envs/wrappers/screen.h"

#include <algorithm>
#include <bit>

#include "core/check.h"

namespace starling::envs {
namespace {

// The nearest byte to 0 <= `value` <= 255, halves to even: floats from 2^23 on have no fraction.
std::uint8_t Rounded(float value) {
  return static_cast<std::uint8_t>(std::bit_cast<std::uint32_t>(value + 0x1p23f));
}

}  // namespace

AreaResize::AreaResize(int height, int width, int new_height, int new_width)
    : height_(height),
      width_(width),
      new_height_(new_height),
      new_width_(new_width),
      rows_(Shares(height, new_height)) {
  CHECK(0 < new_height && new_height <= height && 0 < new_width && new_width <= width,
        "{} x {} to {} x {}", height, width, new_height, new_width);
  // Arrange the shares of columns: the first of every new pixel, then the second of every one ...
  std::size_t k = 0;
  int to = -1;
  for (const Share& share : Shares(width, new_width)) {
    k = share.to == to ? k + 1 : 0;
    to = share.to;
    const std::size_t size = std::max(columns_.size(), (k + 1) * new_width);
    columns_.resize(size);
    weights_.resize(size);
    columns_[k * new_width + to] = share.from;
    weights_[k * new_width + to] = share.weight;
  }
}

// The share that each old pixel has in each new one.
std::vector<AreaResize::Share> AreaResize::Shares(int size, int new_size) {
  constexpr double kNothing = 1e-3;  // of a pixel: a rounding error
  const double scale = static_cast<double>(size) / new_size;
  std::vector<Share> shares;
  for (int to = 0; to < new_size; ++to) {
    const double begin = to * scale;
    const double length = std::min(scale, size - begin);
    const double end = begin + length;
    for (int from = static_cast<int>(begin); from < size && from < end; ++from) {
      const double part = std::min<double>(from + 1, end) - std::max<double>(from, begin);
      if (part <= kNothing) continue;
      shares.push_back({from, to, static_cast<float>(part / length)});
    }
  }
  return shares;
}

// Narrows an old row to `to`, many new pixels at once. `wide` (width_) gets the old row in floats.
void AreaResize::Narrow(const std::uint8_t* from, float* wide, float* to) const {
  std::copy_n(from, width_, wide);
  std::fill_n(to, new_width_, 0.0f);
  for (std::size_t first = 0; first < columns_.size(); first += new_width_) {
    const int* const column = &columns_[first];
    const float* const weight = &weights_[first];
    for (int x = 0; x < new_width_; ++x) to[x] += wide[column[x]] * weight[x];
  }
}

void AreaResize::operator()(std::span<const std::uint8_t> picture,
                            std::span<std::uint8_t> out) const {
  CHECK(std::ssize(picture) == height_ * width_, "{}", picture.size());
  CHECK(std::ssize(out) == new_height_ * new_width_, "{}", out.size());
  std::vector<float> wide(width_), row(new_width_), sum(new_width_);
  const std::uint8_t* narrowed = nullptr;  // the old row that `row` holds
  for (std::size_t i = 0; i < rows_.size(); ++i) {
    const Share& share = rows_[i];
    if (i == 0 || rows_[i - 1].to != share.to) std::ranges::fill(sum, 0.0f);
    // 1. Narrow an old row, unless it equals the one before: most rows of most games do.
    const std::uint8_t* const from = picture.data() + share.from * width_;
    if (narrowed == nullptr || !std::equal(from, from + width_, narrowed)) {
      Narrow(from, wide.data(), row.data());
    }
    narrowed = from;
    // 2. Add it to the new row; the last old row completes that.
    for (int x = 0; x < new_width_; ++x) sum[x] += share.weight * row[x];
    if (i + 1 < rows_.size() && rows_[i + 1].to == share.to) continue;
    std::uint8_t* const to = out.data() + share.to * new_width_;
    for (int x = 0; x < new_width_; ++x) to[x] = Rounded(sum[x]);
  }
}

}  // namespace starling::envs
