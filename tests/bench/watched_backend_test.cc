#include "bench/watched_backend.h"

#include <gmock/gmock.h>

namespace starling::bench {
namespace {

// 84 x 84 x 4: 16@8x8/4 gives 20 x 20, 32@4x4/2 gives 9 x 9.
TEST(WatchedBackendTest, FlopsOfTheAtariNetKnowItsStrides) {
  const Flops flops = FlopsOf({.kind = NetKind::kAtari,
                               .hidden = {256},
                               .height = 84,
                               .width = 84,
                               .channels = 4,
                               .num_actions = 3});
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
