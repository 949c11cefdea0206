// An actor's own settings, beside those of the run's configuration.
#include "actors/own_settings.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <optional>
#include <string>

#include "tests/support/error_of.h"

namespace starling::actors {
namespace {

using testing::HasSubstr;

Config RunsConfig() {
  return ParseConfig("", "test.toml", {"actors.envs_per_actor=32", "actors.unroll=100"});
}

TEST(WithOwn, ItsOwnEnvs) {
  const Config config = WithOwn(RunsConfig(), {.envs = 8}, true);
  EXPECT_EQ(config.samples_per_gradient(), 800);
  Config expected = RunsConfig();
  expected.actors.envs_per_actor = 8;
  EXPECT_EQ(config, expected);
}

TEST(WithOwn, ItsOwnBackend) {
  EXPECT_EQ(WithOwn(RunsConfig(), {.backend = DeviceChoice::kCuda}, true).actors.backend,
            DeviceChoice::kCuda);
  Config gpu = RunsConfig();
  gpu.actors.backend = gpu.actors.env_device = DeviceChoice::kCuda;
  EXPECT_EQ(WithOwn(gpu, {.backend = DeviceChoice::kCpu}, true), RunsConfig())
      << "games on a GPU need a net there";
}

TEST(WithOwn, NoMoreSamplesThanAGradientMayHave) {
  EXPECT_EQ(WithOwn(RunsConfig(), {.envs = 10'000}, true).samples_per_gradient(), kMaxSamples);
  EXPECT_THAT(ErrorOf([] { WithOwn(RunsConfig(), {.envs = 10'001}, true); }),
              testing::AllOf(HasSubstr("--envs 10001 contradicts actors.unroll = 100"),
                             HasSubstr("at most 1000000")));
}

TEST(WithOwn, AsManyEnvsInEveryMinibatch) {
  Config config = RunsConfig();
  config.updates.minibatches = 4;
  EXPECT_EQ(WithOwn(config, {.envs = 12}, true).samples_per_gradient(), 3 * config.actors.unroll);
  EXPECT_THAT(ErrorOf([&] { WithOwn(config, {.envs = 6}, true); }),
              testing::AllOf(HasSubstr("--envs 6 contradicts updates.minibatches = 4"),
                             HasSubstr("a multiple of 4")));
}

TEST(WithOwn, AsManySamplesInEveryMinibatch) {
  Config config = RunsConfig();
  config.updates.shuffle = Shuffle::kSamples;
  config.updates.minibatches = 3 * config.actors.unroll;
  EXPECT_EQ(WithOwn(config, {.envs = 6}, true).samples_per_gradient(), 2);
  EXPECT_THAT(ErrorOf([&] { WithOwn(config, {.envs = 4}, true); }),
              HasSubstr("all minibatches have equally many samples, so take a multiple of 3"));
}

TEST(ParseOwnEnv, OnlyTheKeysThatChooseCode) {
  const OwnEnv own = ParseOwnEnv({"env.name=plugin:./x.so", "env.python=/opt/py"});
  EXPECT_EQ(own.name, "plugin:./x.so");
  EXPECT_EQ(own.python, "/opt/py");
  EXPECT_EQ(own.options, std::nullopt);
  EXPECT_THAT(ErrorOf([] { ParseOwnEnv({"actors.unroll=7"}); }),
              HasSubstr("--set actors.unroll: an actor's own keys are env.name"));
  EXPECT_THAT(ErrorOf([] { ParseOwnEnv({"env.nme=catch"}); }), HasSubstr("env.nme"));
}

// The environment of an actor. `welcome`, `own`, `run`: name, python, options.
struct EnvCase {
  const char* what;
  std::array<const char*, 3> welcome;
  OwnEnv own;
  std::optional<OwnEnv> run;
  std::array<const char*, 3> proven, unproven;  // {}: refused
};

TEST(WithOwn, ALearnerThatIsNotProvenChoosesNoCode) {
  const OwnEnv gym = {"gym:Mine-v0", "/my/python", "{}"};
  const EnvCase cases[] = {
      {"bundled", {"catch", "auto", ""}, {}, {}, {"catch", "auto", ""}, {"catch", "auto", ""}},
      {"a plug-in", {"plugin:x.so", "auto", ""}, {}, {}, {"plugin:x.so", "auto", ""}, {}},
      {"Python", {"gym:X-v0", "/x", "{1}"}, {}, {}, {"gym:X-v0", "/x", "{1}"}, {}},
      {"bundled, with Python",
       {"catch", "/x", "{1}"},
       {},
       {},
       {"catch", "/x", "{1}"},
       {"catch", "auto", ""}},
      {"a name of its own",
       {"gym:X-v0", "/x", "{1}"},
       {.name = "gym:Mine-v0"},
       {},
       {"gym:Mine-v0", "/x", "{1}"},
       {"gym:Mine-v0", "auto", ""}},
      {"an interpreter of its own",
       {"gym:X-v0", "/x", ""},
       {.python = "/my/python"},
       {},
       {"gym:X-v0", "/my/python", ""},
       {}},
      {"of the run directory",
       {"gym:X-v0", "/x", "{1}"},
       {},
       gym,
       {"gym:X-v0", "/x", "{1}"},
       {"gym:Mine-v0", "/my/python", "{}"}},
      {"its own before the run directory",
       {"catch", "/x", ""},
       {.name = "plugin:y.so"},
       gym,
       {"plugin:y.so", "/x", ""},
       {"plugin:y.so", "/my/python", "{}"}}};
  for (const EnvCase& c : cases) {
    Config config = RunsConfig();
    config.env.name = c.welcome[0], config.env.python = c.welcome[1],
    config.env.options = c.welcome[2];
    OwnSettings own{.env = c.own};
    if (c.run) own.run_dir_env = [&] { return *c.run; };
    for (const bool proven : {true, false}) {
      const auto& expected = proven ? c.proven : c.unproven;
      EnvConfig env;
      const std::string error = ErrorOf([&] { env = WithOwn(config, own, proven).env; });
      if (!expected[0]) {
        EXPECT_THAT(error, testing::AllOf(HasSubstr(c.welcome[0]), HasSubstr("--set env.name"),
                                          HasSubstr("keys")))
            << c.what;
        continue;
      }
      EXPECT_THAT((std::array{env.name, env.python, env.options}),
                  testing::ElementsAre(expected[0], expected[1], expected[2]))
          << c.what << (proven ? ", proven" : ", not proven") << error;
    }
  }
}

}  // namespace
}  // namespace starling::actors
