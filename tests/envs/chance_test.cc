#include "envs/chance.h"

#include <gmock/gmock.h>

#include <array>

#include "envs/sticky.h"

namespace starling::envs {
namespace {

using testing::HasSubstr;

TEST(RandomChance, DrawsFromItsStream) {
  const StreamId id{.seed = 3, .slot = 1, .life = 0, .env = 2, .purpose = Purpose::kTest};
  RandomStream stream(id), same(id);
  RandomChance chance(stream);
  EXPECT_EQ(chance.Uniform(), same.UniformDouble());
  EXPECT_EQ(chance.Below(7), static_cast<int>(same.Below(7)));
  EXPECT_EQ(chance.Between(-2, 3), static_cast<int>(same.Below(5)) - 2);
  EXPECT_EQ(stream, same);
}

TEST(ScriptedChance, HandsOutItsDrawsInOrder) {
  ScriptedChance chance({Draw::Uniform(0.25), Draw::Below(4, 3), Draw::Integer(1, 9, 8)});
  EXPECT_EQ(chance.Uniform(), 0.25);
  EXPECT_EQ(chance.Below(4), 3);
  EXPECT_EQ(chance.Between(1, 9), 8);
  EXPECT_EQ(chance.Mismatch(), "");
}

TEST(ScriptedChance, ReportsAWrongKind) {
  ScriptedChance chance({Draw::Uniform(0.5)});
  EXPECT_EQ(chance.Between(3, 5), 3);  // the lowest of the range
  EXPECT_EQ(chance.Mismatch(),
            "the game asked for an integer in [3, 5) as draw 1, the script holds a real in [0, 1)");
}

TEST(ScriptedChance, ReportsAWrongRange) {
  ScriptedChance chance({Draw::Uniform(0.5), Draw::Below(8, 7)});
  EXPECT_EQ(chance.Uniform(), 0.5);
  EXPECT_EQ(chance.Below(7), 0);
  EXPECT_THAT(chance.Mismatch(), HasSubstr("an integer in [0, 7) as draw 2"));
  EXPECT_THAT(chance.Mismatch(), HasSubstr("holds an integer in [0, 8)"));
}

TEST(ScriptedChance, KeepsTheFirstMismatch) {
  ScriptedChance chance({Draw::Below(2, 1)});
  chance.Uniform();
  EXPECT_EQ(chance.Below(2), 0) << "nothing is handed out after a mismatch";
  EXPECT_THAT(chance.Mismatch(), HasSubstr("asked for a real in [0, 1) as draw 1"));
}

TEST(StickyAction, RepeatsBelowTheProbabilityOnly) {
  ScriptedChance chance({Draw::Uniform(0.0999), Draw::Uniform(0.1), Draw::Uniform(0.0)});
  EXPECT_EQ(StickyAction(5, 2, 0.1, chance), 2);
  EXPECT_EQ(StickyAction(5, 2, 0.1, chance), 5);
  EXPECT_EQ(StickyAction(5, 2, 0.0, chance), 5);
  EXPECT_EQ(chance.Mismatch(), "") << "one draw each, also at probability 0";
}

double AutoOf(const std::string& name, const std::string& options = "") {
  return StickyChance({.name = name, .options = options});
}

TEST(StickyChance, AutoDependsOnTheKindOfEnv) {
  EXPECT_EQ(AutoOf("minatar/breakout"), 0.1);
  EXPECT_EQ(AutoOf("plugin:./mine.so"), 0);
  EXPECT_EQ(AutoOf("gym:CartPole-v1"), 0);
  EXPECT_EQ(AutoOf("ale:pong"), 0.25);
  EXPECT_EQ(AutoOf("gym:ALE/Pong-v5"), 0.25);
  EXPECT_EQ(AutoOf("gym:ALE/Pong-v5", R"({"mode": 1})"), 0.25);
  EXPECT_EQ(AutoOf("gym:ALE/Pong-v5", R"({"repeat_action_probability": 0.5})"), 0);
}

TEST(StickyChance, WhatIsAskedForIsTaken) {
  for (const char* name : {"catch", "gym:ALE/Pong-v5", "plugin:./mine.so"}) {
    EXPECT_EQ(StickyChance({.name = name, .sticky_actions = 0.5}), 0.5);
  }
}

// However many frames are asked for at once and then played, and for how many envs.
TEST(StickyActions, AreOneDrawAFrameThatIsPlayed) {
  const EnvSeed seed{.seed = 3};
  const ActionSpace actions = ActionSpace::Choice(20);
  StickyActions by_four(2, seed, 0.5, actions), by_one(1, seed, 0.5, actions);
  int stuck = 0;
  for (std::int32_t asked = 1; asked <= 200; ++asked) {
    std::array<std::int32_t, 4> drawn{};
    by_four.Draw(0, {&asked, 1}, drawn);
    const auto played = std::span(drawn).first(asked % 3 == 0 ? 2 : 4);  // an end comes early
    by_four.Played(0, played);
    for (const std::int32_t action : played) {
      std::int32_t one = 0;
      by_one.Draw(0, {&asked, 1}, {&one, 1});
      by_one.Played(0, {&one, 1});
      EXPECT_EQ(action, one);
      stuck += action != asked;
    }
  }
  EXPECT_GT(stuck, 100);  // an action is late by a frame or more
  EXPECT_LT(stuck, 300);
}

}  // namespace
}  // namespace starling::envs
