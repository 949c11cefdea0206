// Properties of the fast CPU backend alone: empty inputs, threads, and its search for the nonzeros
// of a sparse input. backend_ops_test.cc holds each of its ops to the reference.
#include <gtest/gtest.h>
#include <pthread.h>
#include <signal.h>

#include <atomic>
#include <cmath>
#include <filesystem>
#include <memory>
#include <thread>

#include "net/backend.h"
#include "net/cpu/nonzeros.h"
#include "net/cpu/vector.h"
#include "tests/net/arrays.h"

namespace starling::net {
namespace {

using testing::Cells;
using testing::Normals;
using Floats = std::vector<float>;

class CpuBackendTest : public ::testing::Test {
 protected:
  std::unique_ptr<Backend<float>> cpu_ = MakeCpuBackend();
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

// Signals that interrupt products of a shape whose kernel uses the stack register for its data.
class SignalsTest : public CpuBackendTest {
 protected:
  SignalsTest() {
    handled = outside = 0;
    struct sigaction action {};
    action.sa_handler = [](int) {
      stack_t now{};
      sigaltstack(nullptr, &now);
      outside += (now.ss_flags & SS_ONSTACK) == 0;
      ++handled;
    };
    action.sa_flags = SA_RESTART | SA_ONSTACK;
    sigaction(SIGUSR1, &action, &before_);
  }
  ~SignalsTest() override { sigaction(SIGUSR1, &before_, nullptr); }

  // Multiplies until `over_`. The memory before that of the kernel is often in use: by `kept`.
  void Multiply() {
    const LinearShape shape{.in = 64, .out = 600};
    const Floats x = Normals<float>(random_, 600 * 64), w = Normals<float>(random_, 64 * 600);
    const Floats b(600);
    Floats y(600 * 600);
    std::vector<std::unique_ptr<Floats>> kept(64);
    for (std::size_t i = 0; !over_; ++i) {
      cpu_->LinearForward(
          {.shape = shape, .n = 600, .x = x.data(), .w = w.data(), .b = b.data(), .y = y.data()});
      kept[i % kept.size()] = std::make_unique<Floats>(100 + i % 1000);
      begun_ = true;
    }
  }

  static inline std::atomic<int> handled, outside;
  std::atomic<bool> begun_{false}, over_{false};

 private:
  struct sigaction before_ {};
};

TEST_F(SignalsTest, HaveAStackOfTheirOwnAndLeaveTheHeapAlone) {
  std::thread thread([&] { Multiply(); });
  while (!begun_) std::this_thread::yield();
  constexpr int kSignals = 2000;
  for (int sent = 0; sent < kSignals; ++sent) {
    pthread_kill(thread.native_handle(), SIGUSR1);
    while (handled <= sent) std::this_thread::yield();
  }
  over_ = true;
  thread.join();
  EXPECT_EQ(handled, kSignals);
  EXPECT_EQ(outside, 0);
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

// A sample without variance is its bias, not a division by zero. A first layer has no dx.
TEST(CpuLayersTest, LayerNormOfAConstant) {
  const auto cpu = MakeCpuBackend();
  const Floats x(32, 3.0f), scale(32, 2.0f), bias(32, 0.5f), dy(32, 1.0f);
  Floats y(32), moments(2), dscale(32), dbias(32);
  cpu->LayerNormForward({.width = 32,
                         .n = 1,
                         .x = x.data(),
                         .scale = scale.data(),
                         .bias = bias.data(),
                         .moments = moments.data(),
                         .y = y.data()});
  EXPECT_EQ(y, bias);
  cpu->LayerNormBackward({.width = 32,
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
    const cpu::Lanes v = cpu::Lanes{} + static_cast<float>(x);
    const double cut = std::clamp(static_cast<double>(v[3]), -87.0, 88.0);
    ASSERT_NEAR(static_cast<double>(cpu::Exp(v)[3]) / std::exp(cut), 1.0, 3e-7) << x;
    ASSERT_NEAR(static_cast<double>(cpu::Tanh(v)[1]), std::tanh(x), 3e-7) << x;
    ASSERT_NEAR(static_cast<double>(cpu::Sigmoid(v)[2]), 1 / (1 + std::exp(-x)), 3e-7) << x;
  }
}

// Nothing that blew up may look healthy: the learner refuses such a gradient only if it sees it.
TEST(FunctionsTest, KeepANan) {
  const cpu::Lanes nan = cpu::Lanes{} + NAN;
  EXPECT_TRUE(std::isnan(cpu::Exp(nan)[0]));
  EXPECT_TRUE(std::isnan(cpu::Sigmoid(nan)[0]));
  EXPECT_TRUE(std::isnan(cpu::Tanh(nan)[0]));
}

}  // namespace
}  // namespace starling::net
