#include "core/instructions.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "core/config/config.h"

namespace starling {
namespace {

constexpr Instructions kLevels[] = {Instructions::kAvx2, Instructions::kAvx512, Instructions::kAmx};

TEST(InstructionsTest, AProcessorWithALevelHasThoseBelow) {
  EXPECT_TRUE(ProcessorHas(Instructions::kNative));
  EXPECT_LE(ProcessorHas(Instructions::kAmx), ProcessorHas(Instructions::kAvx512));
  EXPECT_LE(ProcessorHas(Instructions::kAvx512), ProcessorHas(Instructions::kAvx2));
}

TEST(InstructionsTest, AProgramHasThoseOfItsMachineOrThoseOfLevels) {
  for (const Instructions level : kLevels) {
    EXPECT_EQ(Runs(level), !Runs(Instructions::kNative) && ProcessorHas(level)) << NameOf(level);
  }
}

TEST(InstructionsTest, TheBestOnesRunAndStandInForOthers) {
  EXPECT_TRUE(Runs(BestInstructions()));
  EXPECT_EQ(InstructionsFor(Instructions::kAuto), BestInstructions());
  for (const Instructions level : kLevels) {
    EXPECT_EQ(InstructionsFor(level), Runs(level) ? level : BestInstructions());
    if (!Runs(level)) {
      EXPECT_THAT(WhyNotRun(level), testing::StartsWith("this "));
      EXPECT_THAT(OtherInstructions(level),
                  testing::AllOf(testing::HasSubstr(NameOf(level)),
                                 testing::EndsWith(std::string("computing with ") +
                                                   std::string(NameOf(BestInstructions())))));
    }
    EXPECT_EQ(OtherInstructions(level).empty(), Runs(level));
  }
}

TEST(InstructionsTest, ARunIsHeldToThoseOfTheMachineThatStartsIt) {
  EXPECT_EQ(ParseConfig("", "test.toml").actors.instructions, BestInstructions());
  EXPECT_EQ(ParseConfig("", "test.toml", {"actors.instructions=avx2"}).actors.instructions,
            Instructions::kAvx2);
}

}  // namespace
}  // namespace starling
