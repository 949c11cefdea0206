#include "envs/bridge/protocol.h"

#include <gmock/gmock.h>

#include <limits>
#include <string>

namespace starling::envs {
namespace {

const std::string kGood =
    R"({"height": 2, "width": 3, "channels": 4, "bytes": true, "low": 0, "high": 255,)"
    R"( "actions": ["a", "b"], "lives": false})";

std::string With(const std::string& from, const std::string& to) {
  std::string line = kGood;
  const auto at = line.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  return line.replace(at, from.size(), to);
}

bool Reads(const std::string& line) {
  std::string mistake;
  return ReadWorkerSpec(line, "x", mistake).has_value();
}

TEST(WorkerSpec, IsRead) {
  std::string mistake;
  const auto spec = ReadWorkerSpec(kGood, "gym:X-v0", mistake);
  ASSERT_TRUE(spec.has_value());
  EXPECT_EQ(spec->env.name, "gym:X-v0");
  EXPECT_EQ(spec->env.height, 2);
  EXPECT_EQ(spec->env.width, 3);
  EXPECT_EQ(spec->env.channels, 4);
  EXPECT_EQ(spec->env.num_actions, 2);
  EXPECT_THAT(spec->env.action_names, testing::ElementsAre("a", "b"));
  EXPECT_EQ(spec->env.high, 255);
  EXPECT_TRUE(spec->bytes);
  EXPECT_FALSE(spec->lives);
}

TEST(WorkerSpec, NothingElseIs) {
  for (const auto& [from, to] : std::vector<std::pair<std::string, std::string>>{
           {"{", "["},
           {"\"height\": 2", "\"height\": 0"},
           {"\"height\": 2", "\"height\": -2"},
           {"\"height\": 2", "\"height\": 2.5"},
           {"\"height\": 2", "\"height\": \"2\""},
           {"\"height\": 2", "\"height\": 67108864"},  // times 3 times 4: too large
           {"\"height\": 2, ", ""},
           {"\"bytes\": true", "\"bytes\": 1"},
           {"\"high\": 255", "\"high\": 1e39"},  // no float
           {"\"high\": 255", "\"high\": -1"},
           {"\"high\": 255", "\"high\": null"},
           {"[\"a\", \"b\"]", "[]"},
           {"[\"a\", \"b\"]", "[1, 2]"},
           {"[\"a\", \"b\"]", "2"},
           {", \"lives\": false", ""},
       }) {
    EXPECT_FALSE(Reads(With(from, to))) << to;
  }
  EXPECT_FALSE(Reads(""));
  EXPECT_FALSE(Reads("null"));
}

TEST(WorkerSpec, IsReadAsItWasWritten) {
  std::string mistake;
  auto spec = ReadWorkerSpec(kGood, "x", mistake);
  ASSERT_TRUE(spec.has_value());
  spec->bytes = false;
  spec->env.low = -std::numeric_limits<float>::max();
  spec->env.high = 0.1f;
  spec->env.action_names = {"quote \"", "caf\xc3\xa9"};
  const auto again = ReadWorkerSpec(WorkerSpecLine(*spec), "x", mistake);
  ASSERT_TRUE(again.has_value());
  EXPECT_TRUE(SameSpec(*again, *spec));
}

TEST(WorkerSpec, ReadyIsReady) {
  EXPECT_TRUE(SaysReady("{\"ready\": true}\n"));
  EXPECT_TRUE(SaysReady("{\"ready\":true}\n"));
  EXPECT_FALSE(SaysReady("{\"ready\": false}\n"));
  EXPECT_FALSE(SaysReady("{\"ready\": 1}\n"));
  EXPECT_FALSE(SaysReady("ready\n"));
}

}  // namespace
}  // namespace starling::envs
