// ParseConfig reads back the text of ToToml.
#include "core/config/config_toml.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/config/config.h"
#include "core/config/config_schema.h"
#include "core/random.h"

namespace starling {
namespace {

using testing::HasSubstr;

std::string Again(const std::string& value) {
  return TomlText(*toml::parse("value = " + value).get("value"));
}

TEST(TomlTextTest, EveryTypeReadsBack) {
  for (const char* value : {"3", "-4", "true", "\"unbounded\"", "[64, 32]", "[]", "0.003", "2.0",
                            "[\"conv 16 3x3\", \"relu\"]", "[0.1, [1, 2]]"}) {
    EXPECT_EQ(Again(value), value);
  }
  EXPECT_EQ(Again("3e-3"), "0.003");
  EXPECT_EQ(Again("1e-5"), "1e-05");
  EXPECT_EQ(Again("1_000_000"), "1000000");
  EXPECT_EQ(Again("inf"), "inf");
  EXPECT_EQ(Again("'a \"b\" \\'"), Again("\"a \\\"b\\\" \\\\\"")) << "a backslash and quotes";
}

TEST(ToToml, LooksAsAPersonWouldWriteIt) {
  const std::string text = ToToml(ParseConfig("[actors]\ncount = 2\n", "hello.toml"));
  EXPECT_THAT(
      text, testing::StartsWith("[run]\nname = \"hello\"\nseed = 1\nsteps = 5000000\n"
                                "until_return = \"never\"\ndir = \"runs/hello\"\ninit_from = \"\"\n"
                                "metrics_s = 1.0\ntensorboard = true\n\n[env]\n"));
  EXPECT_THAT(text, HasSubstr("hidden = [128]\n"));
  EXPECT_THAT(text, HasSubstr("bound = \"unbounded\"\n"));
  EXPECT_THAT(text, HasSubstr("start_timeout_s = 30.0\n"));
  EXPECT_THAT(text, HasSubstr("lr = 0.003\n"));
  EXPECT_THAT(text, HasSubstr("bias_correction = true\n"));
}

TEST(ToToml, StringsSurviveWhateverTheyHold) {
  Config config = ParseConfig("[actors]\ncount = 2\n", "x.toml");
  config.run.name = "quote \" backslash \\ hash # bracket ] caf\xc3\xa9 tab-free";
  config.run.dir = "'''\"\"\"\\n";
  config.env.name = "plugin:a b";
  EXPECT_EQ(ParseConfig(ToToml(config), "other.toml"), config);
}

struct Shake {
  Config& config;
  const ConfigRule& rule;
  RandomStream& random;
  // A valid value of every member, its ends as likely as all between.
  void operator()(MemberOf<bool> member) const { member(config) = random.Below(2) == 1; }
  void operator()(WordMember member) const {
    const auto& words = std::get<WordRule>(rule).words;
    member.set(config, random.Below(static_cast<std::uint32_t>(words.size())));
  }
  void operator()(MemberOf<std::string> member) const {
    if (LooksLikeEndpoint(member(config))) {
      member(config) = "tcp://host:" + std::to_string(random.Below(65'536));
    } else if (LooksLikeAddress(member(config))) {
      member(config) = "10.0.0." + std::to_string(random.Below(256));
    } else {
      member(config) = "text " + std::to_string(random.Bits());
    }
  }
  template <class T>
  void operator()(MemberOf<T> member) const requires std::is_integral_v<T> {
    const auto& range = std::get<IntegerRule>(rule);
    const std::int64_t values[] = {range.low, range.low + 1, range.high};
    member(config) = static_cast<T>(values[random.Below(3)]);
    if (!range.word.empty() && range.word != "auto" && random.Below(3) == 0) {
      member(config) = static_cast<T>(range.word_value);
    }
  }
  void operator()(MemberOf<double> member) const {
    const auto& range = std::get<NumberRule>(rule);
    const double between = range.low + random.UniformDouble() * (range.high - range.low);
    const double tiny = range.low + (range.high - range.low) * 1e-12;
    const double values[] = {range.low_open ? between : range.low,
                             range.high_open ? between : range.high, between, tiny};
    member(config) = values[random.Below(4)];
    if (!range.word.empty() && random.Below(3) == 0) member(config) = range.word_value;
  }
  void operator()(MemberOf<std::vector<std::int64_t>> member) const {
    const auto& range = std::get<ListRule>(rule);
    member(config).assign(1 + random.Below(static_cast<std::uint32_t>(range.most)), range.high);
  }
  void operator()(MemberOf<std::vector<std::string>> member) const {
    member(config) = {"one", "quote \" and \\", std::to_string(random.Bits())};
  }
};

// Keys that could contradict each other are kept apart: this is about writing, not about the rules.
Config RandomConfig(RandomStream& random) {
  Config config;
  for (const ConfigKey& key : ConfigSchema()) {
    std::visit(Shake{config, key.rule, random}, key.member);
  }
  config.actors.count = 1024;
  if (config.actors.instructions == Instructions::kAuto) {
    config.actors.instructions = Instructions::kAvx2;  // "auto" depends on the machine
  }
  config.actors.envs_per_actor = config.actors.groups = 64;  // as many as stages, at least
  if (config.actors.backend == DeviceChoice::kCpu) {
    config.actors.env_device = DeviceChoice::kCpu;
    config.net.precision = Precision::kBf16;
  }
  config.updates.in_flight = config.staleness.bound == 0 ? 1 : config.updates.in_flight;
  config.updates.exchange = Exchange::kLearner;
  config.staleness.delay = kNoDelay;
  const bool hogwild = config.learner.apply == ApplyMode::kHogwild;
  if (config.staleness.bound == kUnbounded || hogwild) {
    config.staleness.correction = Correction::kNone;
  }
  config.net.kind = NetKind::kLayers;
  config.net.initial.clear();
  config.actors.command.clear();
  const bool exact = config.checkpoint.exact == Exactness::kTrue;
  if (config.learner.shards > 1 || exact) config.learner.apply = ApplyMode::kLanes;
  const bool staged = config.net.stages > 1;  // then one gradient an unroll, without a ratio
  config.loss.kind = staged ? LossKind::kA2c : LossKind::kPpo;
  if (staged) config.loss.value_clip = 0, config.loss.proximal = Proximal::kBehaviour;
  if (staged) config.updates.epochs = 1, config.net.critic = Critic::kShared;
  config.updates.minibatches = staged ? 1 : 64;
  config.optimizer.kind = OptimizerKind::kRmsProp;
  config.optimizer.warmup_steps = 1;
  config.loss.entropy = 1;
  config.loss.entropy_end = 0.5;
  config.env.max_pool = config.env.max_pool && config.env.repeat > 1;
  if (config.env.step_ms == 0) config.env.step_jitter = 0;
  config.staleness.deadline_s = 86'400;  // of at most 1,000 steps of a minute
  config.actors.unroll = 1000;
  config.wire.timeout_s = 86'400;
  return config;
}

TEST(ToToml, RandomConfigsSurviveTheRoundTrip) {
  RandomStream random({.seed = 1});
  for (int i = 0; i < 300; ++i) {
    const Config config = RandomConfig(random);
    const std::string text = ToToml(config);
    ASSERT_EQ(ParseConfig(text, "x.toml"), config) << text;
  }
}

TEST(Config, TwoThatDifferInOneKeyAreNotEqual) {
  RandomStream random({.seed = 2});
  for (const ConfigKey& key : ConfigSchema()) {
    if (const auto* words = std::get_if<WordRule>(&key.rule); words && words->words.size() < 2)
      continue;
    const Config before;
    Config after;
    for (int tries = 0; tries < 100 && after == before; ++tries) {
      std::visit(Shake{after, key.rule, random}, key.member);
    }
    EXPECT_FALSE(after == before) << key.name();
  }
}

TEST(DifferenceTest, NamesTheKeysThatCountAndBothValues) {
  const Config here = ParseConfig("", "here.toml");
  Config there = here;
  there.run.name = "another";
  there.run.dir = "elsewhere";
  EXPECT_EQ(Difference(there, here), "");
  there.optimizer.lr = 0.5;
  there.staleness.bound = 4;
  EXPECT_EQ(Difference(there, here),
            "optimizer.lr is 0.5 there and 0.003 here; staleness.bound is 4 there and "
            "\"unbounded\" here");
  const auto lr = [](const std::string& key) { return key == "optimizer.lr"; };
  EXPECT_EQ(Difference(there, here, lr), "optimizer.lr is 0.5 there and 0.003 here");
}

}  // namespace
}  // namespace starling
