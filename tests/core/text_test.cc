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

TEST(Lines, ControlCharactersAreSeenAndEscaped) {
  for (const std::string text : {"", "a b", "caf\xc3\xa9"}) {
    EXPECT_TRUE(IsOneLine(text)) << text;
    EXPECT_EQ(Escaped(text), text);
  }
  for (const std::string text : {"a\nb", "\x1b[31m", "\x7f", "\t"}) {
    EXPECT_FALSE(IsOneLine(text)) << text;
    EXPECT_TRUE(IsOneLine(Escaped(text))) << text;
  }
  EXPECT_EQ(Escaped("a\n\x1b[31m\x7f"), "a\\n\\x1b[31m\\x7f");
}

// Each word must come out of a shell as it went in, but for the "./" of a leading dash.
TEST(ShellQuotedTest, AShellReadsItBack) {
  const std::pair<const char*, const char*> cases[] = {
      {"runs/a-b_1.2", "runs/a-b_1.2"},
      {"", "''"},
      {"my run", "'my run'"},
      {"it's", "'it'\\''s'"},
      {"$(reboot);`reboot`", "'$(reboot);`reboot`'"},
      {"~/run*", "'~/run*'"},
      {"-rf", "./-rf"},
      {"-r f", "'./-r f'"},
      {"caf\xc3\xa9", "'caf\xc3\xa9'"},
  };
  for (const auto& [word, quoted] : cases) EXPECT_EQ(ShellQuoted(word), quoted);
}

const std::vector<std::string> kKnown = {"count", "envs_per_actor", "unroll", "backend"};

TEST(NearestName, IsAtMostAThirdOfItsLettersAway) {
  const struct {
    std::string word;
    std::vector<std::string> known;
    const char* nearest;
  } cases[] = {
      {"coount", kKnown, "count"},                   // a letter too many
      {"cout", kKnown, "count"},                     // one too few
      {"unrol1", kKnown, "unroll"},                  // another one
      {"bakcend", kKnown, "backend"},                // two swapped
      {"count", kKnown, "count"},                    // none
      {"Envs-Per-Actor", kKnown, "envs_per_actor"},  // case and dashes do not count
      {"entropy", kKnown, ""},
      {"", kKnown, ""},
      {"x", {"y"}, ""},  // one letter for another is not a slip but a new word
      {"count", {}, ""},
      {std::string(1'000'000, 'c'), kKnown, ""},
      {"entropy_en", {"entropy", "entropy_end"}, "entropy_end"},  // the nearer one
      {"lanez", {"laner", "lanes"}, "laner"},                     // the first of equals
      {"abcdefXY", {"abcdefgh"}, "abcdefgh"},                     // 2 of 8 letters
      {"abcdeXYZ", {"abcdefgh"}, ""},                             // 3 of 8
  };
  for (const auto& [word, known, nearest] : cases) {
    EXPECT_EQ(NearestName(word, known), nearest) << word.substr(0, 20);
  }
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

// RFC 4648, section 10.
TEST(Base64Test, TheVectorsOfTheRfc) {
  const std::pair<const char*, const char*> cases[] = {{"", ""},
                                                       {"f", "Zg=="},
                                                       {"fo", "Zm8="},
                                                       {"foo", "Zm9v"},
                                                       {"foob", "Zm9vYg=="},
                                                       {"fooba", "Zm9vYmE="},
                                                       {"foobar", "Zm9vYmFy"}};
  for (const auto& [bytes, text] : cases) EXPECT_EQ(Base64(bytes), text);
  EXPECT_EQ(Base64(std::string("\xff\xfe\x00\xfb", 4)), "//4A+w==");
}

}  // namespace
}  // namespace starling
