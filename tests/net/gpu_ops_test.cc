// The ops of a GPU beyond backend_ops_test.cc: they are correct however their work is cut, and clip
// huge gradients; sampling equals that of the host.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/mman.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "net/checks/op_checks.h"
#include "net/heads.h"
#include "net/loss.h"
#include "tests/net/arrays.h"
#include "tests/net/gpu_fixture.h"
#include "tests/support/error_of.h"

namespace starling::net {
namespace {

using ::testing::ElementsAre;
using testing::GpuTest;
using ::testing::Gt;
using testing::Here;
using testing::MakeFakeGpuBackend;
using testing::Normals;
using testing::There;
using Floats = std::vector<float>;

TEST(DivisorTest, DividesAsTheProcessorDoes) {
  RandomStream random(StreamId{.seed = 3});
  const auto expect = [](int n, int divisor) {
    const cuda::Divisor by(divisor);
    int quotient = n;
    ASSERT_EQ(by.Split(quotient), n % divisor) << n << " by " << divisor;
    ASSERT_EQ(quotient, n / divisor) << n << " by " << divisor;
  };
  for (int divisor = 1; divisor < 300; ++divisor) {
    for (int n = 0; n < 1000; ++n) expect(n, divisor);
  }
  // Large numbers, around multiples of the divisor.
  constexpr int kMax = 0x7fffffff;
  for (int trial = 0; trial < 100'000; ++trial) {
    const int divisor = 1 + static_cast<int>(random.Below(kMax) >> random.Below(31));
    const int multiple = kMax / divisor * divisor, any = static_cast<int>(random.Below(kMax));
    for (const int n : {any, multiple, multiple - 1, kMax}) expect(n, divisor);
  }
}

TEST(GpuCutTest, EveryOpIsCorrectHoweverItsWorkIsCut) {
  const std::pair<const char*, cuda::Limits> cuts[] = {
      {"sample by sample", {.patches = 1, .direct = false}},
      {"some samples", {.patches = 5000, .direct = false}},
      {"whole", {.shares = 1, .direct = false}}};
  for (const auto& [name, limits] : cuts) {
    FakeGpu gpu;
    const auto backend = MakeFakeGpuBackend(gpu, limits);
    for (const OpCheck& check : OpChecks()) {
      const OpError found = CheckOp(check, *backend);
      EXPECT_TRUE(found.ok()) << name << ", " << found.op << ": " << found.error << " of "
                              << found.tolerance << ", " << found.where;
    }
  }
}

// Enough rows for as many shares as there may be, and some left over.
TEST(GpuSharesTest, ManyRowsAreSummedCorrectlyAndWithFewRounds) {
  FakeGpu gpu;
  RandomStream random(StreamId{.seed = 32});
  const LinearShape shape{3, 10};
  const int rows = 256 * 130 + 7;
  const Floats x = Normals<float>(random, rows * shape.in);
  const Floats dy = Normals<float>(random, rows * shape.out);
  const auto gradient = [&](const cuda::Limits& limits) {
    const auto backend = MakeFakeGpuBackend(gpu, limits);
    const auto there_x = There(*backend, x), there_dy = There(*backend, dy);
    Buffer<float> dw(30, backend->memory()), db(10, backend->memory());
    backend->LinearBackwardWeights({.shape = shape,
                                    .n = rows,
                                    .x = there_x.data(),
                                    .dy = there_dy.data(),
                                    .dw = dw.data(),
                                    .db = db.data()});
    Floats both = Here(*backend, dw);
    for (const float value : Here(*backend, db)) both.push_back(value);
    return both;
  };
  const Floats whole = gradient({.shares = 1}), cut = gradient({});
  EXPECT_NE(whole, cut) << "another order of sums: it was cut";
  EXPECT_LE(testing::RelativeError(cut, whole), 1e-6);
}

// A kernel for each op, and one more for sums over rows; each head by itself takes more.
TEST(GpuHeadsTest, APolicyOfFewChoicesAndTheValueAreOneKernel) {
  constexpr int kIn = 16, kSamples = 3;
  FakeGpu gpu;
  const auto backend = MakeFakeGpuBackend(gpu);
  const auto kernels = [&](int choices) {
    ParameterLayout layout;
    const PolicySpec policy{.actions = ActionSpace::Choice(choices)};
    Heads<float> heads(policy, true, layout, kIn, kSamples, *backend);
    Buffer<float> p(layout.size(), backend->memory()), gradient(layout.size(), backend->memory());
    Buffer<float> x(kSamples * kIn, backend->memory()), dx(x.size(), backend->memory());
    Buffer<float> dvalues(kSamples, backend->memory());
    Buffer<float> dlogits(heads.logits().size(), backend->memory());
    const auto queued = [&](const auto& op) {
      backend->memory().Wait();
      op();
      return gpu.pending();
    };
    std::vector<std::size_t> all{
        queued([&] { heads.Forward(p.data(), 0, kSamples, x.data(), nullptr, 0); }), queued([&] {
          heads.BackwardWeights(kSamples, x.data(), dlogits.data(), dvalues.data(),
                                gradient.data());
        }),
        queued([&] {
          heads.BackwardInput(p.data(), kSamples, dlogits.data(), dvalues.data(), nullptr,
                              dx.data());
        })};
    backend->memory().Wait();
    return all;
  };
  EXPECT_THAT(kernels(6), ElementsAre(1, 2, 1));
  EXPECT_THAT(kernels(18), ElementsAre(Gt(1), Gt(2), Gt(1)));
}

// One cell, in a loop that could take 128. Behind the only picture lies memory that is closed: to
// read there ends the program.
TEST(GpuDirectConvTest, ReadsNothingBehindItsInput) {
  const ConvShape shape{.height = 32,
                        .width = 32,
                        .in_channels = 4,
                        .kernel_height = 8,
                        .kernel_width = 8,
                        .stride = 32,
                        .out_channels = 16};
  ASSERT_EQ(shape.out_cells(), 1);
  const std::size_t picture = 4 * static_cast<std::size_t>(shape.in_size());  // pages of 4 KB
  void* const room = ::mmap(nullptr, 200 * picture, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  ASSERT_NE(room, MAP_FAILED);
  ASSERT_EQ(::mprotect(room, picture, PROT_READ | PROT_WRITE), 0);
  auto* const x = static_cast<float*>(room);
  std::fill_n(x, shape.in_size(), 1.0f);
  alignas(16) float w[8 * 8 * 4 * 16], b[16] = {}, y[16] = {};
  std::ranges::fill(w, 1.0f);
  using Body = cuda::DirectConv<16, 4, 4>;
  const Body body{
      {.shape = shape, .n = 1, .x = x, .w = w, .b = b, .y = y}, cuda::ConvDivisors(shape), 1};
  EXPECT_EQ(Body::Threads(1), 32);
  for (long long i = 0; i < Body::Threads(1); ++i) body(i);
  for (const float sum : y) EXPECT_EQ(sum, 256.0f);
  EXPECT_EQ(::munmap(room, 200 * picture), 0);
}

TEST(GpuPatchesTest, TooManyOfOnePictureAreRefused) {
  FakeGpu gpu;
  const auto backend = MakeFakeGpuBackend(gpu);
  const ConvShape shape{.height = 4000,
                        .width = 4000,
                        .in_channels = 3,
                        .kernel_height = 9,
                        .kernel_width = 9,
                        .out_channels = 8};
  const std::string refusal = ErrorOf([&] {
    backend->ConvForward(
        {.shape = shape, .n = 1, .x = nullptr, .w = nullptr, .b = nullptr, .y = nullptr});
  });
  EXPECT_NE(refusal.find("actors.backend = \"cpu\""), std::string::npos) << refusal;
}

using GpuOpsTest = GpuTest;
INSTANTIATE_TEST_SUITE_P(On, GpuOpsTest, ::testing::Bool(), testing::LoopsOrGpu);

// The same streams give the same actions, and go on from where they are, as on the host.
TEST_P(GpuOpsTest, ActsAsTheHostDoes) {
  constexpr int kBatch = 300, kChoices = 18, kRounds = 20;
  RandomStream random(StreamId{.seed = 33});
  std::vector<RandomStream> streams;
  for (std::uint32_t env = 0; env < kBatch; ++env) {
    streams.emplace_back(StreamId{.seed = 5, .env = env, .purpose = Purpose::kAction});
  }
  auto there_streams = There(*backend_, streams);
  Buffer<std::int32_t> taken(kBatch, backend_->memory());
  int others = 0;
  for (int round = 0; round < kRounds; ++round) {
    const Floats logits = Normals<float>(random, kBatch * kChoices, 2.0);
    const auto there_logits = There(*backend_, logits);
    backend_->SampleActions({.n = kBatch,
                             .policy = OneChoice(kChoices),
                             .logits = there_logits.data(),
                             .streams = there_streams.data(),
                             .taken = taken.data()});
    std::vector<std::int32_t> expected(kBatch);
    SampleActions<float>({.n = kBatch,
                          .policy = OneChoice(kChoices),
                          .logits = logits.data(),
                          .streams = streams.data(),
                          .taken = expected.data()});
    const auto found = Here(*backend_, taken);
    for (std::size_t i = 0; i < expected.size(); ++i) others += found[i] != expected[i];
  }
  // Of a GPU an exp may be off by its last bit, and a draw that is that near to a border is rare.
  EXPECT_LE(others, fake_ != nullptr ? 0 : 2);
  EXPECT_EQ(Here(*backend_, there_streams), streams);
}

TEST_P(GpuOpsTest, ClipsWhatIsFiniteAndTooLong) {
  const Floats gradient(1000, 3.0f);
  const double before = 3.0 * std::sqrt(1000.0);
  Buffer<double> norm(1, backend_->memory());
  const auto clipped = [&](const Floats& values, double max_norm) {
    auto there = There(*backend_, values);
    backend_->ClipByGlobalNorm(values.size(), max_norm, there.data(), norm.data());
    return Here(*backend_, there);
  };
  const Floats shorter(1000, 3.0f * static_cast<float>(10.0 / before));
  EXPECT_EQ(clipped(gradient, 10.0), shorter);
  EXPECT_DOUBLE_EQ(Here(*backend_, norm)[0], before);
  EXPECT_EQ(clipped(gradient, 100.0), gradient) << "short enough";
  EXPECT_EQ(clipped(gradient, 0.0), gradient) << "off";
  EXPECT_DOUBLE_EQ(Here(*backend_, norm)[0], before);
}

// Squares of the largest floats do not overflow.
TEST_P(GpuOpsTest, ClipsWhatIsHuge) {
  const Floats gradient(3, 3e38f);
  auto there = There(*backend_, gradient);
  Buffer<double> norm(1, backend_->memory());
  backend_->ClipByGlobalNorm(3, 1.0, there.data(), norm.data());
  for (const float value : Here(*backend_, there)) EXPECT_NEAR(value, 1 / std::sqrt(3.0f), 1e-6f);
}

}  // namespace
}  // namespace starling::net
