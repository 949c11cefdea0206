#include "core/utf8.h"

#include <gtest/gtest.h>

#include <string>

namespace starling {
namespace {

TEST(Utf8, TheFirstAndTheLastCharacterOfEachLength) {
  for (const std::string text :
       {"", "\x01", "\x7f", "\xc2\x80", "\xdf\xbf", "\xe0\xa0\x80", "\xed\x9f\xbf", "\xee\x80\x80",
        "\xef\xbf\xbf", "\xf0\x90\x80\x80", "\xf4\x8f\xbf\xbf", "caf\xc3\xa9 \xf0\x9f\x98\x80"}) {
    EXPECT_TRUE(IsUtf8(text)) << text;
  }
  EXPECT_TRUE(IsUtf8(std::string(1, '\0')));
}

TEST(Utf8, NothingElse) {
  for (const std::string text :
       {"\x80", "\xbf", "\xff", "\xf8\x88\x80\x80\x80", "\xc3", "\xe2\x82", "\xf0\x9f\x98", "\xc3(",
        "\xe2(\xac", "\xc0\x80", "\xc1\xbf", "\xe0\x9f\xbf", "\xf0\x8f\xbf\xbf", "\xed\xa0\x80",
        "\xed\xbf\xbf", "\xf4\x90\x80\x80", "\xf7\xbf\xbf\xbf", "caf\xe9"}) {
    EXPECT_FALSE(IsUtf8(text)) << text;
    EXPECT_TRUE(IsUtf8(ToUtf8(text))) << text;
  }
}

TEST(Utf8, WhatIsNoCharacterIsReplaced) {
  EXPECT_EQ(ToUtf8("caf\xc3\xa9 \xff\xc3("), "caf\xc3\xa9 \xef\xbf\xbd\xef\xbf\xbd(");
}

}  // namespace
}  // namespace starling
