// Properties of the fast CPU backend alone: empty inputs, NaN, threads, equal bits, and its search
// for the nonzeros of a sparse input. backend_ops_test.cc holds each of its ops to the reference.
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <thread>

#include "net/backend.h"
#include "net/cpu/nonzeros.h"
#include "tests/net/arrays.h"

namespace starling::net {
namespace {

using testing::Cells;
using testing::Normals;
using Floats = std::vector<float>;
using Doubles = std::vector<double>;

class CpuBackendTest : public ::testing::Test {
 protected:
  std::unique_ptr<Backend<float>> cpu_ = MakeCpuBackend();
  std::unique_ptr<Backend<double>> reference_ = MakeReferenceBackend<double>();
  RandomStream random_{StreamId{.seed = 12}};
};

TEST_F(CpuBackendTest, ConvOfNothingIsTheBias) {
  const ConvShape s{5, 6, 2, 3, 3, 1, 16};
  const Floats x(static_cast<std::size_t>(2 * s.in_size()), 0.0f), b = Normals<float>(random_, 16);
  const Floats w = Normals<float>(random_, s.num_weights());
  Floats y(static_cast<std::size_t>(2 * s.out_size()), 9.0f), dw(w.size(), 9.0f), db(16);
  cpu_->ConvForward(
      {.shape = s, .n = 2, .x = x.data(), .w = w.data(), .b = b.data(), .y = y.data()});
  for (std::size_t i = 0; i < y.size(); ++i) EXPECT_EQ(y[i], b[i % 16]);
  cpu_->ConvBackwardWeights(
      {.shape = s, .n = 2, .x = x.data(), .dy = y.data(), .dw = dw.data(), .db = db.data()});
  EXPECT_EQ(dw, Floats(w.size(), 0.0f));
}

// A relu must not hide that a net blew up: the learner refuses such a gradient only if it sees it.
TEST_F(CpuBackendTest, ReluKeepsANan) {
  const ConvShape s{3, 3, 1, 3, 3, 1, 16};
  for (const double density : {0.0, 1.0}) {  // the sparse and the dense way
    const Floats x = Cells<float>(random_, s.in_size(), density);
    const Floats w = Normals<float>(random_, s.num_weights());
    Floats b = Normals<float>(random_, 16), y(16), z(16);
    b[3] = NAN;
    cpu_->ConvForward({.shape = s,
                       .n = 1,
                       .x = x.data(),
                       .w = w.data(),
                       .b = b.data(),
                       .activation = Activation::kRelu,
                       .y = y.data()});
    cpu_->LinearForward({.shape = {9, 16},
                         .n = 1,
                         .x = x.data(),
                         .w = w.data(),
                         .b = b.data(),
                         .activation = Activation::kRelu,
                         .y = z.data()});
    for (std::size_t i = 0; i < 16; ++i) {
      EXPECT_EQ(std::isnan(y[i]), i == 3);
      EXPECT_EQ(std::isnan(z[i]), i == 3);
    }
  }
  const Doubles x{1}, w{1}, b{NAN};
  Doubles y{0};
  reference_->LinearForward({.shape = {1, 1},
                             .n = 1,
                             .x = x.data(),
                             .w = w.data(),
                             .b = b.data(),
                             .activation = Activation::kRelu,
                             .y = y.data()});
  EXPECT_TRUE(std::isnan(y[0]));
}

// Forward and backward through a convolution and a linear layer.
TEST_F(CpuBackendTest, EqualInputsGiveEqualBits) {
  const ConvShape s{10, 10, 4, 3, 3, 1, 16};
  const LinearShape fc{1024, 128};
  const int n = 64;
  const Floats x = Cells<float>(random_, n * s.in_size(), 0.1);
  const Floats w = Normals<float>(random_, s.num_weights()), b = Normals<float>(random_, 16);
  const Floats fc_w = Normals<float>(random_, 1024 * 128), fc_b = Normals<float>(random_, 128);
  const auto run = [&](Backend<float>& backend) {
    Floats y(static_cast<std::size_t>(n * s.out_size())), z(static_cast<std::size_t>(n * 128));
    Floats dfc(fc_w.size()), dfc_b(128), dy(y.size()), dw(w.size()), db(16);
    backend.ConvForward({.shape = s,
                         .n = n,
                         .x = x.data(),
                         .w = w.data(),
                         .b = b.data(),
                         .activation = Activation::kRelu,
                         .y = y.data()});
    backend.LinearForward({.shape = fc,
                           .n = n,
                           .x = y.data(),
                           .w = fc_w.data(),
                           .b = fc_b.data(),
                           .activation = Activation::kRelu,
                           .y = z.data()});
    backend.LinearBackwardWeights(
        {.shape = fc, .n = n, .x = y.data(), .dy = z.data(), .dw = dfc.data(), .db = dfc_b.data()});
    backend.LinearBackwardInput({.shape = fc,
                                 .n = n,
                                 .w = fc_w.data(),
                                 .dy = z.data(),
                                 .relu_output = y.data(),
                                 .dx = dy.data()});
    backend.ConvBackwardWeights(
        {.shape = s, .n = n, .x = x.data(), .dy = dy.data(), .dw = dw.data(), .db = db.data()});
    return std::vector<Floats>{y, z, dfc, dfc_b, dw, db};
  };
  const auto first = run(*cpu_);
  EXPECT_EQ(run(*cpu_), first) << "in the same backend";
  EXPECT_EQ(run(*MakeCpuBackend()), first) << "in another one";
}

int ThreadsOfThisProcess() {
  return static_cast<int>(
      std::distance(std::filesystem::directory_iterator("/proc/self/task"), {}));
}

// OpenMP keeps its settings per thread: a thread that did not construct the backend counts too.
TEST_F(CpuBackendTest, StartsNoThreadsWhicheverThreadAsks) {
  const Floats x = Normals<float>(random_, 512 * 1024), w = Normals<float>(random_, 1024 * 512);
  const Floats b(512);
  Floats y(512 * 512);
  const int before = ThreadsOfThisProcess();
  int during = 0;
  std::thread([&] {
    cpu_->LinearForward({.shape = {1024, 512},
                         .n = 512,
                         .x = x.data(),
                         .w = w.data(),
                         .b = b.data(),
                         .y = y.data()});
    during = ThreadsOfThisProcess();
  }).join();
  EXPECT_EQ(during, before + 1) << "the thread above and no other";
}

TEST(NonzerosTest, FindsThemAllInOrder) {
  RandomStream random(StreamId{.seed = 13});
  for (int n = 0; n < 70; ++n) {
    for (const double density : {0.0, 0.1, 0.5, 1.0}) {
      const Floats x = Cells<float>(random, n, density);
      std::vector<int> expected, found(static_cast<std::size_t>(n + 16));
      for (int i = 0; i < n; ++i) {
        if (x[static_cast<std::size_t>(i)] != 0) expected.push_back(i);
      }
      found.resize(static_cast<std::size_t>(
          cpu::FindIndices(cpu::Which::kNonzero, n, x.data(), found.data())));
      EXPECT_EQ(found, expected);
    }
  }
}

TEST(NonzerosTest, AnythingThatIsNotZeroCounts) {
  Floats x{0.0f, -0.0f, 1e-40f, -3.0f, NAN, INFINITY};
  x.resize(22);  // as long as a vector, and longer
  const auto find = [&](cpu::Which which) {
    std::vector<int> found(x.size() + 16);
    const int size = static_cast<int>(x.size());
    found.resize(static_cast<std::size_t>(cpu::FindIndices(which, size, x.data(), found.data())));
    return found;
  };
  EXPECT_EQ(find(cpu::Which::kNonzero), (std::vector<int>{2, 3, 4, 5}));
  EXPECT_EQ(find(cpu::Which::kPositive), (std::vector<int>{2, 5}));
}

TEST(SparseRowsTest, GivesUpAtItsLimit) {
  const Floats x{1, 0, 0, 2, 3, 0};
  cpu::SparseRows rows;
  ASSERT_TRUE(rows.Find(cpu::Which::kNonzero, 2, 3, x.data(), 3));
  EXPECT_EQ(rows.rows(), 2);
  EXPECT_EQ(std::vector<int>(rows.row(0).begin(), rows.row(0).end()), std::vector<int>{0});
  EXPECT_EQ(std::vector<int>(rows.row(1).begin(), rows.row(1).end()), (std::vector<int>{0, 1}));
  EXPECT_FALSE(rows.Find(cpu::Which::kNonzero, 2, 3, x.data(), 2));
}

}  // namespace
}  // namespace starling::net
