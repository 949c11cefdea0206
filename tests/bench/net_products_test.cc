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
  const net::ModelSpec minatar{.kind = NetKind::kMinatar,
                               .hidden = {128, 32},
                               .height = 10,
                               .width = 10,
                               .channels = 4,
                               .num_actions = 6};
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
                            .num_actions = 3};
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

}  // namespace
}  // namespace starling::bench
