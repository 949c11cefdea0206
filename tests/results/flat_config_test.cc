#include "results/flat_config.h"

#include <gtest/gtest.h>

#include <stdexcept>
#include <string>

namespace starling::results {
namespace {

TEST(FlatConfigTest, KeysOfAllSections) {
  const FlatConfig flat = Flatten("outside = 1\n[a]\nx = 0.003\ny = [1, 2]\n[b]\nx = \"w\"\n");
  EXPECT_EQ(flat, (FlatConfig{{"a.x", "0.003"}, {"a.y", "[1, 2]"}, {"b.x", "\"w\""}}));
  EXPECT_THROW(Flatten("[a"), std::runtime_error);
  EXPECT_THROW(Flatten(std::string(200'000, '.')), std::runtime_error);
}

}  // namespace
}  // namespace starling::results
