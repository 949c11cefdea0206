#include "envs/wrappers/screen.h"

#include <algorithm>
#include <cmath>

#include "core/check.h"

namespace starling::envs {

AreaResize::AreaResize(int height, int width, int new_height, int new_width)
    : height_(height),
      width_(width),
      new_height_(new_height),
      new_width_(new_width),
      rows_(Shares(height, new_height)),
      columns_(Shares(width, new_width)) {
  CHECK(0 < new_height && new_height <= height && 0 < new_width && new_width <= width,
        "{} x {} to {} x {}", height, width, new_height, new_width);
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

void AreaResize::operator()(std::span<const std::uint8_t> picture,
                            std::span<std::uint8_t> out) const {
  CHECK(std::ssize(picture) == height_ * width_, "{}", picture.size());
  CHECK(std::ssize(out) == new_height_ * new_width_, "{}", out.size());
  std::vector<float> row(new_width_), sum(new_width_);
  int narrowed = -1;  // the old row that `row` holds
  for (std::size_t i = 0; i < rows_.size(); ++i) {
    const Share& share = rows_[i];
    if (i == 0 || rows_[i - 1].to != share.to) std::ranges::fill(sum, 0.0f);
    // 1. Narrow an old row, unless the new row before has used it already.
    if (narrowed != share.from) {
      narrowed = share.from;
      const std::uint8_t* from = picture.data() + share.from * width_;
      float* const to = row.data();
      std::ranges::fill(row, 0.0f);
      for (const Share& column : columns_) to[column.to] += from[column.from] * column.weight;
    }
    // 2. Add it to the new row; the last old row completes that.
    for (int x = 0; x < new_width_; ++x) sum[x] += share.weight * row[x];
    if (i + 1 < rows_.size() && rows_[i + 1].to == share.to) continue;
    std::uint8_t* to = out.data() + share.to * new_width_;
    for (const float value : sum) {
      *to++ = static_cast<std::uint8_t>(std::clamp(std::lrint(value), 0L, 255L));
    }
  }
}

}  // namespace starling::envs
