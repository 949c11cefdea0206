// Every kernel of the ladders against the reference, the slow ones too. A ladder whose kernels
// disagree is marked as broken.
#include "bench/ladder.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <cmath>
#include <memory>

#include "net/backend.h"
#include "net/cpu/gemm.h"
#include "tests/net/arrays.h"

namespace starling::bench {
namespace {

using net::testing::Cells;
using net::testing::Normals;
using net::testing::RelativeError;
using testing::HasSubstr;
using testing::SizeIs;
using Floats = std::vector<float>;

class LadderTest : public testing::Test {
 protected:
  LadderTest() { net::cpu::PrepareThread(); }

  // An eighth set, as a relu leaves it.
  Floats Sparse(int count) {
    Floats cells = Cells<float>(random_, count, 0.125);
    for (float& cell : cells) cell *= std::abs(random_.Normal());
    return cells;
  }
  Floats Noise(int count) { return Normals<float>(random_, count); }

  // Runs every kernel; each must write everything that the reference wrote.
  static void ExpectAll(const std::vector<Kernel>& kernels, std::vector<Floats*> outputs,
                        const std::vector<Floats>& expected) {
    for (const Kernel& kernel : kernels) {
      for (Floats* const output : outputs) std::ranges::fill(*output, 7.0f);
      ASSERT_TRUE(kernel.run()) << kernel.name;
      for (std::size_t i = 0; i < outputs.size(); ++i) {
        EXPECT_LE(RelativeError(*outputs[i], expected[i]), 3e-6) << kernel.name << " " << i;
      }
    }
  }

  RandomStream random_{StreamId{.seed = 1}};
  const std::unique_ptr<net::Backend<float>> reference_ = net::MakeReferenceBackend<float>();
};

TEST_F(LadderTest, LinearForwardKernelsAgreeWithTheReference) {
  constexpr net::LinearShape kShape{.in = 50, .out = 48};
  constexpr int kSamples = 7;
  const Floats x = Sparse(kSamples * kShape.in), w = Noise(kShape.in * kShape.out),
               b = Noise(kShape.out);
  Floats y(kSamples * kShape.out), expected(y.size());
  reference_->LinearForward({.shape = kShape,
                             .n = kSamples,
                             .x = x.data(),
                             .w = w.data(),
                             .b = b.data(),
                             .activation = net::Activation::kRelu,
                             .y = expected.data()});
  const auto kernels =
      LinearForwardKernels(kShape, kSamples, x.data(), w.data(), b.data(), y.data());
  EXPECT_THAT(kernels, SizeIs(2));
  ExpectAll(kernels, {&y}, {expected});
}

TEST_F(LadderTest, LinearBackwardKernelsAgreeWithTheReference) {
  constexpr net::LinearShape kShape{.in = 50, .out = 48};
  constexpr int kSamples = 70;  // more than a block of the product's
  const Floats x = Sparse(kSamples * kShape.in), w = Noise(kShape.in * kShape.out),
               dy = Noise(kSamples * kShape.out);
  Floats dw(w.size()), db(kShape.out), dx(x.size());
  std::vector<Floats> expected{dw, db, dx};
  reference_->LinearBackward({.shape = kShape,
                              .n = kSamples,
                              .x = x.data(),
                              .w = w.data(),
                              .dy = dy.data(),
                              .dw = expected[0].data(),
                              .db = expected[1].data(),
                              .dx = expected[2].data()});
  const auto kernels = LinearBackwardKernels(kShape, kSamples, x.data(), w.data(), dy.data(),
                                             dw.data(), db.data(), dx.data());
  EXPECT_THAT(kernels, SizeIs(3));
  ExpectAll(kernels, {&dw, &db, &dx}, expected);
}

TEST_F(LadderTest, ConvForwardKernelsAgreeWithTheReference) {
  constexpr net::ConvShape kShape{.height = 6, .width = 5, .in_channels = 3, .out_channels = 16};
  constexpr int kSamples = 9;
  const Floats x = Sparse(kSamples * kShape.in_size()), w = Noise(kShape.num_weights()),
               b = Noise(kShape.out_channels);
  Floats y(kSamples * kShape.out_size()), expected(y.size());
  reference_->ConvForward({.shape = kShape,
                           .n = kSamples,
                           .x = x.data(),
                           .w = w.data(),
                           .b = b.data(),
                           .activation = net::Activation::kRelu,
                           .y = expected.data()});
  const auto kernels = ConvForwardKernels(kShape, kSamples, x.data(), w.data(), b.data(), y.data());
  EXPECT_THAT(kernels, SizeIs(4));
  ExpectAll(kernels, {&y}, {expected});
}

TEST_F(LadderTest, KernelsThatDisagreeBreakTheFigure) {
  Floats y(2);
  const auto write = [&](float second) {
    return [&y, second] {
      y[0] = 2, y[1] = second;
      return true;
    };
  };
  const auto leave_half = [&] {
    y[0] = 2;
    return true;
  };
  Ladder ladder{.op = "op",
                .kernels = {{"first", write(1)},
                            {"close", write(1 + 1e-6f)},
                            {"not for such data", [] { return false; }}},
                .outputs = {y}};
  // 1. Kernels within the tolerance, or not applicable, keep the figure.
  Result agreeing;
  AddRow(ladder.op, Climb(ladder, 0), agreeing);
  EXPECT_FALSE(agreeing.broken);
  EXPECT_EQ(agreeing.rows.at(0).holds, true);
  EXPECT_THAT(agreeing.rows.at(0).measured, HasSubstr("3: –"));

  // 2. One that is off, or leaves outputs unwritten, breaks it.
  ladder.kernels = {{"first", write(1)}, {"off", write(1.5)}, {"half", leave_half}};
  Result broken;
  AddRow(ladder.op, Climb(ladder, 0), broken);
  EXPECT_TRUE(broken.broken);
  EXPECT_EQ(broken.rows.at(0).holds, false);
  EXPECT_THAT(broken.rows.at(0).measured, HasSubstr("kernel 2 is wrong by 0.2"));
  EXPECT_THAT(broken.rows.at(0).measured, HasSubstr("kernel 3 is wrong by inf"));
}

}  // namespace
}  // namespace starling::bench
