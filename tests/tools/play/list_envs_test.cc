#include <gmock/gmock.h>

#include <sstream>

#include "envs/registry.h"
#include "tools/play/play.h"

namespace starling::play {
namespace {

using testing::ContainsRegex;

TEST(EnvTable, FitsAHundredColumns) {
  std::istringstream lines(EnvTable());
  for (std::string line; std::getline(lines, line);) EXPECT_LE(line.size(), 100u) << line;
}

TEST(EnvTable, EveryBundledEnvHasALine) {
  const std::string table = EnvTable();
  for (const std::string& name : envs::EnvNames()) {
    EXPECT_THAT(table, testing::HasSubstr("\n" + name + " "));
  }
}

TEST(EnvTable, SaysShapeActionsAndOptions) {
  const std::string table = EnvTable();
  EXPECT_THAT(table, ContainsRegex("arcade/pong +84x84x1 +3 .noop up down. +-\n"));
  EXPECT_THAT(
      table,
      ContainsRegex("minatar/breakout +10x10x4 +6 .noop left up right down fire. +minimal=3\n"));
  EXPECT_THAT(table, ContainsRegex("minatar/seaquest +10x10x10 .* ramps\n"));
  EXPECT_THAT(table, ContainsRegex("minatar/space_invaders .* minimal=4, ramps\n"));
}

TEST(EnvTable, SaysHowToNameOthers) {
  EXPECT_THAT(EnvTable(), testing::HasSubstr("gym:ALE/Pong-v5"));
  EXPECT_THAT(EnvTable(), testing::HasSubstr("plugin:./mine.so"));
}

}  // namespace
}  // namespace starling::play
