// The ops of layer norm, lstm and activations: the fast CPU backend against the reference in double.
// An error is the largest difference relative to the largest output of the op.
#include <gtest/gtest.h>

#include <cmath>

#include "net/backend.h"
#include "net/cpu/functions.h"
#include "tests/net/arrays.h"

namespace starling::net {
namespace {

using testing::Between;
using testing::Normals;
using testing::RelativeError;
using Floats = std::vector<float>;
using Doubles = std::vector<double>;

constexpr double kTolerance = 3e-6;  // rounding 6e-8 a step, exp within 2e-7

// An array of floats and its exact double twin: an input, or the noise that an output holds before.
struct Both {
  Floats fast;
  Doubles exact;
  Both(RandomStream& random, int size)
      : fast(Normals<float>(random, size)), exact(fast.begin(), fast.end()) {}
  void Expect(const char* what) const { EXPECT_LE(RelativeError(fast, exact), kTolerance) << what; }
};

class CpuLayersTest : public ::testing::Test {
 protected:
  Both Noise(int size) { return Both(random_, size); }

  std::unique_ptr<Backend<float>> cpu_ = MakeCpuBackend();
  std::unique_ptr<Backend<double>> reference_ = MakeReferenceBackend<double>();
  RandomStream random_{StreamId{.seed = 14}};
};

TEST_F(CpuLayersTest, LinearAccumulate) {
  for (int trial = 0; trial < 20; ++trial) {
    const LinearShape s{Between(random_, 1, 150), Between(random_, 1, 150)};
    const int n = Between(random_, 1, 67);
    const Both x = Noise(n * s.in), w = Noise(s.in * s.out);
    Both y = Noise(n * s.out);
    cpu_->LinearAccumulate(s, n, x.fast.data(), w.fast.data(), y.fast.data());
    reference_->LinearAccumulate(s, n, x.exact.data(), w.exact.data(), y.exact.data());
    y.Expect("y");
  }
}

TEST_F(CpuLayersTest, Activations) {
  for (const Activation activation : {Activation::kNone, Activation::kRelu, Activation::kTanh}) {
    for (const int count : {1, 16, 100}) {
      const Both x = Noise(count), dy = Noise(count), mask = Noise(count);
      Both y = Noise(count);
      cpu_->Activate(activation, count, x.fast.data(), y.fast.data());
      reference_->Activate(activation, count, x.exact.data(), y.exact.data());
      y.Expect("y");
      for (const bool masked : {false, true}) {
        Both dx = Noise(count);
        cpu_->ActivateBackward(activation, count, y.fast.data(), dy.fast.data(),
                               masked ? mask.fast.data() : nullptr, dx.fast.data());
        reference_->ActivateBackward(activation, count, y.exact.data(), dy.exact.data(),
                                     masked ? mask.exact.data() : nullptr, dx.exact.data());
        dx.Expect("dx");
      }
    }
  }
}

TEST_F(CpuLayersTest, LayerNorm) {
  for (const int width : {5, 16, 48, 77, 1024}) {
    for (const int n : {1, 30}) {
      const Both x = Noise(n * width), scale = Noise(width), bias = Noise(width);
      const Both dy = Noise(n * width), mask = Noise(n * width);
      Both y = Noise(n * width), moments = Noise(2 * n), dscale = Noise(width),
           dbias = Noise(width);
      for (const Activation activation : {Activation::kRelu, Activation::kNone}) {
        cpu_->LayerNormForward(width, n, x.fast.data(), scale.fast.data(), bias.fast.data(),
                               activation, moments.fast.data(), y.fast.data());
        reference_->LayerNormForward(width, n, x.exact.data(), scale.exact.data(),
                                     bias.exact.data(), activation, moments.exact.data(),
                                     y.exact.data());
        y.Expect("y");
        moments.Expect("moments");
      }
      for (const bool masked : {false, true}) {
        Both dx = Noise(n * width);
        cpu_->LayerNormBackward(width, n, x.fast.data(), scale.fast.data(), moments.fast.data(),
                                dy.fast.data(), masked ? mask.fast.data() : nullptr,
                                dscale.fast.data(), dbias.fast.data(), dx.fast.data());
        reference_->LayerNormBackward(width, n, x.exact.data(), scale.exact.data(),
                                      moments.exact.data(), dy.exact.data(),
                                      masked ? mask.exact.data() : nullptr, dscale.exact.data(),
                                      dbias.exact.data(), dx.exact.data());
        dscale.Expect("dscale");
        dbias.Expect("dbias");
        dx.Expect("dx");
      }
    }
  }
}

// A sample without variance is its bias, not a division by zero; nobody asks for dx of a first layer.
TEST_F(CpuLayersTest, LayerNormOfAConstant) {
  const Floats x(32, 3.0f), scale(32, 2.0f), bias(32, 0.5f), dy(32, 1.0f);
  Floats y(32), moments(2), dscale(32), dbias(32);
  cpu_->LayerNormForward(32, 1, x.data(), scale.data(), bias.data(), Activation::kNone,
                         moments.data(), y.data());
  EXPECT_EQ(y, bias);
  cpu_->LayerNormBackward(32, 1, x.data(), scale.data(), moments.data(), dy.data(), nullptr,
                          dscale.data(), dbias.data(), nullptr);
  EXPECT_EQ(dscale, Floats(32, 0.0f));
  EXPECT_EQ(dbias, dy);
}

TEST_F(CpuLayersTest, LstmCell) {
  for (const int hidden : {1, 16, 17, 64}) {
    for (const int n : {1, 9}) {
      const int size = n * hidden;
      const Both c_in = Noise(size), dy = Noise(size), dh = Noise(size);
      Both gates = Noise(4 * size), c = Noise(size), h = Noise(size);
      cpu_->LstmCellForward(hidden, n, gates.fast.data(), c_in.fast.data(), c.fast.data(),
                            h.fast.data());
      reference_->LstmCellForward(hidden, n, gates.exact.data(), c_in.exact.data(), c.exact.data(),
                                  h.exact.data());
      gates.Expect("gates");
      c.Expect("c");
      h.Expect("h");
      Both dc = Noise(size), dgates = Noise(4 * size);
      cpu_->LstmCellBackward(hidden, n, gates.fast.data(), c_in.fast.data(), c.fast.data(),
                             dy.fast.data(), dh.fast.data(), dc.fast.data(), dgates.fast.data());
      reference_->LstmCellBackward(hidden, n, gates.exact.data(), c_in.exact.data(), c.exact.data(),
                                   dy.exact.data(), dh.exact.data(), dc.exact.data(),
                                   dgates.exact.data());
      dc.Expect("dc");
      dgates.Expect("dgates");
    }
  }
}

TEST_F(CpuLayersTest, KeepStateForgetsTheResetOnes) {
  const std::vector<std::uint8_t> resets{0, 1, 0, 2};
  const Floats from{1, 2, 3, 4, 5, 6, 7, 8};
  const Floats kept{1, 2, 0, 0, 5, 6, 0, 0};
  Floats to(8, 9.0f), in_place = from;
  cpu_->KeepState(2, 4, resets.data(), from.data(), to.data());
  cpu_->KeepState(2, 4, resets.data(), in_place.data(), in_place.data());
  EXPECT_EQ(to, kept);
  EXPECT_EQ(in_place, kept);
  Doubles wide(from.begin(), from.end());
  reference_->KeepState(2, 4, resets.data(), wide.data(), wide.data());
  EXPECT_EQ(wide, Doubles(kept.begin(), kept.end()));
}

TEST(FunctionsTest, OverTheWholeRange) {
  for (double x = -100; x <= 100; x += 0.001) {
    const cpu::Sixteen v = cpu::Sixteen{} + static_cast<float>(x);
    const double cut = std::clamp(static_cast<double>(v[3]), -87.0, 88.0);
    ASSERT_NEAR(static_cast<double>(cpu::Exp(v)[3]) / std::exp(cut), 1.0, 3e-7) << x;
    ASSERT_NEAR(static_cast<double>(cpu::Tanh(v)[5]), std::tanh(x), 3e-7) << x;
    ASSERT_NEAR(static_cast<double>(cpu::Sigmoid(v)[7]), 1 / (1 + std::exp(-x)), 3e-7) << x;
  }
}

// Nothing that blew up may look healthy: the learner refuses such a gradient only if it sees it.
TEST(FunctionsTest, KeepANan) {
  const cpu::Sixteen nan = cpu::Sixteen{} + NAN;
  EXPECT_TRUE(std::isnan(cpu::Exp(nan)[0]));
  EXPECT_TRUE(std::isnan(cpu::Sigmoid(nan)[0]));
  EXPECT_TRUE(std::isnan(cpu::Tanh(nan)[0]));
}

}  // namespace
}  // namespace starling::net
