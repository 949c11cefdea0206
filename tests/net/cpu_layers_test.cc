// Layer norm and state where there is nothing to round, and the functions below lstm and tanh. Each op
// against the reference: backend_ops_test.cc.
#include <gtest/gtest.h>

#include <cmath>

#include "net/backend.h"
#include "net/cpu/functions.h"

namespace starling::net {
namespace {

using Floats = std::vector<float>;
using Doubles = std::vector<double>;

class CpuLayersTest : public ::testing::Test {
 protected:
  std::unique_ptr<Backend<float>> cpu_ = MakeCpuBackend();
  std::unique_ptr<Backend<double>> reference_ = MakeReferenceBackend<double>();
};

// A sample without variance is its bias, not a division by zero; nobody asks for dx of a first layer.
TEST_F(CpuLayersTest, LayerNormOfAConstant) {
  const Floats x(32, 3.0f), scale(32, 2.0f), bias(32, 0.5f), dy(32, 1.0f);
  Floats y(32), moments(2), dscale(32), dbias(32);
  cpu_->LayerNormForward({.width = 32,
                          .n = 1,
                          .x = x.data(),
                          .scale = scale.data(),
                          .bias = bias.data(),
                          .moments = moments.data(),
                          .y = y.data()});
  EXPECT_EQ(y, bias);
  cpu_->LayerNormBackward({.width = 32,
                           .n = 1,
                           .x = x.data(),
                           .scale = scale.data(),
                           .moments = moments.data(),
                           .dy = dy.data(),
                           .dscale = dscale.data(),
                           .dbias = dbias.data(),
                           .dx = nullptr});
  EXPECT_EQ(dscale, Floats(32, 0.0f));
  EXPECT_EQ(dbias, dy);
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
