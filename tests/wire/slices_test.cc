#include "wire/slices.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace starling::wire {
namespace {

// 3552 weights are 222 groups of 16: 222 * i / 4 = 0, 55, 111, 166, 222.
TEST(Slices, AreCutBetweenGroupsOfSixteen) {
  EXPECT_EQ(CutIntoSlices(3552, 4), (std::vector<Slice>{{.begin = 0, .size = 55 * 16},
                                                        {.begin = 55 * 16, .size = 56 * 16},
                                                        {.begin = 111 * 16, .size = 55 * 16},
                                                        {.begin = 166 * 16, .size = 56 * 16}}));
}

TEST(Slices, CoverEverythingOnce) {
  for (std::size_t groups = 1; groups < 40; ++groups) {
    for (std::size_t count = 1; count <= kMaxShards; ++count) {
      std::size_t next = 0;
      for (const Slice& slice : CutIntoSlices(groups * 16, count)) {
        EXPECT_EQ(slice.begin, next);
        next += slice.size;
      }
      EXPECT_EQ(next, groups * 16);
    }
  }
}

}  // namespace
}  // namespace starling::wire
