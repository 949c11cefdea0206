#include "core/check.h"

#include <gtest/gtest.h>

namespace starling {
namespace {

TEST(CheckTest, WhatHoldsIsSilentAndEvaluatedOnce) {
  int evaluated = 0;
  CHECK(++evaluated == 1);
  CHECK(++evaluated == 2, "evaluated {} times", evaluated);
  EXPECT_EQ(evaluated, 2);
}

TEST(CheckDeathTest, WhatFailsAbortsWithTheValues) {
  const int staleness = 5, bound = 4;
  EXPECT_DEATH(CHECK(staleness <= bound, "staleness {}, bound {}", staleness, bound),
               "check_test.cc:[0-9]+: CHECK\\(staleness <= bound\\) failed: staleness 5, bound 4");
  EXPECT_DEATH(CHECK(staleness == bound), "CHECK\\(staleness == bound\\) failed\n");
}

}  // namespace
}  // namespace starling
