// The backward passes of the reference backend against central differences, in double: 160 random
// shapes. (The whole net and the loss: model_test.cc, loss_test.cc.)
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <numeric>
#include <string>

#include "net/backend.h"
#include "tests/net/arrays.h"

namespace starling::net {
namespace {

using testing::Between;
using testing::Normals;
using Vector = std::vector<double>;

using Reference = Backend<double>;

// An op with weights, of some shape.
struct LinearCase {
  LinearShape shape;
  int n;
  std::string Name() const { return fmt::format("linear n={} {}->{}", n, shape.in, shape.out); }
  int inputs() const { return n * shape.in; }
  int outputs() const { return n * shape.out; }
  int weights() const { return shape.in * shape.out; }
  int biases() const { return shape.out; }
  static constexpr auto kForward = &Reference::LinearForward;
  static constexpr auto kBackwardWeights = &Reference::LinearBackwardWeights;
  static constexpr auto kBackwardInput = &Reference::LinearBackwardInput;
};

LinearCase RandomLinear(RandomStream& random) {
  return {{Between(random, 1, 7), Between(random, 1, 7)}, Between(random, 1, 3)};
}

struct ConvCase {
  ConvShape shape;
  int n;
  std::string Name() const {
    const ConvShape& s = shape;
    return fmt::format("conv n={} {}x{}x{} kernel {}x{} stride {} -> {}", n, s.height, s.width,
                       s.in_channels, s.kernel_height, s.kernel_width, s.stride, s.out_channels);
  }
  int inputs() const { return n * shape.in_size(); }
  int outputs() const { return n * shape.out_size(); }
  int weights() const { return shape.num_weights(); }
  int biases() const { return shape.out_channels; }
  static constexpr auto kForward = &Reference::ConvForward;
  static constexpr auto kBackwardWeights = &Reference::ConvBackwardWeights;
  static constexpr auto kBackwardInput = &Reference::ConvBackwardInput;
};

ConvCase RandomConv(RandomStream& random) {
  ConvShape s;
  s.kernel_height = Between(random, 1, 3);
  s.kernel_width = Between(random, 1, 3);
  s.height = Between(random, s.kernel_height, 6);
  s.width = Between(random, s.kernel_width, 6);
  s.stride = Between(random, 1, 3);
  s.in_channels = Between(random, 1, 3);
  s.out_channels = Between(random, 1, 4);
  return {s, Between(random, 1, 3)};
}

double Dot(const Vector& a, const Vector& b) {
  return std::inner_product(a.begin(), a.end(), b.begin(), 0.0);
}

// The slope that a layer above would pass down: `slope` where y (after a relu) is positive.
Vector Masked(const Vector& slope, const Vector& y) {
  Vector dy(slope);
  for (std::size_t i = 0; i < y.size(); ++i) dy[i] = y[i] > 0 ? slope[i] : 0.0;
  return dy;
}

Vector Relu(const Vector& u) {
  Vector x(u);
  for (double& v : x) v = std::max(v, 0.0);
  return x;
}

// loss = slope . relu(op(relu(u), w) + b): u, w and b all have a gradient through the masks.
template <class Case>
void ProveGradients(const Case& c, Reference& backend, RandomStream& random) {
  SCOPED_TRACE(c.Name());
  Vector u = Normals<double>(random, c.inputs()), w = Normals<double>(random, c.weights());
  Vector b = Normals<double>(random, c.biases());
  const Vector slope = Normals<double>(random, c.outputs());
  Vector x, y(slope.size());
  const auto loss = [&] {
    x = Relu(u);
    (backend.*Case::kForward)({.shape = c.shape,
                               .n = c.n,
                               .x = x.data(),
                               .w = w.data(),
                               .b = b.data(),
                               .activation = Activation::kRelu,
                               .y = y.data()});
    return Dot(slope, y);
  };
  loss();
  const Vector dy = Masked(slope, y);
  Vector dw(w.size(), NAN), db(b.size(), NAN), du(u.size(), NAN);
  (backend.*Case::kBackwardWeights)({.shape = c.shape,
                                     .n = c.n,
                                     .x = x.data(),
                                     .dy = dy.data(),
                                     .dw = dw.data(),
                                     .db = db.data()});
  (backend.*Case::kBackwardInput)({.shape = c.shape,
                                   .n = c.n,
                                   .w = w.data(),
                                   .dy = dy.data(),
                                   .relu_output = x.data(),
                                   .dx = du.data()});
  testing::ExpectGradient("dw", w, dw, loss);
  testing::ExpectGradient("db", b, db, loss);
  testing::ExpectGradient("du", u, du, loss);
}

class GradientsTest : public ::testing::Test {
 protected:
  std::unique_ptr<Reference> backend_ = MakeReferenceBackend<double>();
  RandomStream random_{StreamId{.seed = 11}};
};

TEST_F(GradientsTest, Linear) {
  for (int trial = 0; trial < 80; ++trial) {
    ProveGradients(RandomLinear(random_), *backend_, random_);
  }
}

TEST_F(GradientsTest, Conv) {
  for (int trial = 0; trial < 80; ++trial) {
    ProveGradients(RandomConv(random_), *backend_, random_);
  }
}

// A 2x1 kernel (10, 1) at stride 2 over the column (1, 2, 3, 4, 5): outputs 10*1 + 2 and 10*3 + 4,
// the last row is not reached.
TEST_F(GradientsTest, ConvByHand) {
  const ConvShape shape{.height = 5,
                        .width = 1,
                        .in_channels = 1,
                        .kernel_height = 2,
                        .kernel_width = 1,
                        .stride = 2,
                        .out_channels = 1};
  const Vector x{1, 2, 3, 4, 5}, w{10, 1}, b{-20}, dy{1, 100};
  Vector y(2), dw(2), db(1), dx(5);
  backend_->ConvForward(
      {.shape = shape, .n = 1, .x = x.data(), .w = w.data(), .b = b.data(), .y = y.data()});
  EXPECT_EQ(y, (Vector{-8, 14}));
  backend_->ConvBackwardWeights(
      {.shape = shape, .n = 1, .x = x.data(), .dy = dy.data(), .dw = dw.data(), .db = db.data()});
  EXPECT_EQ(dw, (Vector{301, 402}));
  EXPECT_EQ(db, (Vector{101}));
  backend_->ConvBackwardInput(
      {.shape = shape, .n = 1, .w = w.data(), .dy = dy.data(), .dx = dx.data()});
  EXPECT_EQ(dx, (Vector{10, 1, 1000, 100, 0}));
}

// Windows of 3 cells every 2 over (4, 9, 9, 1, 2, 7), one cell outside at each end: (., 4, 9),
// (9, 9, 1), (1, 2, 7). Of equal cells the first is taken.
TEST_F(GradientsTest, MaxPoolByHand) {
  const PoolShape shape{.height = 6, .kernel_height = 3, .stride = 2, .top = 1, .out_height = 3};
  const Vector x{4, 9, 9, 1, 2, 7}, dy{1, 10, 100};
  Vector y(3), dx(6);
  std::vector<std::int32_t> taken(3);
  backend_->MaxPoolForward(
      {.shape = shape, .n = 1, .x = x.data(), .y = y.data(), .taken = taken.data()});
  EXPECT_EQ(y, (Vector{9, 9, 7}));
  EXPECT_EQ(taken, (std::vector<std::int32_t>{1, 1, 5}));
  backend_->MaxPoolBackward(
      {.shape = shape, .n = 1, .dy = dy.data(), .taken = taken.data(), .dx = dx.data()});
  EXPECT_EQ(dx, (Vector{0, 11, 0, 0, 0, 100}));
}

TEST_F(GradientsTest, ANanIsTheLargest) {
  const PoolShape shape{.height = 4, .kernel_height = 4};
  const Vector x{4, NAN, 9, 1};
  Vector y(1);
  std::vector<std::int32_t> taken(1);
  backend_->MaxPoolForward(
      {.shape = shape, .n = 1, .x = x.data(), .y = y.data(), .taken = taken.data()});
  EXPECT_TRUE(std::isnan(y[0]));
}

// (1, -2) with one zero in front and two behind.
TEST_F(GradientsTest, PadAndCropByHand) {
  const PadShape shape{.height = 2, .top = 1, .bottom = 2};
  const Vector x{1, -2}, dy{1, 2, 3, 4, 5};
  Vector y(5), dx(2);
  backend_->Pad(
      {.shape = shape, .n = 1, .x = x.data(), .activation = Activation::kRelu, .y = y.data()});
  EXPECT_EQ(y, (Vector{0, 1, 0, 0, 0}));
  backend_->Pad({.shape = shape, .n = 1, .x = x.data(), .y = y.data()});
  EXPECT_EQ(y, (Vector{0, 1, -2, 0, 0}));
  backend_->Crop(
      {.shape = shape, .n = 1, .dy = dy.data(), .relu_output = x.data(), .dx = dx.data()});
  EXPECT_EQ(dx, (Vector{2, 0}));
}

}  // namespace
}  // namespace starling::net
