#include "learner/shards/gradient_assembler.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

namespace starling::learner {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

wire::Message From(std::uint32_t slot, std::uint32_t incarnation, std::uint64_t sequence) {
  return {.header = {.slot = slot, .incarnation = incarnation, .sequence = sequence},
          .body = wire::Gradient{},
          .tensor = {}};
}

TEST(GradientAssembler, AGradientIsWholeWhenItsLastSliceIsThere) {
  GradientAssembler assembly(2);
  assembly.Arrived({}, From(3, 7, 11));
  assembly.Reported({3, 7, 11}, 1, 3.0);
  EXPECT_FALSE(assembly.TakeWhole());
  assembly.Reported({3, 7, 11}, 2, 4.0);
  const auto whole = assembly.TakeWhole();
  ASSERT_TRUE(whole);
  EXPECT_EQ(whole->message.header.sequence, 11u);
  EXPECT_EQ(whole->other_square, 3.0 * 3.0 + 4.0 * 4.0);
  EXPECT_FALSE(assembly.TakeWhole());
  EXPECT_EQ(assembly.waiting(3, 7), 0u);
}

TEST(GradientAssembler, SlicesMayComeFirst) {
  GradientAssembler assembly(1);
  assembly.Reported({0, 1, 5}, 1, 2.0);
  EXPECT_FALSE(assembly.TakeWhole());
  assembly.Arrived({}, From(0, 1, 5));
  EXPECT_TRUE(assembly.TakeWhole());
}

TEST(GradientAssembler, WhatAShardSaysTwiceCountsOnce) {
  GradientAssembler assembly(2);
  assembly.Arrived({}, From(0, 1, 5));
  assembly.Reported({0, 1, 5}, 1, 2.0);
  assembly.Reported({0, 1, 5}, 1, 2.0);
  EXPECT_FALSE(assembly.TakeWhole());
}

// Rounded sums depend on their order: it is that of the shards, not that of their news.
TEST(GradientAssembler, TheNormDoesNotDependOnWhoCameFirst) {
  const std::vector<double> norms{1e8, 1.0, std::sqrt(3.0)};
  const auto square = [&](const std::vector<std::size_t>& order) {
    GradientAssembler assembly(3);
    assembly.Arrived({}, From(0, 1, 1));
    for (const std::size_t shard : order) assembly.Reported({0, 1, 1}, shard, norms[shard - 1]);
    const auto whole = assembly.TakeWhole();
    return whole ? whole->other_square : -1;
  };
  const double first = square({1, 2, 3});
  EXPECT_GT(first, 0);
  EXPECT_EQ(square({3, 2, 1}), first);
  EXPECT_EQ(square({2, 3, 1}), first);
}

TEST(GradientAssembler, WhatIsNotFiniteStaysSo) {
  GradientAssembler assembly(2);
  assembly.Arrived({}, From(0, 1, 1));
  assembly.Reported({0, 1, 1}, 1, INFINITY);
  assembly.Reported({0, 1, 1}, 2, 1.0);
  const auto whole = assembly.TakeWhole();
  ASSERT_TRUE(whole);
  EXPECT_FALSE(std::isfinite(whole->other_square));
}

TEST(GradientAssembler, ALifeThatEndsIsForgotten) {
  GradientAssembler assembly(2);
  assembly.Arrived({}, From(4, 9, 1));    // no shard has anything of it
  assembly.Reported({4, 9, 2}, 1, 1.0);   // one has
  assembly.Reported({4, 10, 1}, 1, 1.0);  // of the next life
  EXPECT_EQ(assembly.waiting(4, 9), 2u);
  EXPECT_THAT(assembly.Discard(4, 9), ElementsAre(GradientAssembler::Slice{{4, 9, 2}, 1}));
  EXPECT_EQ(assembly.waiting(4, 9), 0u);
  EXPECT_EQ(assembly.waiting(4, 10), 1u);
  EXPECT_THAT(assembly.Discard(5, 9), IsEmpty());
}

}  // namespace
}  // namespace starling::learner
