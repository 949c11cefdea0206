#include "core/text.h"

#include <gtest/gtest.h>

#include <string>

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

const std::vector<std::string> kKnown = {"count", "envs_per_actor", "unroll", "backend"};

TEST(NearestName, OneSlipOfEachKind) {
  EXPECT_EQ(NearestName("coount", kKnown), "count");     // a letter too many
  EXPECT_EQ(NearestName("cout", kKnown), "count");       // one too few
  EXPECT_EQ(NearestName("unrol1", kKnown), "unroll");    // another one
  EXPECT_EQ(NearestName("bakcend", kKnown), "backend");  // two swapped
  EXPECT_EQ(NearestName("count", kKnown), "count");      // none
}

TEST(NearestName, CaseAndDashesDoNotCount) {
  EXPECT_EQ(NearestName("Envs-Per-Actor", kKnown), "envs_per_actor");
}

TEST(NearestName, NothingIsNear) {
  EXPECT_EQ(NearestName("entropy", kKnown), "");
  EXPECT_EQ(NearestName("", kKnown), "");
  EXPECT_EQ(NearestName("x", {"y"}), "");  // one letter for another is not a slip but a new word
  EXPECT_EQ(NearestName("count", {}), "");
  EXPECT_EQ(NearestName(std::string(1'000'000, 'c'), kKnown), "");
}

TEST(NearestName, TheNearerOneWinsAndTheFirstOfEquals) {
  EXPECT_EQ(NearestName("entropy_en", {"entropy", "entropy_end"}), "entropy_end");
  EXPECT_EQ(NearestName("lanez", {"laner", "lanes"}), "laner");
}

// A third of the letters may be wrong: 2 of 8 are near, 3 of 8 are not.
TEST(NearestName, HowFarIsFar) {
  EXPECT_EQ(NearestName("abcdefXY", {"abcdefgh"}), "abcdefgh");
  EXPECT_EQ(NearestName("abcdeXYZ", {"abcdefgh"}), "");
}

TEST(DidYouMean, EndsASentence) {
  EXPECT_EQ(DidYouMean("cuont", kKnown), "; did you mean \"count\"?");
  EXPECT_EQ(DidYouMean("entropy", kKnown), "");
}

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
