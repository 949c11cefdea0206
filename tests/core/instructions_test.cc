#include "core/instructions.h"

#include <gtest/gtest.h>

namespace starling {
namespace {

TEST(InstructionsTest, EachLevelHasThoseBelow) {
  EXPECT_TRUE(Runs(Instructions::kNative));
  EXPECT_LE(Runs(Instructions::kAmx), Runs(Instructions::kAvx512));
  EXPECT_LE(Runs(Instructions::kAvx512), Runs(Instructions::kAvx2));
}

TEST(InstructionsTest, TheBestOnesRun) { EXPECT_TRUE(Runs(BestInstructions())); }

}  // namespace
}  // namespace starling
