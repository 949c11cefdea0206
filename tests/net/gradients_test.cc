// The backward passes of the reference backend against central differences, in double: 160 random
// shapes. (The whole net and the loss: model_test.cc, loss_test.cc.)
#include <numeric>

#include "net/backend.h"
#include "tests/net/op_shapes.h"

namespace starling::net {
namespace {

using testing::Between;
using testing::Normals;
using Vector = std::vector<double>;

constexpr testing::ShapeRange kSmall{
    .samples = 3, .features = 7, .side = 6, .channels = 3, .kernels = 4, .kernel = 3, .stride = 3};

double Dot(const Vector& a, const Vector& b) {
  return std::inner_product(a.begin(), a.end(), b.begin(), 0.0);
}

// What a layer above would hand down: `slope` where y (after a relu) is positive.
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

class GradientsTest : public ::testing::Test {
 protected:
  std::unique_ptr<Backend<double>> backend_ = MakeReferenceBackend<double>();
  RandomStream random_{StreamId{.seed = 11}};
};

// loss = slope . relu(relu(u) w + b), so that u, w and b all have a gradient through the masks.
TEST_F(GradientsTest, Linear) {
  for (int trial = 0; trial < 80; ++trial) {
    const auto c = testing::RandomLinear(random_, kSmall);
    SCOPED_TRACE(c.Name());
    Vector u = Normals<double>(random_, c.n * c.shape.in);
    Vector w = Normals<double>(random_, c.shape.in * c.shape.out);
    Vector b = Normals<double>(random_, c.shape.out);
    const Vector slope = Normals<double>(random_, c.n * c.shape.out);
    Vector x, y(slope.size());
    const auto loss = [&] {
      x = Relu(u);
      backend_->LinearForward({.shape = c.shape,
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
    backend_->LinearBackwardWeights({.shape = c.shape,
                                     .n = c.n,
                                     .x = x.data(),
                                     .dy = dy.data(),
                                     .dw = dw.data(),
                                     .db = db.data()});
    backend_->LinearBackwardInput({.shape = c.shape,
                                   .n = c.n,
                                   .w = w.data(),
                                   .dy = dy.data(),
                                   .relu_output = x.data(),
                                   .dx = du.data()});
    testing::ExpectGradient("dw", w, dw, loss);
    testing::ExpectGradient("db", b, db, loss);
    testing::ExpectGradient("du", u, du, loss);
  }
}

TEST_F(GradientsTest, Conv) {
  for (int trial = 0; trial < 80; ++trial) {
    const auto c = testing::RandomConv(random_, kSmall);
    SCOPED_TRACE(c.Name());
    Vector u = Normals<double>(random_, c.n * c.shape.in_size());
    Vector w = Normals<double>(random_, c.shape.num_weights());
    Vector b = Normals<double>(random_, c.shape.out_channels);
    const Vector slope = Normals<double>(random_, c.n * c.shape.out_size());
    Vector x, y(slope.size());
    const auto loss = [&] {
      x = Relu(u);
      backend_->ConvForward({.shape = c.shape,
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
    backend_->ConvBackwardWeights({.shape = c.shape,
                                   .n = c.n,
                                   .x = x.data(),
                                   .dy = dy.data(),
                                   .dw = dw.data(),
                                   .db = db.data()});
    backend_->ConvBackwardInput({.shape = c.shape,
                                 .n = c.n,
                                 .w = w.data(),
                                 .dy = dy.data(),
                                 .relu_output = x.data(),
                                 .dx = du.data()});
    testing::ExpectGradient("dw", w, dw, loss);
    testing::ExpectGradient("db", b, db, loss);
    testing::ExpectGradient("du", u, du, loss);
  }
}

// y = relu(x w + b) with x = (1, 2), w = ((1, -1), (3, 0.5)), b = (0.5, -1): before the relu
// (1 + 6 + 0.5, -1 + 1 - 1) = (7.5, -1).
TEST_F(GradientsTest, LinearByHand) {
  const Vector x{1, 2}, w{1, -1, 3, 0.5}, b{0.5, -1}, dy{2, 10};
  Vector y(2), dx{100, 100}, dw(4), db(2);
  backend_->LinearForward(
      {.shape = {2, 2}, .n = 1, .x = x.data(), .w = w.data(), .b = b.data(), .y = y.data()});
  EXPECT_EQ(y, (Vector{7.5, -1}));
  backend_->LinearForward({.shape = {2, 2},
                           .n = 1,
                           .x = x.data(),
                           .w = w.data(),
                           .b = b.data(),
                           .activation = Activation::kRelu,
                           .y = y.data()});
  EXPECT_EQ(y, (Vector{7.5, 0}));
  backend_->LinearBackwardWeights(
      {.shape = {2, 2}, .n = 1, .x = x.data(), .dy = dy.data(), .dw = dw.data(), .db = db.data()});
  EXPECT_EQ(dw, (Vector{2, 10, 4, 20}));
  EXPECT_EQ(db, dy);
  // dy wT = (2 - 10, 6 + 5), added to 100, the first masked by a relu output of 0.
  const Vector relu_output{0, 1};
  backend_->LinearBackwardInput({.shape = {2, 2},
                                 .n = 1,
                                 .w = w.data(),
                                 .dy = dy.data(),
                                 .put = Put::kAdd,
                                 .relu_output = relu_output.data(),
                                 .dx = dx.data()});
  EXPECT_EQ(dx, (Vector{0, 111}));
  backend_->LinearBackwardInput(
      {.shape = {2, 2}, .n = 1, .w = w.data(), .dy = dy.data(), .dx = dx.data()});
  EXPECT_EQ(dx, (Vector{-8, 11}));
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

}  // namespace
}  // namespace starling::net
