// Every env that can be saved goes on from its state as if nothing had happened.
#include <gmock/gmock.h>

#include <fmt/format.h>

#include "core/error.h"
#include "envs/paced.h"
#include "envs/registry.h"
#include "tests/envs/bridge/plugin_fixture.h"
#include "tests/envs/state_fixture.h"
#include "tests/support/error_of.h"

namespace starling::envs {
namespace {

constexpr EnvSeed kSavedSeed{.seed = 5, .slot = 3, .life = 2};
constexpr EnvSeed kOtherSeed{.seed = 9, .slot = 1, .life = 7};
constexpr std::uint32_t kBefore = 203, kAfter = 620;  // steps

SavedEnv Of(const std::string& name, const EnvConfig& config) {
  return {name, [config](int num_envs, const EnvSeed& seed) {
            return MakeVecEnv(config, num_envs, seed);
          }};
}

struct NoSleep final : Sleeper {
  std::int64_t NowNs() const override { return now_; }
  void SleepUntilNs(std::int64_t ns) override { now_ = ns; }
  std::int64_t now_ = 0;
};

// Whether an observation is one array and no mask.
bool OneArray(const EnvConfig& config) {
  const EnvSpec spec = SpecOf(config);
  return !spec.actions.masked && spec.entries.empty();
}

// Each game bare and in every wrapper that it can have, and the other kinds of envs.
std::vector<SavedEnv> SavedEnvs() {
  std::vector<SavedEnv> envs;
  for (const std::string& name : EnvNames()) {
    envs.push_back(Of(PlainName(name), {.name = name}));
    EnvConfig wrapped{.name = name};
    wrapped.time_limit = 7;
    wrapped.reward_clip = 0.5;
    if (!SpecOf(wrapped).actions.masked) {
      wrapped.repeat = 3;
      wrapped.sticky_actions = 0.3;
      wrapped.noop_max = 5;
    }
    if (OneArray(wrapped)) {
      wrapped.max_pool = true;
      wrapped.stack = 3;
    }
    envs.push_back(Of(PlainName(name) + "_wrapped", wrapped));
  }
  envs.push_back(Of("pixels", {.name = "minatar/breakout", .pixels = true, .stack = 4}));
  EnvConfig minimal{.name = "minatar/asterix"};
  minimal.action_set = ActionSet::kMinimal;
  minimal.ramping = false;
  envs.push_back(Of("minimal", minimal));
  for (const bool isolate : {false, true}) {
    EnvConfig plugin{.name = std::string("plugin:") + STARLING_GLIDER, .sticky_actions = 0.3};
    plugin.isolate = isolate;
    plugin.per_process = 2;
    envs.push_back(Of(isolate ? "isolated" : "plugin", plugin));
    plugin.noop_max = 3;
    plugin.repeat = 3;
    plugin.max_pool = true;
    plugin.time_limit = 6;
    plugin.stack = 2;
    envs.push_back(Of(isolate ? "isolated_wrapped" : "plugin_wrapped", plugin));
  }
  for (const bool isolate : {false, true}) {
    EnvConfig hearts{.name = "plugin:" STARLING_PLUGINS "/hearts.so", .sticky_actions = 0.3};
    hearts.isolate = isolate;
    hearts.per_process = 2;
    hearts.repeat = 3;
    hearts.life_loss_ends = true;
    envs.push_back(Of(isolate ? "isolated_lives" : "plugin_lives", hearts));
  }
  for (const std::string name : {"levers", "drift"}) {
    envs.push_back(Of(name, {.name = "plugin:" STARLING_PLUGINS "/" + name + ".so"}));
  }
  envs.push_back({"paced", [](int num_envs, const EnvSeed& seed) -> std::unique_ptr<VecEnv> {
                    EnvConfig config{.name = "catch"};
                    config.step_ms = 3;
                    config.step_jitter = 0.5;
                    return std::make_unique<Paced>(
                        MakeVecEnv(config, num_envs, seed), Pace(config, 5, seed),
                        std::make_shared<PacedSimulator>(std::make_unique<NoSleep>()));
                  }});
  return envs;
}

class AnySavedEnv : public testing::TestWithParam<SavedEnv> {
 protected:
  RandomPlay Make(const EnvSeed& seed, int num_envs = 3) const {
    return RandomPlay(GetParam().make(num_envs, seed));
  }
};

TEST_P(AnySavedEnv, GoesOnFromItsStateInAFreshEnv) {
  RandomPlay one = Make(kSavedSeed), undisturbed = Make(kSavedSeed), other = Make(kOtherSeed);
  ASSERT_EQ(one.env->WhyNotSaved(), "");
  one.Play(0, kBefore);
  const State state = Saved(*one.env);
  EXPECT_EQ(Saved(*one.env), state);
  other.Play(0, 10);
  other.env->Restore(state);
  other.seen = one.seen;  // an observation is not a part of the state
  EXPECT_EQ(Saved(*other.env), state);
  EXPECT_TRUE(other.env->truncated().empty());

  const std::vector<double> after = one.Play(kBefore, kAfter);
  EXPECT_TRUE(other.Play(kBefore, kAfter) == after);
  undisturbed.Play(0, kBefore);
  EXPECT_TRUE(undisturbed.Play(kBefore, kAfter) == after) << "Save changed the env";
  EXPECT_EQ(Saved(*other.env), Saved(*one.env));
}

// In the middle of a list of episodes that are not yet taken.
TEST_P(AnySavedEnv, SavesEpisodesNotYetTaken) {
  RandomPlay one = Make(kSavedSeed), other = Make(kOtherSeed);
  std::vector<EpisodeEnd> ours, theirs;
  for (int step = 0; step < 40; ++step) one.Step();
  other.env->Restore(Saved(*one.env));
  one.env->TakeEpisodes(ours);
  other.env->TakeEpisodes(theirs);
  EXPECT_EQ(ours, theirs);
}

TEST_P(AnySavedEnv, CanBeSavedBeforeItsFirstStepOrReset) {
  auto one = GetParam().make(2, kSavedSeed), other = GetParam().make(2, kOtherSeed);
  other->Restore(Saved(*one));
  EXPECT_TRUE(RandomPlay(std::move(one)).Play(0, 50) == RandomPlay(std::move(other)).Play(0, 50));
}

TEST_P(AnySavedEnv, RefusesBytesThatAreNotItsState) {
  RandomPlay one = Make(kSavedSeed), four = Make(kSavedSeed, 4);
  one.Play(0, 50);
  const State state = Saved(*one.env);
  const auto refused = [&](const State& bytes) {
    EXPECT_THROW(one.env->Restore(bytes), StateError) << bytes.size() << " bytes";
  };
  for (const std::size_t size :
       {std::size_t{0}, std::size_t{31}, std::size_t{32}, state.size() / 2, state.size() - 1}) {
    refused({state.begin(), state.begin() + static_cast<std::ptrdiff_t>(size)});
  }
  State longer = state;
  longer.push_back({});
  refused(longer);
  for (std::size_t at = 0; at < state.size(); at += 1 + state.size() / 50) {
    State flipped = state;
    flipped[at] ^= std::byte{1};
    refused(flipped);
  }
  refused(Saved(*four.env));
  // It is whole all the same.
  one.env->Restore(state);
  EXPECT_EQ(Saved(*one.env), state);
}

// Forged bytes, with the right checksum, make no state in which play is undefined: the sanitizers
// watch.
TEST_P(AnySavedEnv, PlaysOnFromForgedBytesOrRefusesThem) {
  RandomPlay one = Make(kSavedSeed);
  one.Play(0, 60);
  const State state = Saved(*one.env);
  RandomStream random(StreamId{.seed = 3});
  int refused = 0;
  // The games are at the end.
  const auto changed =
      static_cast<std::uint32_t>(std::min<std::size_t>(state.size() - kStateFrameBytes, 1500));
  for (int trial = 0; trial < 60; ++trial) {
    State forged = state;
    for (int change = trial % 4; change >= 0; --change) {
      forged[state.size() - 1 - random.Below(changed)] = static_cast<std::byte>(random.Bits());
    }
    CloseStateFrame(forged, 0);
    try {
      one.env->Restore(forged);
    } catch (const StateError&) {
      ++refused;
      one.env->Reset(one.seen);
    }
    one.Play(0, 8);
  }
  EXPECT_GT(refused, 0);
}

INSTANTIATE_TEST_SUITE_P(Envs, AnySavedEnv, testing::ValuesIn(SavedEnvs()),
                         [](const auto& env) { return env.param.name; });

// A plug-in that fails costs the state, isolated or not; isolated it goes on.
TEST(SavedState, APlugInsFailureIsASentence) {
  const auto saving = [](const EnvConfig& config) {
    RandomPlay play(MakeVecEnv(config, 2, {}));
    std::string error = ErrorOf<StateError>([&] { Saved(*play.env); });
    if (config.isolate) play.Play(0, 20);
    return error;
  };
  for (const auto& make : {PluginNamed, +[](const std::string& name) { return Isolated(name); }}) {
    EXPECT_THAT(saving(make("wrong_save")), testing::HasSubstr("save failed: the dice fell"));
    EXPECT_THAT(saving(make("wrong_huge_state")),
                testing::HasSubstr("save asks for 1099511627776 bytes: at most 67108864"));
    RandomPlay play(MakeVecEnv(make("wrong_restore"), 2, {}));
    EXPECT_THAT(ErrorOf<StateError>([&] { play.env->Restore(Saved(*play.env)); }),
                testing::HasSubstr("restore failed: the dice fell"));
  }
  EXPECT_THAT(saving(Isolated("wrong_save_dies")),
              testing::HasSubstr("instead of saving its state"));
}

TEST(SavedState, WhoHasNoneSaysWhy) {
  EXPECT_EQ(WhyNotSaved({.name = "minatar/breakout", .stack = 4}), "");
  EXPECT_EQ(WhyNotSaved(Isolated("counter")), "");
  for (const EnvConfig& config : {PluginNamed("wrong_older"), Isolated("wrong_older")}) {
    const auto env = MakeVecEnv(config, 1, {});
    EXPECT_THAT(env->WhyNotSaved(), testing::HasSubstr("it has no functions save and restore"));
    EXPECT_EQ(env->WhyNotSaved(), WhyNotSaved(config));
    EXPECT_THROW(Saved(*env), StateError);
  }
  EXPECT_THAT(WhyNotSaved(FrameSpec{.env = {.name = "gym:CartPole-v1", .action_names = {}}}),
              testing::HasSubstr("played by Gymnasium, whose envs cannot be saved"));
}

// Runs of plug-ins that can be saved are replayed: their steps depend on seeds and actions alone.
TEST(SavedState, WhoseStepsAreNotRepeatedSaysWhy) {
  EXPECT_EQ(WhyNotRepeated({.name = "minatar/breakout", .stack = 4}), "");
  EXPECT_EQ(WhyNotRepeated(PluginNamed("counter")), "");
  EXPECT_THAT(WhyNotRepeated(PluginNamed("wrong_older")),
              testing::HasSubstr("so nothing says what its steps depend on"));
  EXPECT_THAT(WhyNotRepeated(Isolated("counter")), testing::HasSubstr("env.isolate: a process"));
  EXPECT_THAT(WhyNotRepeated({.name = "gym:CartPole-v1"}),
              testing::HasSubstr("the random numbers of gym:CartPole-v1 are not Starling's"));
}

TEST(SavedState, NamesTheDifference) {
  const auto catching = MakeVecEnv({.name = "catch"}, 2, {}),
             dummy = MakeVecEnv({.name = "dummy"}, 2, {});
  const auto three = MakeVecEnv({.name = "catch"}, 3, {});
  const State state = Saved(*catching);
  EXPECT_THAT(ErrorOf<StateError>([&] { dummy->Restore(state); }),
              testing::HasSubstr("has env.name = \"catch\", here it is \"dummy\""));
  EXPECT_THAT(ErrorOf<StateError>([&] { three->Restore(state); }),
              testing::HasSubstr("has envs = 2, here it is 3"));
  EXPECT_THAT(ErrorOf<StateError>([&] { three->Restore({}); }),
              testing::HasSubstr("0 bytes is too short"));
}

}  // namespace
}  // namespace starling::envs
