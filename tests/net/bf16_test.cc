// The rounding to bf16, and the fast backend with products in bf16: when it rounds, equal bits,
// held weights. backend_ops_test.cc holds each of its ops to the reference.
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>

#include "core/bfloat16.h"
#include "net/backend.h"
#include "net/cpu/gemm.h"
#include "tests/net/arrays.h"

namespace starling::net {
namespace {

using testing::Cells;
using testing::Normals;
using testing::RelativeError;
using Floats = std::vector<float>;
using Limits = std::numeric_limits<float>;

float Bits(std::uint32_t bits) { return std::bit_cast<float>(bits); }

// Every way of conversion: the constant one, and arrays of all lengths around a vector's.
void ExpectRounded(float value, Bfloat16 expected) {
  EXPECT_EQ(ToBfloat16(value), expected) << value;
  for (const int n : {1, 31, 32, 33}) {
    const Floats x(static_cast<std::size_t>(n), value);
    std::vector<Bfloat16> out(x.size() + 1, 0x5555);
    ToBfloat16(n, x.data(), out.data());
    EXPECT_EQ(out.back(), 0x5555) << "written behind the end";
    out.pop_back();
    EXPECT_EQ(out, std::vector<Bfloat16>(x.size(), expected)) << value << ", " << n;
    Floats rounded = x;
    RoundToBfloat16(rounded);
    for (const float one : rounded) {
      EXPECT_EQ(std::bit_cast<std::uint32_t>(one), std::uint32_t{expected} << 16) << value;
    }
  }
}

TEST(Bfloat16Test, RoundsToTheNearest) {
  ExpectRounded(0.0f, 0x0000);
  ExpectRounded(-0.0f, 0x8000);
  ExpectRounded(1.0f, 0x3f80);
  ExpectRounded(-2.5f, 0xc020);
  ExpectRounded(Bits(0x3f807fff), 0x3f80);
  ExpectRounded(Bits(0x3f808001), 0x3f81);
  ExpectRounded(Bits(0x3fffffff), 0x4000);  // into the exponent
  // Ties go to even.
  ExpectRounded(Bits(0x3f808000), 0x3f80);
  ExpectRounded(Bits(0x3f818000), 0x3f82);
  ExpectRounded(Bits(0xbf818000), 0xbf82);
  // A number that is too large becomes infinite, a denormal one zero.
  ExpectRounded(Limits::infinity(), 0x7f80);
  ExpectRounded(-Limits::infinity(), 0xff80);
  ExpectRounded(Limits::max(), 0x7f80);
  ExpectRounded(Limits::lowest(), 0xff80);
  ExpectRounded(Bits(0x7f7f7fff), 0x7f7f);
  ExpectRounded(Limits::denorm_min(), 0x0000);
  ExpectRounded(Bits(0x807fffff), 0x8000);
  ExpectRounded(Limits::min(), 0x0080);
}

TEST(Bfloat16Test, ANanStaysOne) {
  // The last ones would become infinite if they were cut off, and zero if they were rounded.
  for (const std::uint32_t bits : {0x7fc00000u, 0xffc00000u, 0x7f800001u, 0x7fffffffu}) {
    ExpectRounded(Bits(bits), static_cast<Bfloat16>((bits | 0x00400000) >> 16));
    EXPECT_GT(ToBfloat16(Bits(bits)) & 0x7fff, 0x7f80);
  }
}

TEST(Bfloat16Test, BothWaysAgreeOnAnything) {
  RandomStream random(StreamId{.seed = 41});
  Floats x(1 << 16);
  for (float& value : x) value = Bits(random.Below(0xffffffffu));
  std::vector<Bfloat16> out(x.size());
  ToBfloat16(static_cast<int>(x.size()), x.data(), out.data());
  for (std::size_t i = 0; i < x.size(); ++i) ASSERT_EQ(out[i], ToBfloat16(x[i])) << x[i];
}

class Bf16BackendTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!cpu::HasBf16Products()) GTEST_SKIP() << "this processor has no bf16 products";
    backend_ = MakeCpuBackend(Precision::kBf16);
  }

  // Output and gradient of the weights of a layer.
  template <class T>
  struct Written {
    std::vector<T> y, dw, db;
    friend bool operator==(const Written&, const Written&) = default;
  };
  template <class T>
  Written<T> Run(Backend<T>& backend, const LinearShape& s, int n) {
    const auto as = [](const Floats& values) {
      return std::vector<T>(values.begin(), values.end());
    };
    const auto x = as(x_), w = as(w_), b = as(b_), dy = as(dy_);
    Written<T> out{dy, w, b};  // any values: they are overwritten
    backend.LinearForward(
        {.shape = s, .n = n, .x = x.data(), .w = w.data(), .b = b.data(), .y = out.y.data()});
    backend.LinearBackwardWeights({.shape = s,
                                   .n = n,
                                   .x = x.data(),
                                   .dy = dy.data(),
                                   .dw = out.dw.data(),
                                   .db = out.db.data()});
    return out;
  }
  Floats Forward(Backend<float>& backend, const LinearShape& s, int n) const {
    Floats y(static_cast<std::size_t>(n * s.out));
    backend.LinearForward(
        {.shape = s, .n = n, .x = x_.data(), .w = w_.data(), .b = b_.data(), .y = y.data()});
    return y;
  }
  void Draw(const LinearShape& s, int n, double density) {
    x_ = Cells<float>(random_, n * s.in, density);
    for (float& value : x_) value *= std::abs(random_.Normal());
    w_ = Normals<float>(random_, s.in * s.out);
    b_ = Normals<float>(random_, s.out);
    dy_ = Normals<float>(random_, n * s.out);
  }

  RandomStream random_{StreamId{.seed = 42}};
  std::unique_ptr<Backend<float>> backend_;
  std::unique_ptr<Backend<double>> reference_ = MakeReferenceBackend<double>();
  Floats x_, w_, b_, dy_;
};

// Else the checks of the ops would pass without a product in bf16.
TEST_F(Bf16BackendTest, OnlyLargeLayersAreRounded) {
  for (const bool large : {false, true}) {
    const LinearShape s = large ? LinearShape{128, 128} : LinearShape{128, 127};
    Draw(s, 5, 1.0);
    const double error = RelativeError(Run(*backend_, s, 5).y, Run(*reference_, s, 5).y);
    EXPECT_EQ(error > 1e-4, large) << error;
  }
}

TEST_F(Bf16BackendTest, WhatIsExactInBf16IsExact) {
  const LinearShape s{256, 64};
  Draw(s, 3, 1.0);
  for (Floats* values : {&x_, &w_, &b_, &dy_}) {
    for (float& value : *values) value = std::round(value);
  }
  EXPECT_EQ(RelativeError(Run(*backend_, s, 3).y, Run(*reference_, s, 3).y), 0);
  EXPECT_EQ(RelativeError(Run(*backend_, s, 3).dw, Run(*reference_, s, 3).dw), 0);
}

TEST_F(Bf16BackendTest, EqualInputsGiveEqualBits) {
  const LinearShape s{1024, 128};
  Draw(s, 64, 0.5);
  const auto first = Run(*backend_, s, 64);
  EXPECT_EQ(Run(*backend_, s, 64), first) << "in the same backend";
  EXPECT_EQ(Run(*MakeCpuBackend(Precision::kBf16), s, 64), first) << "in another one";
}

// Held weights are converted once; before and after, changes count.
TEST_F(Bf16BackendTest, ChangedWeightsCountOnceTheyAreNoLongerHeld) {
  const LinearShape s{128, 128};
  Draw(s, 4, 1.0);
  const auto forward = [&](Backend<float>& backend) { return Forward(backend, s, 4); };
  for (int round = 0; round < 3; ++round) {
    for (float& weight : w_) weight += 1.0f;
    const Floats expected = forward(*MakeCpuBackend(Precision::kBf16));
    if (round == 2) {
      EXPECT_EQ(forward(*backend_), expected) << "not held";
      break;
    }
    const HeldWeights held(*backend_);
    EXPECT_EQ(forward(*backend_), expected) << "converted";
    EXPECT_EQ(forward(*backend_), expected) << "kept";
  }
}

using Bf16BackendDeathTest = Bf16BackendTest;

TEST_F(Bf16BackendDeathTest, HeldWeightsMustNotChange) {
  const LinearShape s{128, 128};
  Draw(s, 1, 1.0);
  const HeldWeights held(*backend_);
  Forward(*backend_, s, 1);
  for (float& weight : w_) weight += 1.0f;
  EXPECT_DEATH(Forward(*backend_, s, 1), "weights changed while they were held");
  EXPECT_DEATH(backend_->HoldWeights(true), "held once at a time");
}

}  // namespace
}  // namespace starling::net
