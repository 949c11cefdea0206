#include "bench/net_products.h"

#include <gmock/gmock.h>

#include "bench/watched_backend.h"

namespace starling::bench {
namespace {

double Sum(const std::vector<Product>& products) {
  double sum = 0;
  for (const Product& product : products) sum += product.flops();
  return sum;
}

// Every op of the net is among them, once for each time that it is called.
TEST(NetProductsTest, TheirWorkIsThatOfTheNet) {
  net::ModelSpec minatar = MinatarSpec();
  minatar.hidden = {128, 32};
  for (const net::ModelSpec& spec : {AtariSpec(), minatar}) {
    const Flops flops = FlopsOf(spec);
    EXPECT_EQ(Sum(ProductsOf(spec, 1, 1)), flops.forward + flops.backward) << NameOf(spec.kind);
    EXPECT_EQ(Sum(ProductsOf(spec, 3, 5)), 15 * (flops.forward + flops.backward))
        << NameOf(spec.kind);
  }
}

TEST(NetProductsTest, EveryOpAndItsProductTakeTime) {
  const auto backend = net::MakeCpuBackend();
  const net::ModelSpec spec{.kind = NetKind::kMinatar,
                            .hidden = {16},
                            .height = 6,
                            .width = 6,
                            .channels = 2,
                            .actions = ActionSpace::Choice(3)};
  const ProductTimes times = MeasureProducts(*backend, spec, 2, 2, 0);
  EXPECT_GT(times.whole_us, 0);
  ASSERT_EQ(times.products.size(), 2u + 3 * 3);
  for (const ProductTimes::One& one : times.products) {
    EXPECT_GT(one.op_us, 0) << one.product.what;
    EXPECT_GT(one.product_us, 0) << one.product.what;
    EXPECT_LE(one.counted_us(), one.op_us) << one.product.what;
  }
  EXPECT_GT(times.products_us(), 0);
}

// 84 x 84 x 4: 16@8x8/4 gives 20 x 20, 32@4x4/2 gives 9 x 9.
TEST(WatchedBackendTest, FlopsOfTheAtariNetKnowItsStrides) {
  const Flops flops = FlopsOf({.kind = NetKind::kAtari,
                               .hidden = {256},
                               .height = 84,
                               .width = 84,
                               .channels = 4,
                               .actions = ActionSpace::Choice(3)});
  const double conv1 = 2.0 * 400 * (8 * 8 * 4) * 16, conv2 = 2.0 * 81 * (4 * 4 * 16) * 32;
  const double fc = 2.0 * (81 * 32) * 256, heads = 2.0 * 256 * 4;
  EXPECT_EQ(flops.forward, conv1 + conv2 + fc + heads);
  EXPECT_EQ(flops.backward, conv1 + 2 * conv2 + 2 * fc + 2 * heads);
}

TEST(WatchedBackendTest, EveryCallIsNotedAndDoesWhatItDoes) {
  WatchedBackend backend;
  const float x[] = {1, 2}, w[] = {3, 4}, b[] = {0.5};
  float y[] = {0};
  backend.LinearForward({.shape = {.in = 2, .out = 1}, .n = 1, .x = x, .w = w, .b = b, .y = y});
  EXPECT_EQ(y[0], 11.5f);
  const std::vector<OpCall> calls = backend.TakeCalls();
  ASSERT_EQ(calls.size(), 1u);
  EXPECT_EQ(calls[0].op, "linear 2 × 1 forward");
  EXPECT_EQ(calls[0].n, 1);
  EXPECT_EQ(calls[0].flops, 4);
  EXPECT_GE(calls[0].ns, 0);
  EXPECT_TRUE(backend.TakeCalls().empty());
}

}  // namespace
}  // namespace starling::bench
