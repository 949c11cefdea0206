#include "bench/stats.h"

#include <gmock/gmock.h>

namespace starling::bench {
namespace {

TEST(StatsTest, LeastAndMost) {
  EXPECT_EQ(Least({3, 1, 2}), 1);
  EXPECT_EQ(Most({3, 1, 2}), 3);
}

// The value that the share does not exceed: of 100 values the 50th, the 99th and the last.
TEST(StatsTest, Percentile) {
  std::vector<double> values;
  for (int i = 100; i >= 1; --i) values.push_back(i);
  EXPECT_EQ(Percentile(values, 0.5), 50);
  EXPECT_EQ(Percentile(values, 0.99), 99);
  EXPECT_EQ(Percentile(values, 1), 100);
  EXPECT_EQ(Percentile(values, 0), 1);
  EXPECT_EQ(Percentile({7}, 0.99), 7);
}

TEST(StatsTest, WorkIsRepeatedOftenEnoughForAMedian) {
  int calls = 0;
  EXPECT_EQ(TimeManyNs(0, [&] { ++calls; }).size(), kMinRepeats);
  EXPECT_EQ(calls, static_cast<int>(kMinRepeats) + 1);  // once to warm up
}

}  // namespace
}  // namespace starling::bench
