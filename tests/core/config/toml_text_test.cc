#include "core/config/toml_text.h"

#include <gtest/gtest.h>

namespace starling {
namespace {

std::string Again(const std::string& value) {
  return TomlText(*toml::parse("value = " + value).get("value"));
}

TEST(TomlTextTest, EveryTypeReadsBack) {
  for (const char* value : {"3", "-4", "true", "\"unbounded\"", "[64, 32]", "[]", "0.003", "2.0",
                            "[\"conv 16 3x3\", \"relu\"]", "[0.1, [1, 2]]"}) {
    EXPECT_EQ(Again(value), value);
  }
  EXPECT_EQ(Again("3e-3"), "0.003");
  EXPECT_EQ(Again("1e-5"), "1e-05");
  EXPECT_EQ(Again("1_000_000"), "1000000");
  EXPECT_EQ(Again("inf"), "inf");
  EXPECT_EQ(Again("'a \"b\" \\'"), Again("\"a \\\"b\\\" \\\\\"")) << "a backslash and quotes";
}

}  // namespace
}  // namespace starling
