// Convolutions of pictures with areas of one colour: the fast CPU backend's search for output cells
// that see the same inputs.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "net/backend.h"
#include "net/cpu/conv2d.h"
#include "tests/net/arrays.h"

namespace starling::net {
namespace {

using testing::Between;
using testing::Normals;
using testing::RelativeError;
using Floats = std::vector<float>;

// The Atari net's first, and others: one channel, three, lines that do not fill the picture,
// kernels that the stride does not divide, one smaller than the stride, 64 blocks of one input,
// a single column of cells.
constexpr ConvShape kShapes[] = {
    {84, 84, 4, 8, 8, 4, 16}, {84, 84, 1, 8, 8, 4, 32},  {33, 41, 3, 5, 5, 2, 64},
    {30, 31, 2, 7, 3, 3, 16}, {20, 22, 4, 2, 2, 4, 128}, {42, 64, 1, 4, 4, 3, 16},
    {21, 5, 2, 3, 5, 2, 16},
};

// Pictures of one colour with `rectangles` of other ones, of which each channel has its own.
Floats Pictures(RandomStream& random, const ConvShape& s, int n, int rectangles) {
  Floats x;
  for (int i = 0; i < n; ++i) {
    Floats picture(static_cast<std::size_t>(s.in_size()), 0.25f);
    for (int k = 0; k < rectangles * s.in_channels; ++k) {
      const int top = Between(random, 0, s.height - 1), left = Between(random, 0, s.width - 1);
      const int bottom = std::min(s.height, top + Between(random, 1, 9));
      const int right = std::min(s.width, left + Between(random, 1, 9));
      for (int y = top; y < bottom; ++y) {
        for (int at = left; at < right; ++at) {
          picture[static_cast<std::size_t>((y * s.width + at) * s.in_channels +
                                           k % s.in_channels)] = 0.5f + 0.001f * float(k);
        }
      }
    }
    x.insert(x.end(), picture.begin(), picture.end());
  }
  return x;
}

TEST(RepeatedConv, ComputesTheBitsOfEveryCellByItself) {
  RandomStream random(StreamId{.seed = 21});
  cpu::RepeatedConv conv;  // one for all, as in a backend
  for (const ConvShape& s : kShapes) {
    ASSERT_TRUE(cpu::RepeatedConv::Fits(s));
    ASSERT_FALSE(conv.Gather(s, 2, Normals<float>(random, 2 * s.in_size()).data()));
    const int n = 3;
    const Floats x = Pictures(random, s, n, s.height / 21);
    const Floats w = Normals<float>(random, s.num_weights());
    const Floats b = Normals<float>(random, s.out_channels);
    Floats y(static_cast<std::size_t>(n * s.out_size()), 9.0f), plain = y;
    ASSERT_TRUE(conv.Gather(s, n, x.data())) << s.height << " x " << s.width;
    for (const Activation activation : {Activation::kNone, Activation::kRelu}) {
      conv.Forward({s, n, x.data(), w.data(), b.data(), activation, y.data()});
      ASSERT_TRUE(
          cpu::DirectConvForward({s, n, x.data(), w.data(), b.data(), activation, plain.data()}));
      EXPECT_EQ(y, plain);
    }
  }
}

TEST(RepeatedConv, AddsUpTheGradientsOfAllCells) {
  RandomStream random(StreamId{.seed = 22});
  cpu::RepeatedConv conv;
  for (const ConvShape& s : kShapes) {
    const int n = 3;
    const Floats x = Pictures(random, s, n, s.height / 21);
    const Floats dy = Normals<float>(random, n * s.out_size());
    Floats dw(static_cast<std::size_t>(s.num_weights()), 9.0f), plain = dw;
    Floats db(static_cast<std::size_t>(s.out_channels), 9.0f), plain_b = db;
    ASSERT_TRUE(conv.Gather(s, n, x.data()));
    conv.BackwardWeights({s, n, x.data(), dy.data(), dw.data(), db.data()});
    ASSERT_TRUE(
        cpu::DirectConvBackwardWeights({s, n, x.data(), dy.data(), plain.data(), plain_b.data()}));
    EXPECT_LT(RelativeError(dw, plain), 1e-5);
    EXPECT_EQ(db, plain_b);
  }
}

TEST(RepeatedConv, OneColourIsOneKindWhateverItsBits) {
  const ConvShape s = kShapes[0];
  for (const float colour : {0.25f, std::nanf("")}) {
    const Floats x(static_cast<std::size_t>(s.in_size()), colour);
    cpu::RepeatedConv conv;
    EXPECT_TRUE(conv.Gather(s, 1, x.data()));
    EXPECT_EQ(conv.kinds(), 1);
  }
}

TEST(RepeatedConv, ACellThatDiffersInOneInputIsItsOwnKind) {
  const ConvShape s = kShapes[0];
  Floats x(static_cast<std::size_t>(s.in_size()), 0.0f);
  cpu::RepeatedConv conv;
  x[(40 * 84 + 41) * 4 + 2] = -0.0f;  // 4 cells see it; equal is not enough
  ASSERT_TRUE(conv.Gather(s, 1, x.data()));
  EXPECT_EQ(conv.kinds(), 1 + 4) << "the cells on their right are like those above";
}

TEST(RepeatedConv, GivesUpWhereMostCellsDiffer) {
  RandomStream random(StreamId{.seed = 23});
  const ConvShape s = kShapes[0];
  Floats x = Normals<float>(random, 4 * s.in_size());
  cpu::RepeatedConv conv;
  EXPECT_FALSE(conv.Gather(s, 4, x.data()));
  EXPECT_EQ(conv.kinds(), 400) << "after the first picture";
  std::fill_n(x.begin(), s.in_size(), 1.0f);
  EXPECT_TRUE(conv.Gather(s, 3, x.data())) << "801 of 1200 cells";
  EXPECT_FALSE(conv.Gather(s, 4, x.data())) << "1201 of 1600 cells";
}

TEST(RepeatedConv, IsForPicturesOfFewChannelsThatShrink) {
  EXPECT_FALSE(cpu::RepeatedConv::Fits({20, 20, 16, 4, 4, 2, 32}));
  EXPECT_FALSE(cpu::RepeatedConv::Fits({10, 10, 4, 3, 3, 1, 16}));
  EXPECT_FALSE(cpu::RepeatedConv::Fits({84, 84, 4, 8, 8, 4, 24}));
  EXPECT_FALSE(cpu::RepeatedConv::Fits({42, 67, 1, 4, 4, 3, 16})) << "67 blocks";
}

}  // namespace
}  // namespace starling::net
