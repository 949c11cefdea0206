// Layer norm where there is nothing to round, and the functions below lstm and tanh.
// backend_ops_test.cc holds each op to the reference.
#include <gtest/gtest.h>

#include <cmath>

#include "net/backend.h"
#include "net/cpu/vector.h"

namespace starling::net {
namespace {

using Floats = std::vector<float>;
using Doubles = std::vector<double>;

class CpuLayersTest : public ::testing::Test {
 protected:
  std::unique_ptr<Backend<float>> cpu_ = MakeCpuBackend();
  std::unique_ptr<Backend<double>> reference_ = MakeReferenceBackend<double>();
};

// A sample without variance is its bias, not a division by zero. A first layer has no dx.
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
