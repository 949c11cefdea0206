// Version 2 of envs/plugin.h: its tables, and how their envs play.
#include <gmock/gmock.h>

#include <cmath>
#include <cstddef>
#include <cstring>
#include <functional>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "envs/bridge/plugin_library.h"
#include "envs/plugin.hpp"
#include "tests/envs/bridge/plugin_fixture.h"
#include "tests/envs/bridge/plugins/levers.h"
#include "tests/support/error_of.h"

namespace starling::envs {
namespace {

using testing::ElementsAre;
using testing::EndsWith;
using testing::HasSubstr;

constexpr float kEndless = std::numeric_limits<float>::infinity();

using TableChange = std::function<void(starling_env_v2&)>;

starling_env_v2 WithChange(const TableChange& change) {
  starling_env_v2 table = *levers_table();
  change(table);
  return table;
}
PluginLibrary Checked(const TableChange& change) {
  const starling_env_v2 table = WithChange(change);
  return CheckPluginTable("x", &table);
}
std::string TableRefusal(const TableChange& change) {
  return ErrorOf([&] { Checked(change); });
}

// Makes the action a point of a box of `low` and `high`.
template <std::size_t n>
void MakeBox(starling_env_v2& table, const float (&low)[n], const float (&high)[n]) {
  table.action_kind = STARLING_BOX;
  table.num_actions = n;
  table.counts = nullptr;
  table.mask = nullptr;
  table.action_low = low;
  table.action_high = high;
}

TEST(CheckSecondTable, TakesChoicesAMaskAndEntries) {
  const PluginLibrary library = Checked([](starling_env_v2&) {});
  const EnvSpec& spec = library.spec.env;
  EXPECT_EQ(spec.name, "plugin:x");
  EXPECT_THAT(spec.entries, ElementsAre(ObservationEntry{"panel", 2, 3, 1, 0, 1},
                                        ObservationEntry{"clock", 1, 1, 2, -1, 11}));
  EXPECT_THAT((std::vector{spec.height, spec.width, spec.channels}), ElementsAre(1, 1, 8));
  EXPECT_EQ(spec.low, -1);
  EXPECT_EQ(spec.high, 11);
  ActionSpace space = ActionSpace::Choices({3, 2});
  space.masked = true;
  EXPECT_EQ(spec.actions, space);
  EXPECT_THAT(spec.action_names, testing::IsEmpty());
  EXPECT_EQ(spec.row(), 13u);
  EXPECT_FALSE(library.spec.lives);
  EXPECT_TRUE(library.spec.saves);
}

TEST(CheckSecondTable, OneEntryIsAPlainObservation) {
  static const starling_entry kNamed = {"panel", 4, 2, 1, 0, 3};
  starling_entry one = kNamed;
  for (const char* name : {kNamed.name, static_cast<const char*>(nullptr)}) {
    one.name = name;
    const EnvSpec spec = Checked([&](starling_env_v2& table) {
                           table.num_entries = 1;
                           table.entries = &one;
                         }).spec.env;
    EXPECT_THAT(spec.entries, testing::IsEmpty());
    EXPECT_THAT((std::vector{spec.height, spec.width, spec.channels}), ElementsAre(4, 2, 1));
    EXPECT_EQ(spec.high, 3);
  }
}

TEST(CheckSecondTable, AChoiceWithoutNamesHasNumbers) {
  static const std::int32_t kThree[] = {3};
  static const char* const kNames[] = {"a", "b", "c"};
  const auto names = [](const char* const* list) {
    return Checked([&](starling_env_v2& table) {
             table.num_actions = 1;
             table.counts = kThree;
             table.action_names = list;
           })
        .spec.env.action_names;
  };
  EXPECT_THAT(names(nullptr), ElementsAre("0", "1", "2"));
  EXPECT_THAT(names(kNames), ElementsAre("a", "b", "c"));
}

TEST(CheckSecondTable, ABoxMayBeEndlessOrAPoint) {
  static const float kLow[] = {-kEndless, 2, -1}, kHigh[] = {kEndless, 2, kEndless};
  const EnvSpec spec =
      Checked([](starling_env_v2& table) { MakeBox(table, kLow, kHigh); }).spec.env;
  EXPECT_EQ(spec.actions, ActionSpace::Box({-kEndless, 2, -1}, {kEndless, 2, kEndless}));
  EXPECT_FALSE(spec.actions.masked);
  EXPECT_THAT(spec.action_names, testing::IsEmpty());
}

TEST(CheckSecondTable, RefusesWhatIsNotFilledIn) {
  EXPECT_THAT(TableRefusal([](auto& t) { t.struct_size -= 8; }),
              HasSubstr("at least " + std::to_string(sizeof(starling_env_v2)) +
                        " are needed: set it to sizeof(starling_env_v2)"));
  EXPECT_THAT(TableRefusal([](auto& t) { t.step = nullptr; }), HasSubstr("\"step\" is null"));
  EXPECT_THAT(TableRefusal([](auto& t) { t.observe = nullptr; }), HasSubstr("\"observe\" is null"));
  EXPECT_THAT(TableRefusal([](auto& t) { t.save = nullptr; }), HasSubstr("save and restore"));
  EXPECT_THAT(TableRefusal([](auto& t) { t.name = ""; }),
              HasSubstr("its name must be a text of 1 to"));
}

TEST(CheckSecondTable, RefusesEntriesThatAreNone) {
  const auto refusal = [](const std::vector<starling_entry>& entries) {
    return TableRefusal([&](starling_env_v2& table) {
      table.num_entries = static_cast<std::int32_t>(entries.size());
      table.entries = entries.data();
    });
  };
  const starling_entry good = {"a", 1, 1, 1, 0, 1};
  EXPECT_THAT(refusal({}), HasSubstr("num_entries is 0: it must be from 1 to 256"));
  EXPECT_THAT(refusal(std::vector(257, good)), HasSubstr("num_entries is 257"));
  EXPECT_THAT(TableRefusal([](auto& t) { t.entries = nullptr; }),
              HasSubstr("entries is null: it must hold its 2 entries"));
  EXPECT_THAT(refusal({good, {nullptr, 1, 1, 1, 0, 1}}),
              HasSubstr("the name of entry 1 must be a text of 1 to 63 bytes of UTF-8"));
  EXPECT_THAT(refusal({{"", 1, 1, 1, 0, 1}}), HasSubstr("the name of entry 0 must be"));
  EXPECT_THAT(refusal({good, good}), HasSubstr("two entries are called \"a\": give each"));
  EXPECT_THAT(refusal({good, {"b", 1, 0, 3, 0, 1}}),
              HasSubstr("height, width and channels of \"b\" are 1, 0 and 3: each must be at"));
  EXPECT_THAT(refusal({{nullptr, 1, 0, 3, 0, 1}}), HasSubstr("channels are 1, 0 and 3: each"));
  EXPECT_THAT(refusal({good, {"b", 1, 1, 3, 2, 2}}),
              HasSubstr("low and high of \"b\" are 2 and 2: both must be finite and low below"));
  EXPECT_THAT(refusal({good, {"b", 1, 1, 3, -kEndless, 2}}), HasSubstr("are -inf and 2"));
  // Each fits, not all together with the mask of 5.
  const starling_entry half = {"b", 1 << 15, 1 << 10, 1, 0, 1};
  EXPECT_THAT(
      refusal({good, half, {"c", 1 << 15, 1 << 10, 1, 0, 1}}),
      EndsWith("its entries are 67108865 values and its mask 5: together at most 67108864"));
  EXPECT_THAT(refusal({{nullptr, 1, 1, (1 << 26) - 5, 0, 1}}), "");
  EXPECT_THAT(refusal({{nullptr, 1, 1, (1 << 26) - 4, 0, 1}}), HasSubstr("67108860 values"));
}

TEST(CheckSecondTable, RefusesChoicesThatAreNone) {
  const auto refusal = [](const std::vector<std::int32_t>& counts) {
    return TableRefusal([&](starling_env_v2& table) {
      table.num_actions = static_cast<std::int32_t>(counts.size());
      table.counts = counts.data();
    });
  };
  EXPECT_THAT(TableRefusal([](auto& t) { t.action_kind = 7; }),
              HasSubstr("its action_kind is 7, neither STARLING_CHOICES nor STARLING_BOX"));
  EXPECT_THAT(refusal({}), HasSubstr("num_actions is 0: it must be from 1 to 65536"));
  EXPECT_THAT(TableRefusal([](auto& t) { t.num_actions = 65537; }),
              HasSubstr("num_actions is 65537"));
  EXPECT_THAT(TableRefusal([](auto& t) { t.counts = nullptr; }),
              HasSubstr("counts is null: it must hold the number of values of its 2 choices"));
  EXPECT_THAT(refusal({3, 0}), HasSubstr("counts[1] is 0: each must be at least 1, and all"));
  EXPECT_THAT(refusal({65530, 6}), "");
  EXPECT_THAT(refusal({65530, 7}), HasSubstr("counts[1] is 7"));
  EXPECT_THAT(refusal({2147483647, 2147483647}), HasSubstr("counts[0] is 2147483647"));
  static const char* const kNames[] = {"a", "b", "c", "d", "e"};
  EXPECT_THAT(TableRefusal([](auto& t) { t.action_names = kNames; }),
              HasSubstr("action_names is set, but an action is 2 choices"));
  static const char* const kBad[] = {"a", ""};
  EXPECT_THAT(TableRefusal([](auto& t) {
                t.num_actions = 1;
                t.counts = levers_counts + 1;
                t.action_names = kBad;
              }),
              HasSubstr("the name of action 1 must be a text"));
  static const float kNumber = 0;
  EXPECT_THAT(
      TableRefusal([](auto& t) { t.action_low = &kNumber; }),
      HasSubstr("action_low is set, which STARLING_CHOICES has no use for: it must be null"));
  EXPECT_THAT(TableRefusal([](auto& t) { t.action_high = &kNumber; }),
              HasSubstr("action_high is set"));
}

TEST(CheckSecondTable, RefusesBoxesThatAreNone) {
  static const float kLow[] = {-1, -1}, kHigh[] = {1, 1};
  const auto refusal = [](const TableChange& change) {
    return TableRefusal([&](starling_env_v2& table) {
      MakeBox(table, kLow, kHigh);
      change(table);
    });
  };
  EXPECT_EQ(refusal([](auto&) {}), "");
  EXPECT_THAT(refusal([](auto& t) { t.action_low = nullptr; }),
              HasSubstr("action_low or action_high is null: both must hold the bounds of its 2"));
  EXPECT_THAT(refusal([](auto& t) { t.action_high = nullptr; }), HasSubstr("is null: both must"));
  EXPECT_THAT(refusal([](auto& t) { t.counts = levers_counts; }),
              HasSubstr("counts is set, which STARLING_BOX has no use for"));
  static const char* const kNames[] = {"a", "b"};
  EXPECT_THAT(refusal([](auto& t) { t.action_names = kNames; }), HasSubstr("action_names is set"));
  EXPECT_THAT(refusal([](auto& t) { t.mask = levers_mask; }), HasSubstr("mask is set, which"));
  const auto bounds = [&](float low, float high) {
    const float lows[] = {0, low}, highs[] = {0, high};
    return refusal([&](auto& t) { MakeBox(t, lows, highs); });
  };
  EXPECT_THAT(bounds(2, 1), HasSubstr("action_low and action_high of coordinate 1 are 2 and 1: low "
                                      "must be at most high, with a finite number between them"));
  EXPECT_THAT(bounds(std::nanf(""), 1), HasSubstr("are nan and 1"));
  EXPECT_THAT(bounds(0, std::nanf("")), HasSubstr("are 0 and nan"));
  EXPECT_THAT(bounds(kEndless, kEndless), HasSubstr("are inf and inf"));
  EXPECT_THAT(bounds(-kEndless, -kEndless), HasSubstr("are -inf and -inf"));
}

// The memory behind it is not its own. The sanitizer watches its end.
TEST(CheckSecondTable, ReadsNothingBehindItsEndAndTakesALongerOne) {
  starling_env_v2 table = *levers_table();
  std::vector<std::byte> bytes(sizeof table);
  std::memcpy(bytes.data(), &table, bytes.size());
  EXPECT_EQ(CheckPluginTable("x", bytes.data()).table.step, table.step);
  table.struct_size = 4096;
  EXPECT_EQ(CheckPluginTable("x", &table).table.step, table.step);
}

// Plays allowed values for at most 50 episodes until it fails; env 7.
std::string FailureWith(const TableChange& change) {
  return ErrorOf([&] {
    const auto library = std::make_shared<PluginLibrary>(Checked(change));
    std::vector<float> frame(library->spec.env.row());
    PluginEnv env(library, "env 7", 1);
    RandomStream random(StreamId{.seed = 4});
    std::vector<std::int32_t> action(2);
    for (int episode = 0; episode < 50; ++episode) {
      env.Reset(frame);
      do {
        DrawCommand(library->spec.env.actions, frame, random, action);
      } while (env.Step(action, frame).end == End::kRunning);
    }
  });
}

TEST(SecondPlugin, AMistakeInAMaskOrAnEntryIsNamed) {
  EXPECT_EQ(FailureWith([](auto&) {}), "");
  const auto with_mask = [](std::int32_t (*mask)(void*, std::uint8_t*)) {
    return FailureWith([mask](auto& t) { t.mask = mask; });
  };
  EXPECT_THAT(with_mask([](void*, std::uint8_t*) { return 1; }),
              EndsWith("plugin \"x\" (levers), env 7, step 0: mask failed: a lever broke"));
  EXPECT_THAT(with_mask([](void* env, std::uint8_t* allowed) {
                const std::uint8_t before = allowed[2];
                levers_mask(env, allowed);
                allowed[2] = before;
                return 0;
              }),
              EndsWith("byte 2 of the mask is 165, neither 0 nor 1 (or was not written)"));
  EXPECT_THAT(with_mask([](void* env, std::uint8_t* allowed) {
                levers_mask(env, allowed);
                allowed[5] = 1;
                return 0;
              }),
              EndsWith("step 0: mask wrote more than its 5 bytes"));
  EXPECT_THAT(with_mask([](void* env, std::uint8_t* allowed) {
                levers_mask(env, allowed);
                if (static_cast<levers*>(env)->steps == 2) allowed[3] = allowed[4] = 0;
                return 0;
              }),
              EndsWith("env 7, step 2: the mask forbids every value of choice 1: only an episode "
                       "that has terminated needs none"));
  EXPECT_THAT(FailureWith([](auto& t) {
                t.observe = [](void* env, float* values) {
                  levers_observe(env, values);
                  values[2] = -0.5f;  // the clock could show it
                  return 0;
                };
              }),
              EndsWith("step 0: observed value 2 of \"panel\" is -0.5, outside of 0 to 1"));
  EXPECT_THAT(FailureWith([](auto& t) {
                t.observe = [](void* env, float* values) {
                  const float before = values[7];
                  levers_observe(env, values);
                  values[7] = before;
                  return 0;
                };
              }),
              EndsWith("value 1 of \"clock\" is nan, which is not finite (or was not written)"));
}

// A truncated episode could go on: its mask must leave a choice.
TEST(SecondPlugin, OnlyATerminatedEpisodeMayForbidEverything) {
  const auto ending =
      [](std::int32_t (*step)(void*, const starling_action*, float*, std::int32_t*)) {
        return FailureWith([step](auto& t) { t.step = step; });
      };
  EXPECT_THAT(
      ending([](void* env, const starling_action* action, float* reward, std::int32_t* end) {
        levers_step(env, action, reward, end);
        if (*end != STARLING_RUNNING) *end = STARLING_TRUNCATED;
        return 0;
      }),
      HasSubstr("the mask forbids every value of choice 0"));
}

TEST(SecondPlugin, PlaysAsThePluginSays) {
  const auto library = std::make_shared<PluginLibrary>(Checked([](auto&) {}));
  PluginEnv env(library, "env 0", 1);
  std::vector<float> frame(13);
  env.Reset(frame);
  const std::vector<std::int32_t> move = {frame[1] == 1 ? 2 : 1, frame[3] == 1 ? 1 : 0};
  const FrameResult result = env.Step(move, frame);
  EXPECT_EQ(result.reward, move[0] == 1);
  const float first = move[0] == 1, up = move[1] == 1;
  EXPECT_THAT(frame, ElementsAre(0, first, 1 - first, 1 - up, up, 0, 1, 1 - first, 1, 1 - first,
                                 first, up, 1 - up));
}

// A class with `using Action = int` and numbers for names.
struct Numbered {
  static constexpr const char* kName = "numbered";
  static constexpr int kHeight = 1, kWidth = 1, kChannels = 1;
  static constexpr int kCounts[] = {3};
  int last = 0;
  void Reset(plugin::Random&) { last = 0; }
  plugin::Outcome Step(int action, plugin::Random&) {
    last = action;
    return {static_cast<float>(action), plugin::End::kRunning};
  }
  void Observe(float* values) const { values[0] = static_cast<float>(last) / 2; }
};

// One of before version 2, whose own Action, kEntries and Mask have other meanings.
struct OldNames {
  enum Action { kStay, kGo };
  static constexpr int kEntries = 5, kCounts = 7;
  static constexpr const char* kName = "old";
  static constexpr int kHeight = 1, kWidth = 1, kChannels = 2;
  static constexpr const char* kActions[] = {"stay", "go"};
  int Mask() const { return 3; }
  void Reset(plugin::Random&) {}
  plugin::Outcome Step(int, plugin::Random&) { return {}; }
  void Observe(float*) const {}
};

TEST(PluginHeader, AChoiceMayHaveNumbersForNames) {
  const auto library =
      std::make_shared<PluginLibrary>(CheckPluginTable("x", plugin::Exported<Numbered>::Table()));
  EXPECT_THAT(library->spec.env.action_names, ElementsAre("0", "1", "2"));
  EXPECT_FALSE(library->spec.saves);
  PluginEnv env(library, "env 0", 1);
  std::vector<float> frame(1);
  env.Reset(frame);
  EXPECT_EQ(env.Step(std::vector<std::int32_t>{2}, frame).reward, 2);
  EXPECT_EQ(frame[0], 1);
}

TEST(PluginHeader, AClassMayHaveOtherMembersOfTheNewNames) {
  const EnvSpec spec = CheckPluginTable("x", plugin::Exported<OldNames>::Table()).spec.env;
  EXPECT_EQ(spec.actions, ActionSpace::Choice(2));
  EXPECT_THAT(spec.action_names, ElementsAre("stay", "go"));
  EXPECT_THAT(spec.entries, testing::IsEmpty());
  EXPECT_EQ(spec.channels, 2);
}

TEST(PluginHeader, TakesSpacesAndEntriesFromTheClass) {
  const EnvSpec drift = LoadPlugin(PluginPath("drift")).spec.env;
  EXPECT_EQ(drift.actions, ActionSpace::Box({-0.5f, -kEndless}, {1, kEndless}));
  EXPECT_EQ(drift.low, -2);
  EXPECT_EQ(drift.channels, 3);
  const EnvSpec doors = LoadPlugin(PluginPath("doors")).spec.env;
  ActionSpace space = ActionSpace::Choices({4, 2});
  space.masked = true;
  EXPECT_EQ(doors.actions, space);
  EXPECT_THAT(doors.entries, ElementsAre(ObservationEntry{"open", 1, 4, 1, 0, 1},
                                         ObservationEntry{"me", 1, 1, 2, -1, 3}));
  EXPECT_EQ(doors.low, -1);
  EXPECT_EQ(doors.high, 3);
}

}  // namespace
}  // namespace starling::envs
