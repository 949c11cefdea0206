// The largest cell of each window, beside its definition.
#include <gmock/gmock.h>

#include <cmath>
#include <limits>
#include <vector>

#include "core/random.h"
#include "net/pictures.h"

namespace starling::net {
namespace {

using ::testing::ElementsAre;
using ::testing::ElementsAreArray;

struct Pooled {
  std::vector<float> y;
  std::vector<std::int32_t> taken;
};

Pooled Pool(const PoolShape& shape, int n, const std::vector<float>& x) {
  const auto size = static_cast<std::size_t>(n * shape.out_size());
  Pooled pooled{std::vector<float>(size, -7), std::vector<std::int32_t>(size, -7)};
  MaxPoolForward<float>({shape, n, x.data(), pooled.y.data(), pooled.taken.data()});
  return pooled;
}

// Window by window, cell by cell in the order of the picture; the first of equal cells.
Pooled Defined(const PoolShape& s, int n, const std::vector<float>& x) {
  Pooled pooled;
  for (int i = 0; i < n * s.out_height * s.out_width * s.channels; ++i) {
    const int c = i % s.channels, ox = i / s.channels % s.out_width;
    const int oy = i / s.channels / s.out_width % s.out_height;
    const float* const sample = x.data() + i / s.out_size() * s.size();
    int best = -1;
    for (int ky = 0; ky < s.kernel_height; ++ky) {
      for (int kx = 0; kx < s.kernel_width; ++kx) {
        const int line = oy * s.stride - s.top + ky, column = ox * s.stride - s.left + kx;
        if (line < 0 || line >= s.height || column < 0 || column >= s.width) continue;
        const int cell = (line * s.width + column) * s.channels + c;
        if (best < 0 || sample[cell] > sample[best]) best = cell;
      }
    }
    pooled.y.push_back(sample[best]);
    pooled.taken.push_back(best);
  }
  return pooled;
}

TEST(MaxPool, TakesTheFirstOfTheLargestCells) {
  const PoolShape shapes[] = {
      {10, 10, 16, 3, 3, 2, 0, 0, 5, 5},  // the last windows reach beyond
      {7, 9, 4, 2, 2, 2, 0, 0, 3, 4},     // of four channels, with a rest
      {6, 5, 3, 3, 3, 2, 1, 1, 3, 3},     // zeros around
      {5, 5, 1, 3, 3, 1, 1, 1, 5, 5},     // windows overlap
      {8, 3, 4, 5, 1, 3, 2, 0, 3, 1},     // high and narrow
      {4, 4, 2, 1, 1, 4, 0, 0, 1, 1},     // a single cell
      {1, 1, 2, 5, 5, 1, 2, 2, 1, 1},     // smaller than the window
  };
  RandomStream random(StreamId{.seed = 3});
  for (const PoolShape& shape : shapes) {
    SCOPED_TRACE(shape.height);
    constexpr int kSamples = 3;
    std::vector<float> x(static_cast<std::size_t>(kSamples * shape.size()));
    for (float& cell : x) cell = static_cast<float>(random.Below(4)) - 2.0f;  // many are equal
    const Pooled pooled = Pool(shape, kSamples, x), defined = Defined(shape, kSamples, x);
    EXPECT_THAT(pooled.y, ElementsAreArray(defined.y));
    EXPECT_THAT(pooled.taken, ElementsAreArray(defined.taken));
  }
}

TEST(MaxPool, OfCellsThatAreNoNumbers) {
  constexpr float kInf = std::numeric_limits<float>::infinity();
  const PoolShape shape{2, 4, 1, 2, 2, 2, 0, 0, 1, 2};
  const Pooled pooled = Pool(shape, 1, {-kInf, -kInf, 5, 2, -kInf, -kInf, NAN, 1});
  EXPECT_EQ(pooled.y[0], -kInf);
  EXPECT_TRUE(std::isnan(pooled.y[1])) << "not hidden behind a larger neighbour";
  EXPECT_THAT(pooled.taken, ElementsAre(0, 6));
}

}  // namespace
}  // namespace starling::net
