#include "core/config/config_schema.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

namespace starling {
namespace {

// A key whose rule and member do not fit would throw from std::visit or std::get in front of the
// user.
TEST(ConfigSchema, EveryRuleFitsItsMember) {
  for (const ConfigKey& key : ConfigSchema()) {
    const bool fits = std::visit(
        [&]<class Member>(Member) {
          if constexpr (std::is_same_v<Member, WordMember>) {
            return std::holds_alternative<WordRule>(key.rule);
          } else if constexpr (std::is_same_v<Member, MemberOf<std::string>>) {
            return std::holds_alternative<TextRule>(key.rule);
          } else if constexpr (std::is_same_v<Member, MemberOf<bool>>) {
            return std::holds_alternative<FlagRule>(key.rule);
          } else if constexpr (std::is_same_v<Member, MemberOf<double>>) {
            return std::holds_alternative<NumberRule>(key.rule);
          } else if constexpr (std::is_same_v<Member, MemberOf<std::vector<std::int64_t>>>) {
            return std::holds_alternative<ListRule>(key.rule);
          } else if constexpr (std::is_same_v<Member, MemberOf<std::vector<std::string>>>) {
            return std::holds_alternative<TextListRule>(key.rule);
          } else {
            return std::holds_alternative<IntegerRule>(key.rule);
          }
        },
        key.member);
    EXPECT_TRUE(fits) << key.name();
  }
}

TEST(ConfigSchema, NoKeyTwiceAndSectionsInOnePiece) {
  std::set<std::string> names;
  for (const ConfigKey& key : ConfigSchema()) {
    EXPECT_TRUE(names.insert(key.name()).second) << key.name();
    EXPECT_EQ(FindConfigKey(key.section, key.key), &key);
  }
  const auto sections = ConfigSections();
  EXPECT_EQ(std::set<std::string>(sections.begin(), sections.end()).size(), sections.size());
  EXPECT_EQ(FindConfigKey("run", "count"), nullptr);
  EXPECT_THAT(ConfigKeysOf("run"),
              testing::ElementsAre("name", "seed", "steps", "until_return", "dir", "init_from",
                                   "metrics_s", "tensorboard"));
}

TEST(ConfigSchema, RulesInWords) {
  EXPECT_EQ(Allowed(IntegerRule{1, 1024, "auto"}), "an integer from 1 to 1024 or \"auto\"");
  EXPECT_EQ(Allowed(NumberRule{.low = 0, .high = 1, .high_open = true}),
            "a number from 0 to below 1");
  EXPECT_EQ(Allowed(NumberRule{.low = -1, .high = 1, .word = "never"}),
            "a number from -1 to 1 or \"never\"");
  EXPECT_EQ(Allowed(WordRule{{"a", "b", "c"}}), "\"a\", \"b\" or \"c\"");
}

TEST(Endpoint, OnlyTheThreeShapes) {
  for (const char* good : {"auto", "ipc:///run/x", "ipc://relative", "tcp://127.0.0.1:0",
                           "tcp://host.example:65535", "tcp://*:5555", "tcp://[::1]:7000"}) {
    EXPECT_TRUE(LooksLikeEndpoint(good)) << good;
  }
  for (const char* bad : {"", "Auto", "ipc://", "tcp://", "tcp://host", "tcp://:5",
                          "tcp://host:", "tcp://host:65536", "tcp://host:-1", "tcp://host:5x",
                          "udp://host:5", "127.0.0.1:5", "tcp://host:000000005", "ipc://a\nb"}) {
    EXPECT_FALSE(LooksLikeEndpoint(bad)) << bad;
  }
  EXPECT_TRUE(LooksLikeEndpoint("ipc://" + std::string(107, 'p')));
  EXPECT_FALSE(LooksLikeEndpoint("ipc://" + std::string(108, 'p')));
}

}  // namespace
}  // namespace starling
