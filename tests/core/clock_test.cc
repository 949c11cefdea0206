#include "core/clock.h"

#include <gtest/gtest.h>

namespace starling {
namespace {

TEST(Clock, TheSteadyOneNeverGoesBack) {
  const SteadyClock clock;
  const std::int64_t start = clock.NowNs();
  std::int64_t last = start;
  while (last < start + 1'000'000) {
    const std::int64_t now = clock.NowNs();
    ASSERT_GE(now, last);
    last = now;
  }
}

}  // namespace
}  // namespace starling
