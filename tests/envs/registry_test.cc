#include "envs/registry.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "core/error.h"
#include "tests/support/error_of.h"

namespace starling::envs {
namespace {

using testing::HasSubstr;

std::string RefusalOf(const std::string& name) {
  return ErrorOf([&] { SpecOf({.name = name}); });
}

TEST(Registry, HoldsTheBundledEnvsInOrder) {
  const std::vector<std::string> names = EnvNames();
  EXPECT_THAT(names, testing::IsSupersetOf({"catch", "dummy", "minatar/breakout"}));
  EXPECT_TRUE(std::is_sorted(names.begin(), names.end()));
}

TEST(Registry, ASpecBearsTheNameOfItsLine) {
  for (const std::string& name : EnvNames()) EXPECT_EQ(SpecOf({.name = name}).name, name);
}

TEST(Registry, AnUnknownNameIsAnsweredWithTheNearestAndAll) {
  const std::string refusal = RefusalOf("minatar/brekout");
  EXPECT_THAT(refusal, HasSubstr("no env \"minatar/brekout\""));
  EXPECT_THAT(refusal, HasSubstr("did you mean \"minatar/breakout\"?"));
  for (const std::string& name : EnvNames()) EXPECT_THAT(refusal, HasSubstr(name));
}

TEST(Registry, ANameNearNothingIsAnsweredWithAll) {
  const std::string refusal = RefusalOf("chess");
  EXPECT_THAT(refusal, testing::Not(HasSubstr("did you mean")));
  EXPECT_THAT(refusal, HasSubstr("catch, dummy, memory/recall, minatar/asterix"));
  EXPECT_NE(RefusalOf(""), "");
  EXPECT_THROW(MakeVecEnv({.name = "chess"}, 1, {}), UserError);
}

TEST(Registry, WhatAnEnvCannotDoIsRefusedByItsKey) {
  const auto refusal = [](const EnvConfig& config) -> std::string {
    return ErrorOf([&] { SpecOf(config); });
  };
  EXPECT_THAT(refusal({.name = "catch", .ramping = false}),
              testing::StartsWith("env.ramping: catch has no difficulty ramp"));
  EXPECT_EQ(refusal({.name = "minatar/asterix", .ramping = false}), "");
  EXPECT_THAT(refusal({.name = "catch", .life_loss_ends = true}),
              testing::StartsWith("env.life_loss_ends: catch has no lives"));
  EXPECT_THAT(refusal({.name = "catch", .options = "{}"}), testing::StartsWith("env.options"));
  EXPECT_THAT(refusal({.name = "catch", .isolate = true}), testing::StartsWith("env.isolate"));
  EXPECT_THROW(MakeVecEnv({.name = "catch", .isolate = true}, 1, {}), UserError);
  EXPECT_THROW(MakeVecEnv({.name = "catch", .stack = 2, .isolate = true}, 1, {}), UserError);
}

}  // namespace
}  // namespace starling::envs
