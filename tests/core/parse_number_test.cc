#include "core/parse_number.h"

#include <gtest/gtest.h>

namespace starling {
namespace {

TEST(ParseNumber, TakesTheWholeTextOrNothing) {
  EXPECT_EQ(ParseNumber("000012"), 12u);
  EXPECT_EQ(ParseNumber("00ff", 16), 255u);
  EXPECT_EQ(ParseNumber("18446744073709551615"), UINT64_MAX);
  for (const char* text : {"", " 1", "1 ", "+1", "-1", "0x1", "1a", "18446744073709551616"}) {
    EXPECT_FALSE(ParseNumber(text)) << text;
  }
}

}  // namespace
}  // namespace starling
