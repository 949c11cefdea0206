#include "envs/bridge/protocol.h"

#include <fmt/format.h>
#include <gmock/gmock.h>

#include <cmath>
#include <limits>
#include <string>
#include <utility>
#include <vector>

namespace starling::envs {
namespace {

constexpr float kNoBound = std::numeric_limits<float>::infinity();

const std::string kGood =
    R"({"height": 2, "width": 3, "channels": 4, "bytes": true, "low": 0, "high": 255,)"
    R"( "actions": {"counts": [2], "names": ["a", "b"], "masked": false}, "lives": false})";

// kGood with other actions.
std::string WithActions(const std::string& actions) {
  const auto begin = kGood.find("{\"counts"), end = kGood.find(", \"lives");
  return kGood.substr(0, begin) + actions + kGood.substr(end);
}

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
  EXPECT_EQ(spec->env.actions.values(), 2);
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

// A spec of several arrays, `entries`, in frames of `frame`.
std::string WithEntries(const std::string& entries,
                        const std::string& frame = R"("channels": 8, "bytes": false)") {
  return R"({"height": 1, "width": 1, )" + frame + R"(, "low": 0, "high": 1, "entries": )" +
         entries + R"(, "actions": {"counts": [2], "names": [], "masked": true}, "lives": false})";
}

std::string EntryText(const std::string& name, int height, int width, int channels,
                      const std::string& low = "-1") {
  return fmt::format(
      R"({{"name": "{}", "height": {}, "width": {}, "channels": {}, "low": {}, "high": 2.5}})",
      name, height, width, channels, low);
}

TEST(WorkerSpec, EntriesAreReadAsTheyWereWritten) {
  std::string mistake;
  const std::string longest(kMaxEntryName, 'x');
  const auto spec = ReadWorkerSpec(
      WithEntries("[" + EntryText("image", 1, 3, 2) + ", " + EntryText(longest, 1, 1, 1) + ", " +
                  EntryText("caf\xc3\xa9.0", 1, 1, 1) + "]"),
      "x", mistake);
  ASSERT_TRUE(spec.has_value());
  EXPECT_THAT(spec->env.entries,
              testing::ElementsAre(ObservationEntry{"image", 1, 3, 2, -1, 2.5f},
                                   ObservationEntry{longest, 1, 1, 1, -1, 2.5f},
                                   ObservationEntry{"caf\xc3\xa9.0", 1, 1, 1, -1, 2.5f}));
  EXPECT_EQ(spec->env.obs_size(), 8);
  EXPECT_EQ(spec->env.row(), 10u) << "with the mask";
  auto again = ReadWorkerSpec(WorkerSpecLine(*spec), "x", mistake);
  ASSERT_TRUE(again.has_value());
  EXPECT_TRUE(SameSpec(*again, *spec));
  again->env.entries[1].name = "y";
  EXPECT_FALSE(SameSpec(*again, *spec));
}

TEST(WorkerSpec, MalformedEntriesAreRefused) {
  const std::string four = EntryText("a", 1, 1, 4), b = EntryText("b", 2, 2, 1);
  ASSERT_TRUE(Reads(WithEntries("[" + four + ", " + b + "]")));
  const auto without = [&](const std::string& key) {
    std::string text = b;
    EXPECT_NE(text.find(key), std::string::npos) << key;
    return text.erase(text.find(key), key.size());
  };
  EXPECT_TRUE(Reads(WithEntries("[]"))) << "one array";
  EXPECT_TRUE(Reads(WithEntries("null")));
  for (const std::string& entries : {
           std::string("{}"),
           std::string("\"a\""),
           std::string("8"),
           std::string("[1, 2]"),
           "[" + EntryText("a", 1, 1, 8) + "]",  // one is alone
           "[" + four + ", " + four + "]",       // twice the same name
           "[" + four + ", " + EntryText("", 1, 1, 4) + "]",
           "[" + four + ", " + EntryText(std::string(kMaxEntryName + 1, 'x'), 1, 1, 4) + "]",
           "[" + four + ", " + EntryText("b\\n", 1, 1, 4) + "]",
           "[" + four + ", " + EntryText("b", 1, 1, 3) + "]",  // do not fill the frame
           "[" + four + ", " + EntryText("b", 1, 1, 5) + "]",
           "[" + four + ", " + b + ", " + EntryText("c", 1, 1, 1) + "]",
           "[" + four + ", " + EntryText("b", 0, 1, 4) + "]",
           "[" + four + ", " + EntryText("b", -2, -2, 1) + "]",
           "[" + four + ", " + EntryText("b", 65536, 65536, 1) + "]",
           "[" + four + ", " + EntryText("b", 2, 2, 1, "3") + "]",  // bounds in no order
           "[" + four + ", " + EntryText("b", 2, 2, 1, "null") + "]",
           "[" + four + ", " + without(R"("name": "b", )") + "]",
           "[" + four + ", " + without(R"(, "channels": 1)") + "]",
           "[" + four + ", " + without(R"("low": -1, )") + "]",
           "[" + four + ", " + without(R"(, "high": 2.5)") + "]",
           "[" + four +
               R"(, {"name": 4, "height": 1, "width": 1, "channels": 4, "low": 0, "high": 1}])",
           "[" + four +
               R"(, {"name": "b", "height": 1, "width": 1, "channels": 4.0, "low": 0, "high": 1}])",
       }) {
    EXPECT_FALSE(Reads(WithEntries(entries))) << entries;
  }
  const std::string both = "[" + four + ", " + b + "]";
  EXPECT_FALSE(Reads(WithEntries(both, R"("channels": 8, "bytes": true)")));
  std::string line = WithEntries(both);
  EXPECT_FALSE(Reads(line.replace(line.find("\"width\": 1"), 10, "\"width\": 2")));
}

TEST(WorkerSpec, EntriesAreLimited) {
  const auto many = [](int count) {
    std::string entries;
    for (int i = 0; i < count; ++i) {
      entries += (i > 0 ? ", " : "") + EntryText(std::to_string(i), 1, 1, 1);
    }
    return WithEntries("[" + entries + "]",
                       fmt::format(R"("channels": {}, "bytes": false)", count));
  };
  EXPECT_TRUE(Reads(many(kMaxEntries)));
  EXPECT_FALSE(Reads(many(kMaxEntries + 1)));
}

EnvSpec ReadWithActions(const std::string& actions) {
  std::string mistake;
  const auto spec = ReadWorkerSpec(WithActions(actions), "x", mistake);
  EXPECT_TRUE(spec.has_value()) << actions;
  return spec ? spec->env : EnvSpec{};
}

TEST(WorkerSpec, SaysTheKindOfActions) {
  EnvSpec spec = ReadWithActions(R"({"counts": [3, 2], "names": [], "masked": true})");
  EXPECT_EQ(spec.actions.counts, (std::vector<std::int32_t>{3, 2}));
  EXPECT_TRUE(spec.actions.masked);
  EXPECT_THAT(spec.action_names, testing::IsEmpty());
  EXPECT_EQ(spec.row(), 24u + 5u);
  spec = ReadWithActions(R"({"low": [-2, null], "high": [2, 0.5]})");
  EXPECT_EQ(spec.actions, ActionSpace::Box({-2, -kNoBound}, {2, 0.5f}));
  spec = ReadWithActions(R"({"counts": [2], "names": [], "masked": false})");
  EXPECT_THAT(spec.action_names, testing::ElementsAre("0", "1")) << "a single choice has names";
}

TEST(WorkerSpec, MalformedActionsAreRefused) {
  for (
      const char* actions : {
          "[]",
          "2",
          "null",
          "{}",
          R"({"counts": [], "names": [], "masked": false})",
          R"({"counts": 2, "names": [], "masked": false})",
          R"({"counts": [0], "names": [], "masked": false})",
          R"({"counts": [2, -1], "names": [], "masked": false})",
          R"({"counts": [2.0], "names": [], "masked": false})",
          R"({"counts": ["2"], "names": [], "masked": false})",
          R"({"counts": [65537], "names": [], "masked": false})",
          R"({"counts": [65536, 1], "names": [], "masked": false})",  // together too many
          R"({"counts": [9223372036854775807, 9223372036854775807], "names": [], "masked": false})",
          R"({"counts": [2], "names": [], "masked": 0})",
          R"({"counts": [2], "names": []})",
          R"({"counts": [2], "masked": false})",
          R"({"counts": [2], "names": "ab", "masked": false})",
          R"({"counts": [2], "names": [1, 2], "masked": false})",
          R"({"counts": [2], "names": ["a"], "masked": false})",
          R"({"counts": [1, 1], "names": ["a", "b"], "masked": false})",
          R"({"low": [], "high": []})",
          R"({"low": [0]})",
          R"({"high": [0]})",
          R"({"low": [0, 0], "high": [1]})",
          R"({"low": [1], "high": [0]})",
          R"({"low": ["0"], "high": [1]})",
          R"({"low": [0], "high": [1e39]})",  // no float
          R"({"low": 0, "high": 1})",
      }) {
    EXPECT_FALSE(Reads(WithActions(actions))) << actions;
  }
  EXPECT_TRUE(Reads(WithActions(R"({"counts": [65535, 1], "names": [], "masked": false})")));
}

// kMaxRowNumbers holds with the mask.
TEST(WorkerSpec, AMaskIsAPartOfTheFrame) {
  const auto line = [](const std::string& height, const std::string& masked) {
    return R"({"height": )" + height +
           R"(, "width": 1, "channels": 1, "bytes": true, "low": 0, "high": 1, "lives": false,)"
           R"( "actions": {"counts": [2], "names": [], "masked": )" +
           masked + "}}";
  };
  EXPECT_TRUE(Reads(line("67108864", "false")));
  EXPECT_FALSE(Reads(line("67108864", "true")));
  EXPECT_TRUE(Reads(line("67108862", "true")));
}

TEST(WorkerSpec, EveryKindOfActionsIsReadAsItWasWritten) {
  ActionSpace masked = ActionSpace::Choices({3, 1, 4});
  masked.masked = true;
  const std::vector<ActionSpace> spaces = {
      masked, ActionSpace::Choices({2, 2}),
      ActionSpace::Box({-0.1f, -kNoBound, 0}, {0.1f, kNoBound, std::nextafter(0.0f, 1.0f)})};
  for (const ActionSpace& actions : spaces) {
    FrameSpec spec{.env = {.name = "x", .actions = actions, .action_names = {}}};
    std::string mistake;
    const auto again = ReadWorkerSpec(WorkerSpecLine(spec), "x", mistake);
    ASSERT_TRUE(again.has_value());
    EXPECT_TRUE(SameSpec(*again, spec));
    spec.env.actions = ActionSpace::Choices({3, 1});
    EXPECT_FALSE(SameSpec(*again, spec));
  }
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
