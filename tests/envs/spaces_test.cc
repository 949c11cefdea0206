// The spaces of every env, written and read.
#include "envs/spaces.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <stdexcept>

#include "envs/registry.h"

namespace starling::envs {
namespace {

// EnvSpec has no operator==: a new member is to be thought of here.
void ExpectSame(const EnvSpec& a, const EnvSpec& b) {
  EXPECT_EQ(a.name, b.name);
  EXPECT_EQ(a.height, b.height);
  EXPECT_EQ(a.width, b.width);
  EXPECT_EQ(a.channels, b.channels);
  EXPECT_EQ(a.actions, b.actions);
  EXPECT_EQ(a.action_names, b.action_names);
  EXPECT_EQ(a.low, b.low);
  EXPECT_EQ(a.high, b.high);
  EXPECT_EQ(a.entries, b.entries);
}

TEST(Spaces, OfEveryBundledEnvAreReadAsTheyWere) {
  for (const std::string& name : EnvNames()) {
    SCOPED_TRACE(name);
    const EnvConfig config{.name = name};
    const EnvSpec spec = SpecOf(config);
    ExpectSame(ReadSpaces(SpacesText(spec), config), spec);
  }
}

// As the first checkpoints hold it, and all readers must read it.
TEST(Spaces, AreWrittenAsEver) {
  const EnvConfig config{.name = "mine"};
  const std::string text =
      R"({"actions":{"high":[1.0,null],"low":[-1.0,null]},"bytes":false,"channels":14,"entries":)"
      R"([{"channels":2,"height":2,"high":1.0,"low":0.0,"name":"camera","width":3},)"
      R"({"channels":2,"height":1,"high":9.0,"low":-9.0,"name":"joints","width":1}],"height":1,)"
      R"("high":9.0,"lives":false,"low":-9.0,"saves":false,"width":1})";
  const EnvSpec spec = ReadSpaces(text, config);
  EXPECT_EQ(SpacesText(spec), text);
  EXPECT_EQ(spec.channels, 14);
  EXPECT_EQ(spec.entries.at(0).width, 3);
  EXPECT_EQ(spec.actions.low.at(0), -1);
  const std::string choices =
      R"({"actions":{"counts":[2],"masked":true,"names":["a","b"]},"bytes":false,"channels":3,)"
      R"("entries":[],"height":4,"high":1.0,"lives":false,"low":0.0,"saves":false,"width":5})";
  EXPECT_EQ(SpacesText(ReadSpaces(choices, config)), choices);
  EXPECT_TRUE(ReadSpaces(choices, config).actions.masked);
}

TEST(Spaces, WrappersAreInThem) {
  const EnvConfig config{.name = "minatar/breakout", .stack = 4};
  EXPECT_EQ(ReadSpaces(SpacesText(SpecOf(config)), config).channels, 16);
}

TEST(Spaces, ABoxKeepsItsOddBoundsAndTheirKind) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  const EnvConfig config{.name = "mine", .action_bounds = ActionBounds::kTanh};
  EnvSpec spec{.name = "mine", .channels = 3, .action_names = {}, .low = -0.1f, .high = 1e30f};
  spec.actions = ActionSpace::Box({-kInfinity, 0.3333333f, -1e-38f}, {kInfinity, 0.7f, 3e38f});
  spec.actions.bounds = ActionBounds::kTanh;
  ExpectSame(ReadSpaces(SpacesText(spec), config), spec);
}

TEST(Spaces, SeveralArraysAndMasks) {
  const EnvConfig config{.name = "mine"};
  EnvSpec spec{.name = "mine", .channels = 14, .action_names = {}, .low = -9, .high = 9};
  spec.entries = {{.name = "camera", .height = 2, .width = 3, .channels = 2},
                  {.name = "a \"quoted\" one", .channels = 2, .low = -9, .high = 9}};
  spec.actions = ActionSpace::Choices({3, 4});
  spec.actions.masked = true;
  ExpectSame(ReadSpaces(SpacesText(spec), config), spec);
}

TEST(Spaces, DamagedOnesAreRefused) {
  for (const char* text : {"", "{}", "{\"height\": 1}", "{\"error\": \"no\"}"}) {
    EXPECT_THROW(ReadSpaces(text, {.name = "mine"}), std::runtime_error) << text;
  }
}

}  // namespace
}  // namespace starling::envs
