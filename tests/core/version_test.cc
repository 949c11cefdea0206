#include "core/version.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace starling {
namespace {

TEST(Version, NamesTheBuildAndItsParts) {
  const std::string line = VersionLine("starling-actor");
  EXPECT_THAT(line,
              testing::MatchesRegex(
                  "starling-actor [0-9]+\\.[0-9]+\\.[0-9]+ \\([a-z]+, [a-z+]+ [0-9]+\\.[0-9]+, "
                  "(native|portable( with [a-z0-9]+)?), (sanitized for [a-z ]+, )?oneDNN "
                  "[0-9]+\\.[0-9]+\\.[0-9]+, "
                  "ZeroMQ [0-9]+\\.[0-9]+\\.[0-9]+, (no CUDA|CUDA [0-9]+\\.[0-9]+)\\)"));
#ifdef __SANITIZE_ADDRESS__
  EXPECT_THAT(line, testing::HasSubstr("sanitized for address"));
#endif
}

}  // namespace
}  // namespace starling
