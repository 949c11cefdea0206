// The contract of every registered env (envs/env.h).
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "core/random.h"
#include "envs/registry.h"
#include "tests/envs/env_bench.h"

namespace starling::envs {
namespace {

constexpr std::int64_t kLongestRandomEpisode = 20000;

// An env played by a random policy in which env i has a stream of its own, so
// that its actions do not depend on how many envs there are.
struct EnvPlayer : EnvBench {
  EnvPlayer(const std::string& name, int num_envs, const EnvSeed& seed)
      : EnvBench(MakeVecEnv({.name = name}, num_envs, seed)) {
    for (std::uint32_t i = 0; i < envs(); ++i) {
      policies.push_back(RandomStream({.seed = 77, .env = i, .purpose = Purpose::kAction}));
    }
  }

  void Draw() {
    for (std::size_t i = 0; i < envs(); ++i) DrawAction(i, policies[i]);
  }
  void Step() {
    Draw();
    EnvBench::Step();
  }

  // All numbers of env i after a step.
  std::vector<float> Row(std::size_t i) const {
    std::vector<float> all(seen.begin() + static_cast<std::ptrdiff_t>(i * row),
                           seen.begin() + static_cast<std::ptrdiff_t>((i + 1) * row));
    all.push_back(rewards[i]);
    all.push_back(static_cast<float>(ends[i]));
    return all;
  }

  std::vector<RandomStream> policies;
};

class AnyEnv : public testing::TestWithParam<std::string> {
 protected:
  // Of an observed number.
  std::pair<float, float> BoundsOf(std::size_t number) const {
    for (const ObservationEntry& entry : spec_.entries) {
      const auto size = static_cast<std::size_t>(entry.size());
      if (number < size) return {entry.low, entry.high};
      number -= size;
    }
    return {spec_.low, spec_.high};
  }

  EnvSpec spec_ = SpecOf({.name = GetParam()});
};

TEST_P(AnyEnv, HasASpecThatIsWhole) {
  EXPECT_EQ(spec_.name, GetParam());
  EXPECT_GE(spec_.height, 1);
  EXPECT_GE(spec_.width, 1);
  EXPECT_GE(spec_.channels, 1);
  EXPECT_GE(spec_.actions.outputs(), 2);
  for (const std::int32_t count : spec_.actions.counts) EXPECT_GE(count, 1);
  EXPECT_EQ(spec_.action_names.size(),
            static_cast<std::size_t>(spec_.actions.one_choice() ? spec_.actions.values() : 0));
  EXPECT_LT(spec_.low, spec_.high);
  const auto env = MakeVecEnv({.name = GetParam()}, 5, {});
  EXPECT_EQ(env->size(), 5);
  EXPECT_EQ(env->spec().name, spec_.name);
  EXPECT_EQ(env->spec().obs_size(), spec_.obs_size());
  EXPECT_EQ(env->spec().actions, spec_.actions);
  EXPECT_EQ(env->spec().entries, spec_.entries);
}

TEST_P(AnyEnv, ItsEntriesFillTheObservation) {
  if (spec_.entries.empty()) return;
  EXPECT_GE(spec_.entries.size(), 2u);
  EXPECT_EQ(spec_.height * spec_.width, 1);
  int numbers = 0;
  std::set<std::string> names;
  for (const ObservationEntry& entry : spec_.entries) {
    numbers += entry.size();
    EXPECT_TRUE(names.insert(entry.name).second) << entry.name;
  }
  EXPECT_EQ(numbers, spec_.obs_size());
}

TEST_P(AnyEnv, WritesEveryValueAndKeepsThemInRange) {
  EnvPlayer player(GetParam(), 4, {.seed = 1});
  const auto check = [&](const char* when) {
    for (std::size_t i = 0; i < player.seen.size(); ++i) {
      const float value = player.seen[i];
      const std::size_t number = i % player.row;
      if (number < static_cast<std::size_t>(spec_.obs_size())) {
        const auto [low, high] = BoundsOf(number);
        ASSERT_TRUE(value >= low && value <= high) << value << " " << when;
      } else {
        ASSERT_TRUE(value == 0 || value == 1) << value << " in the mask " << when;
      }
    }
  };
  // Values that are not written stay NaN and are found.
  const auto forget = [&] { std::fill(player.seen.begin(), player.seen.end(), std::nanf("")); };
  check("after the construction's reset");
  forget();
  player.env->Reset(player.seen);
  check("after a reset");
  for (int step = 0; step < 500; ++step) {
    player.Draw();
    forget();
    player.EnvBench::Step();
    check("after a step");
    for (std::size_t i = 0; i < 4; ++i) {
      ASSERT_TRUE(std::isfinite(player.rewards[i]));
      ASSERT_LE(player.ends[i], 1);
    }
  }
}

TEST_P(AnyEnv, AllowsAValueOfEveryChoice) {
  if (!spec_.actions.masked) return;
  EnvPlayer player(GetParam(), 4, {.seed = 1});
  for (int step = 0; step < 500; ++step) {
    for (std::size_t i = 0; i < 4; ++i) {
      const float* mask = &player.seen[i * player.row] + spec_.obs_size();
      for (const std::int32_t count : spec_.actions.counts) {
        ASSERT_GT(std::count(mask, mask + count, 1.0f), 0) << "step " << step;
        mask += count;
      }
    }
    player.Step();
  }
}

TEST_P(AnyEnv, PlaysDifferentlyFromEveryPartOfTheSeed) {
  const EnvSeed seed{.seed = 5, .slot = 3, .life = 2};
  const EnvSeed others[] = {{.seed = 6, .slot = 3, .life = 2},
                            {.seed = 5, .slot = 4, .life = 2},
                            {.seed = 5, .slot = 3, .life = 3}};
  for (const EnvSeed& other_seed : others) {
    EnvPlayer one(GetParam(), 2, seed), other(GetParam(), 2, other_seed);
    bool differs = one.seen != other.seen;
    for (int step = 0; step < 500 && !differs; ++step) {
      one.Step();
      other.Step();
      differs = one.seen != other.seen;
    }
    EXPECT_TRUE(differs) << other_seed.seed << " " << other_seed.slot << " " << other_seed.life;
  }
}

TEST_P(AnyEnv, EnvsSideBySidePlayDifferently) {
  EnvPlayer player(GetParam(), 2, {});
  player.policies[1] = player.policies[0];
  bool differs = false;
  for (int step = 0; step < 500 && !differs; ++step) {
    player.Step();
    differs = player.Row(0) != player.Row(1);
  }
  EXPECT_TRUE(differs);
}

TEST_P(AnyEnv, DoesNotDependOnWhatRunsBeside) {
  EnvPlayer few(GetParam(), 3, {.seed = 8}), many(GetParam(), 7, {.seed = 8});
  for (int step = 0; step < 500; ++step) {
    few.Step();
    many.Step();
    for (std::size_t i = 0; i < 3; ++i) ASSERT_EQ(few.Row(i), many.Row(i)) << step << ", env " << i;
  }
}

TEST_P(AnyEnv, EndsUnderARandomPolicyAndCountsItsEpisodes) {
  constexpr int kNumEnvs = 3;
  EnvPlayer player(GetParam(), kNumEnvs, {.seed = 2});
  std::vector<double> returns(kNumEnvs);
  std::vector<std::int64_t> lengths(kNumEnvs);
  int ended = 0;
  std::vector<EpisodeEnd> ends;
  while (ended < 30) {
    player.Step();
    ends.clear();
    player.env->TakeEpisodes(ends);
    // Every terminal has an EpisodeEnd with the return and the length counted here.
    auto end = ends.begin();
    for (int i = 0; i < kNumEnvs; ++i) {
      const std::size_t at = static_cast<std::size_t>(i);
      returns[at] += player.rewards[at];
      ASSERT_LE(++lengths[at], kLongestRandomEpisode);
      if (!player.ends[at]) continue;
      ASSERT_NE(end, ends.end());
      EXPECT_EQ(end->env, i);
      EXPECT_NEAR(end->episode_return, returns[at], 1e-9);
      EXPECT_EQ(end->length, lengths[at]);
      ++end;
      returns[at] = 0;
      lengths[at] = 0;
      ++ended;
    }
    ASSERT_EQ(end, ends.end()) << "an end that no terminal announced";
  }
}

using AnyEnvDeathTest = AnyEnv;

TEST_P(AnyEnvDeathTest, AbortsOnAnActionThatIsNone) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EnvPlayer player(GetParam(), 2, {});
  const std::size_t width = Words(spec_);
  for (std::size_t k = 0; k < width; ++k) {
    std::array wrong = {WordOf(std::nanf("")), WordOf(INFINITY)};
    if (!spec_.actions.box()) wrong = {-1, spec_.actions.counts[k]};
    for (const std::int32_t word : wrong) {
      std::vector<std::int32_t> actions(2 * width);
      actions[width + k] = word;
      EXPECT_DEATH(player.env->Step(actions, player.seen, player.rewards, player.ends),
                   "action -?([0-9]+|nan|inf) of env 1");
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Envs, AnyEnv, testing::ValuesIn(EnvNames()), NameOfTest);
INSTANTIATE_TEST_SUITE_P(Envs, AnyEnvDeathTest, testing::ValuesIn(EnvNames()), NameOfTest);

}  // namespace
}  // namespace starling::envs
