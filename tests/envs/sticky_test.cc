#include "envs/sticky.h"

#include <gtest/gtest.h>

#include <array>

namespace starling::envs {
namespace {

double AutoOf(const std::string& name, const std::string& options = "") {
  return StickyChance({.name = name, .options = options});
}

TEST(StickyChance, AutoDependsOnTheKindOfEnv) {
  EXPECT_EQ(AutoOf("minatar/breakout"), 0.1);
  EXPECT_EQ(AutoOf("plugin:./mine.so"), 0);
  EXPECT_EQ(AutoOf("gym:CartPole-v1"), 0);
  EXPECT_EQ(AutoOf("gym:ALE/Pong-v5"), 0.25);
  EXPECT_EQ(AutoOf("gym:ALE/Pong-v5", R"({"mode": 1})"), 0.25);
  EXPECT_EQ(AutoOf("gym:ALE/Pong-v5", R"({"repeat_action_probability": 0.5})"), 0);
}

TEST(StickyChance, WhatIsAskedForIsTaken) {
  for (const char* name : {"catch", "gym:ALE/Pong-v5", "plugin:./mine.so"}) {
    EXPECT_EQ(StickyChance({.name = name, .sticky_actions = 0.5}), 0.5);
  }
}

// However many frames are asked for at once, and for how many envs.
TEST(StickyActions, AreOneDrawAFrame) {
  const EnvSeed seed{.seed = 3};
  StickyActions by_four(2, seed, 0.5), by_one(1, seed, 0.5);
  int stuck = 0;
  for (std::int32_t asked = 1; asked <= 200; ++asked) {
    std::array<std::int32_t, 4> four{};
    by_four.Play(0, asked, four);
    for (const std::int32_t played : four) {
      std::int32_t one = 0;
      by_one.Play(0, asked, {&one, 1});
      EXPECT_EQ(played, one);
      stuck += played != asked;
    }
  }
  EXPECT_GT(stuck, 100);  // an action is late by a frame or more
  EXPECT_LT(stuck, 300);
}

}  // namespace
}  // namespace starling::envs
