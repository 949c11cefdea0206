// Every random stream of an actor's envs changes with a new life, that of each env by itself.
#include <gtest/gtest.h>

#include <functional>
#include <map>

#include "envs/paced.h"
#include "envs/registry.h"
#include "envs/sticky.h"
#include "envs/wrappers/wrapped.h"
#include "tests/envs/bridge/plugin_fixture.h"
#include "tests/envs/env_bench.h"
#include "tests/envs/wrappers/scripted_envs.h"

namespace starling::envs {
namespace {

constexpr int kEnvs = 3;
using Numbers = std::vector<double>;
using OfEachEnv = std::vector<Numbers>;

// What each env shows in 60 steps of action 1: a value, or nearly nothing in a box.
OfEachEnv Observed(const EnvConfig& config, const EnvSeed& seed) {
  EnvBench bench(MakeVecEnv(config, kEnvs, seed));
  OfEachEnv seen(kEnvs);
  for (int step = 0; step < 60; ++step) {
    bench.Step(std::vector<std::int32_t>(Words(bench.env->spec(), kEnvs), 1));
    for (std::size_t i = 0; i < kEnvs; ++i) {
      const float* const row = &bench.seen[i * bench.row];
      seen[i].insert(seen[i].end(), row, row + bench.row);
    }
  }
  return seen;
}

OfEachEnv Sticky(const EnvSeed& seed) {
  StickyActions sticky(kEnvs, seed, 0.5, ActionSpace::Choice(100));
  OfEachEnv played(kEnvs);
  for (int i = 0; i < kEnvs; ++i) {
    for (int step = 0; step < 60; ++step) {
      std::int32_t action = 0;
      sticky.Draw(i, {&step, 1}, {&action, 1});
      sticky.Played(i, {&action, 1});
      played[std::size_t(i)].push_back(action);
    }
  }
  return played;
}

// The frames before the first action of each of some episodes.
OfEachEnv Noops(const EnvSeed& seed) {
  EnvConfig config;
  config.noop_max = 30;
  EnvBench bench(std::make_unique<WrappedEnv>(std::make_unique<Scripted>(kEnvs, RepeatOf(config)),
                                              seed, config));
  OfEachEnv noops(kEnvs);
  for (int episode = 0; episode < 20; ++episode) {
    bench.env->Reset(bench.seen);
    for (std::size_t i = 0; i < kEnvs; ++i) noops[i].push_back(bench.seen[i * bench.row + 1]);
  }
  return noops;
}

OfEachEnv Durations(const EnvSeed& seed) {
  EnvConfig config;
  config.step_ms = 1;
  config.step_jitter = 1;
  Pace pace(config, 1, seed);
  Numbers durations;
  for (int step = 0; step < 20; ++step) durations.push_back(double(pace.NextStepNs()));
  return {durations};
}

EnvConfig Glider(bool isolate) {
  EnvConfig config{.name = std::string("plugin:") + STARLING_GLIDER};
  config.isolate = isolate;
  return config;
}

TEST(Life, ANewOneChangesEveryStream) {
  const std::map<std::string, std::function<OfEachEnv(const EnvSeed&)>> streams = {
      {"a game's", [](const EnvSeed& seed) { return Observed({.name = "dummy"}, seed); }},
      {"a game's of a box",
       [](const EnvSeed& seed) { return Observed({.name = "control/reach"}, seed); }},
      {"a game's below wrappers",
       [](const EnvSeed& seed) { return Observed({.name = "dummy", .stack = 2}, seed); }},
      {"a plug-in's", [](const EnvSeed& seed) { return Observed(Glider(false), seed); }},
      {"an isolated plug-in's", [](const EnvSeed& seed) { return Observed(Glider(true), seed); }},
      {"of sticky actions", Sticky},
      {"of no-ops", Noops},
      {"of the pace", Durations}};
  for (const auto& [name, draw] : streams) {
    const OfEachEnv first = draw({.seed = 5, .slot = 2, .life = 0});
    EXPECT_EQ(first, draw({.seed = 5, .slot = 2, .life = 0})) << name;
    for (const std::uint32_t life : {1u, 1u << 16, 1u << 31}) {
      const OfEachEnv next = draw({.seed = 5, .slot = 2, .life = life});
      for (std::size_t i = 0; i < first.size(); ++i) {
        EXPECT_NE(first[i], next[i]) << name << ", env " << i << ", life " << life;
      }
    }
  }
}

}  // namespace
}  // namespace starling::envs
