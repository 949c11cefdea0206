// What is special to the fast CPU backend: its ways for sparse inputs and for some widths, threads, equal
// bits. Each op in general: backend_ops_test.cc. Same float inputs; the reference computes in double. An
// error is the largest difference relative to the largest output of the op.
#include <cmath>
#include <filesystem>
#include <functional>
#include <map>
#include <thread>

#include "net/backend.h"
#include "net/cpu/nonzeros.h"
#include "tests/net/op_shapes.h"

namespace starling::net {
namespace {

using testing::Cells;
using testing::Normals;
using testing::RelativeError;
using Floats = std::vector<float>;
using Doubles = std::vector<double>;

// Sums of floats, rounding 6e-8 a step in errors that mostly cancel; the gradients of a convolution
// sum over n * OH * OW cells, the longest sums here.
const std::map<std::string, double> kTolerance = {
    {"linear y", 3e-6}, {"linear dw", 3e-6}, {"linear db", 3e-6}, {"linear dx", 3e-6},
    {"conv y", 3e-6},   {"conv dw", 1e-5},   {"conv db", 1e-5},   {"conv dx", 3e-6},
};

constexpr testing::ShapeRange kWide{.samples = 67,
                                    .features = 150,
                                    .side = 12,
                                    .channels = 6,
                                    .kernels = 40,
                                    .kernel = 4,
                                    .stride = 2};

Doubles Wide(const Floats& values) { return {values.begin(), values.end()}; }

// A float array that an op writes, and its double twin for the reference. Both start as the same
// noise, so that an op that leaves something unwritten, or adds where it should replace, is found.
struct Output {
  Floats fast;
  Doubles exact;
  explicit Output(RandomStream& random, int size)
      : fast(Normals<float>(random, size)), exact(Wide(fast)) {}
  void Expect(const std::string& what) const {
    EXPECT_LE(RelativeError(fast, exact), kTolerance.at(what)) << what;
  }
};

class CpuBackendTest : public ::testing::Test {
 protected:
  // A float array and its exact double copy.
  struct Input {
    Floats fast;
    Doubles exact;
    explicit Input(Floats values) : fast(std::move(values)), exact(Wide(fast)) {}
  };
  Input Noise(int size) { return Input(Normals<float>(random_, size)); }

  // Calls op(backend, of) with each backend; of(array) is its copy of an Input or Output.
  template <class Op>
  void Both(Op op) {
    op(*cpu_, [](auto& array) { return array.fast.data(); });
    op(*reference_, [](auto& array) { return array.exact.data(); });
  }

  void CompareLinearAboveRelu(const LinearShape& s, int n, double density) {
    Floats cells = Cells<float>(random_, n * s.in, density);
    const Floats noise = Normals<float>(random_, n * s.in);
    for (std::size_t i = 0; i < cells.size(); ++i) cells[i] *= std::abs(noise[i]);
    const Input x(std::move(cells)), w = Noise(s.in * s.out), b = Noise(s.out);
    const Input dy = Noise(n * s.out);
    for (const Activation activation : {Activation::kNone, Activation::kRelu}) {
      Output y(random_, n * s.out);
      Both([&](auto& backend, auto of) {
        backend.LinearForward({.shape = s,
                               .n = n,
                               .x = of(x),
                               .w = of(w),
                               .b = of(b),
                               .activation = activation,
                               .y = of(y)});
      });
      y.Expect("linear y");
    }
    Output dw(random_, s.in * s.out), db(random_, s.out), dx(random_, n * s.in);
    Both([&](auto& backend, auto of) {
      backend.LinearBackward({.shape = s,
                              .n = n,
                              .x = of(x),
                              .w = of(w),
                              .dy = of(dy),
                              .dw = of(dw),
                              .db = of(db),
                              .dx = of(dx)});
    });
    dw.Expect("linear dw");
    db.Expect("linear db");
    dx.Expect("linear dx");
  }

  void CompareConv(const ConvShape& s, int n, Floats cells) {
    const Input x(std::move(cells)), w = Noise(s.num_weights()), b = Noise(s.out_channels);
    const Input dy = Noise(n * s.out_size()), mask = Noise(n * s.in_size());
    for (const Activation activation : {Activation::kNone, Activation::kRelu}) {
      Output y(random_, n * s.out_size());
      Both([&](auto& backend, auto of) {
        backend.ConvForward({.shape = s,
                             .n = n,
                             .x = of(x),
                             .w = of(w),
                             .b = of(b),
                             .activation = activation,
                             .y = of(y)});
      });
      y.Expect("conv y");
    }
    Output dw(random_, s.num_weights()), db(random_, s.out_channels);
    Both([&](auto& backend, auto of) {
      backend.ConvBackwardWeights(
          {.shape = s, .n = n, .x = of(x), .dy = of(dy), .dw = of(dw), .db = of(db)});
    });
    dw.Expect("conv dw");
    db.Expect("conv db");
    for (const bool masked : {false, true}) {
      Output dx(random_, n * s.in_size());
      Both([&](auto& backend, auto of) {
        backend.ConvBackwardInput({.shape = s,
                                   .n = n,
                                   .w = of(w),
                                   .dy = of(dy),
                                   .relu_output = masked ? of(mask) : nullptr,
                                   .dx = of(dx)});
      });
      dx.Expect("conv dx");
    }
  }

  std::unique_ptr<Backend<float>> cpu_ = MakeCpuBackend();
  std::unique_ptr<Backend<double>> reference_ = MakeReferenceBackend<double>();
  RandomStream random_{StreamId{.seed = 12}};
};

// As relu leaves it: `density` of x is not zero. The sparse way and the dense one.
TEST_F(CpuBackendTest, LinearAboveARelu) {
  for (const double density : {0.0, 0.02, 0.13, 0.3, 1.0}) {
    for (const LinearShape& shape : {LinearShape{1024, 128}, LinearShape{97, 208},
                                     LinearShape{256, 256}, LinearShape{40, 17}}) {
      for (const int n : {1, 5, 64, 150}) {
        SCOPED_TRACE(fmt::format("{}x{}, {} samples, density {}", shape.in, shape.out, n, density));
        CompareLinearAboveRelu(shape, n, density);
      }
    }
  }
}

// Their channels are sixteens: no patches are laid out. Widths that are and are not cut into parts.
TEST_F(CpuBackendTest, DenseConvOfTheShippedNets) {
  for (const ConvShape& shape :
       {ConvShape{84, 84, 4, 8, 8, 4, 16}, ConvShape{20, 20, 16, 4, 4, 2, 32},
        ConvShape{84, 84, 4, 8, 8, 4, 32}, ConvShape{20, 20, 32, 4, 4, 2, 64},
        ConvShape{9, 9, 64, 3, 3, 1, 64}, ConvShape{10, 10, 7, 3, 3, 1, 16},
        ConvShape{13, 31, 3, 2, 5, 1, 128}, ConvShape{5, 5, 2, 5, 5, 1, 16}}) {
    for (const int n : {1, 3}) {
      SCOPED_TRACE(fmt::format("{}x{} {} channels, {} samples", shape.height, shape.width,
                               shape.out_channels, n));
      CompareConv(shape, n, Normals<float>(random_, n * shape.in_size()));
    }
  }
}

TEST_F(CpuBackendTest, ConvOverRandomShapesSparseAndDense) {
  for (int trial = 0; trial < 60; ++trial) {
    const auto c = testing::RandomConv(random_, kWide);
    const int size = c.n * c.shape.in_size();
    const double density = std::vector<double>{0.02, 0.1, 0.3, 1.0}[trial % 4U];
    SCOPED_TRACE(fmt::format("{} density {}", c.Name(), density));
    // Not only ones: a sparse input may hold any value.
    Floats x = Cells<float>(random_, size, density);
    const Floats noise = Normals<float>(random_, size);
    for (std::size_t i = 0; i < x.size(); ++i) x[i] *= noise[i];
    x[0] = 1.5f;
    CompareConv(c.shape, c.n, x);
  }
}

TEST_F(CpuBackendTest, ConvOfTheMinatarNet) {
  for (const int channels : {4, 6, 7, 10}) {
    for (const int n : {1, 3, 20}) {
      for (const double density : {0.03, 0.1, 0.24, 0.26, 0.9}) {
        SCOPED_TRACE(fmt::format("channels {} n {} density {}", channels, n, density));
        const ConvShape s{10, 10, channels, 3, 3, 1, 16};
        Floats x = Cells<float>(random_, n * s.in_size(), density);
        x[0] = 1;  // an empty batch would leave the weights without a gradient to compare with
        CompareConv(s, n, x);
      }
    }
  }
}

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
