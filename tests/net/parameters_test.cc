#include "net/parameters.h"

#include <gtest/gtest.h>

namespace starling::net {
namespace {

ParameterLayout Example() {
  ParameterLayout layout;
  layout.Add("a.weight", {3, 5});
  layout.Add("a.bias", {16});
  layout.Add("b.weight", {2, 3, 4});
  return layout;
}

// 15 floats end at 15, so the next starts at 16; 16 end at 32, exactly a cache line; 24 end at 56,
// rounded up to 64.
TEST(ParameterLayoutTest, EveryParameterStartsACacheLine) {
  const ParameterLayout layout = Example();
  EXPECT_EQ(layout.Find("a.weight").offset, 0u);
  EXPECT_EQ(layout.Find("a.bias").offset, 16u);
  EXPECT_EQ(layout.Find("b.weight").offset, 32u);
  EXPECT_EQ(layout.size(), 64u);
  EXPECT_EQ(layout.num_weights(), 15u + 16u + 24u);
  EXPECT_EQ(layout.Find("b.weight").shape, (std::vector<std::int64_t>{2, 3, 4}));
}

TEST(ParameterLayoutTest, FingerprintNamesTheArchitecture) {
  const std::uint64_t fingerprint = Example().fingerprint();
  EXPECT_EQ(Example().fingerprint(), fingerprint);
  // Pinned: learner and actor may be different builds on different machines.
  EXPECT_EQ(fingerprint, 14343238413529127889u);

  ParameterLayout renamed;
  renamed.Add("a.weight", {3, 5});
  renamed.Add("a.bias", {16});
  renamed.Add("c.weight", {2, 3, 4});
  ParameterLayout reshaped;  // same names, sizes and offsets
  reshaped.Add("a.weight", {5, 3});
  reshaped.Add("a.bias", {16});
  reshaped.Add("b.weight", {2, 3, 4});
  ParameterLayout reordered;
  reordered.Add("a.bias", {16});
  reordered.Add("a.weight", {3, 5});
  reordered.Add("b.weight", {2, 3, 4});
  ParameterLayout shorter;
  shorter.Add("a.weight", {3, 5});
  shorter.Add("a.bias", {16});
  for (const ParameterLayout& other : {renamed, reshaped, reordered, shorter, ParameterLayout()}) {
    EXPECT_NE(other.fingerprint(), fingerprint);
  }
}

TEST(ParameterLayoutDeathTest, RefusesWhatOnlyABugCouldAskFor) {
  EXPECT_DEATH(Example().Add("a.bias", {1}), "a.bias added twice");
  EXPECT_DEATH(Example().Add("c", {4, 0}), "dimension of 0");
  EXPECT_DEATH(Example().Find("c"), "no parameter named c");
}

}  // namespace
}  // namespace starling::net
