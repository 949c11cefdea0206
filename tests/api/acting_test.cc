// The C library's policies beside the player that evaluates runs: the same actions, bit for bit.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "actors/evaluator.h"
#include "actors/policy.h"
#include "core/action_space.h"
#include "envs/registry.h"
#include "tests/api/policy_fixture.h"

namespace starling::api {
namespace {

// Numbers and masks of rows of observations, as C takes them.
struct Split {
  Split(std::span<const float> rows, const envs::EnvSpec& spec) {
    for (std::size_t at = 0; at < rows.size(); at += spec.row()) {
      const auto row = rows.subspan(at, spec.row());
      const auto size = static_cast<std::size_t>(spec.obs_size());
      numbers.insert(numbers.end(), row.begin(), row.begin() + spec.obs_size());
      for (const float allowed : row.subspan(size)) mask.push_back(allowed != 0 ? 7 : 0);
    }
  }
  const std::uint8_t* masks() const { return mask.empty() ? nullptr : mask.data(); }

  std::vector<float> numbers;
  std::vector<std::uint8_t> mask;
};

struct Case {
  const char* name;
  std::vector<std::string> settings;
};
void PrintTo(const Case& c, std::ostream* out) { *out << c.name; }

class PolicyCases : public PolicyTest, public testing::WithParamInterface<Case> {
 protected:
  // Plays `steps` of `count` environments with our own policy and compares every number.
  void Compare(int count, bool greedy, int steps) {
    const auto n = static_cast<std::size_t>(count);
    const Handle theirs = Open(count, greedy);
    ASSERT_NE(theirs, nullptr);
    const auto env = envs::MakeVecEnv(config.env, count, {kSeed, actors::kPlayerSlot, 0});
    const ActionSpace& space = env->spec().actions;
    actors::Policy ours(config, env->spec(), weights, count, kSeed, greedy);
    const auto width = static_cast<std::size_t>(space.width());
    std::vector<std::int32_t> words(n * width), taken(n * width);
    std::vector<float> rewards(n), values(n),
        outputs(n * static_cast<std::size_t>(space.outputs()));
    std::vector<std::uint8_t> ends(n);
    env->Reset(ours.rows());
    for (int step = 0; step < steps; ++step) {
      // 1. Both act.
      const Split seen(ours.rows(), env->spec());
      ASSERT_EQ(starling_policy_act(theirs.get(), seen.numbers.data(), seen.masks(), taken.data()),
                STARLING_OK)
          << starling_error();
      ours.Act(words);
      // 2. What C is given.
      std::vector<std::int32_t> expected = words;
      for (std::size_t i = 0; space.box() && i < expected.size(); ++i) {
        const std::size_t k = i % width;
        expected[i] =
            WordOf(IntoBounds(FloatOf(words[i]), space.low[k], space.high[k], space.bounds));
      }
      ASSERT_EQ(taken, expected) << "step " << step;
      ASSERT_EQ(starling_policy_values(theirs.get(), values.data()), STARLING_OK);
      ASSERT_TRUE(std::ranges::equal(values, ours.values())) << "step " << step;
      ASSERT_EQ(starling_policy_outputs(theirs.get(), outputs.data()), STARLING_OK);
      ASSERT_TRUE(std::ranges::equal(outputs, ours.outputs())) << "step " << step;
      // 3. The environments move on.
      env->Step(words, ours.rows(), rewards, ends);
      std::ranges::copy(ends, ours.begins().begin());
      ASSERT_EQ(starling_policy_reset(theirs.get(), ends.data()), STARLING_OK);
    }
  }
};

TEST_P(PolicyCases, ActsAsAPlayer) {
  Save(GetParam().settings);
  for (const int envs : {1, 64}) {
    for (const bool greedy : {false, true}) {
      SCOPED_TRACE(envs);
      Compare(envs, greedy, envs == 1 ? 200 : 40);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(
    , PolicyCases,
    testing::Values(
        Case{"numbers", {"env.name=catch", "net.hidden=[32]"}},
        Case{"pictures", {"env.name=minatar/breakout", "env.stack=2"}},
        Case{"normalised",
             {"env.name=control/reach", "net.kind=mlp", "env.normalize_observations=true"}},
        Case{"box_clipped", {"env.name=control/reach", "net.kind=mlp", "net.hidden=[32]"}},
        Case{"box_squashed", {"env.name=control/reach", "net.kind=mlp", "env.action_bounds=tanh"}},
        Case{"masked", {"env.name=control/steer", "net.kind=mlp", "net.hidden=[16]"}},
        Case{"memory", {"env.name=memory/recall", "net.layers=[\"linear 8\", \"lstm 8\"]"}},
        Case{"two_memories",
             {"env.name=memory/recall", "net.layers=[\"gru 8\"]", "net.critic=separate"}}),
    [](const auto& of) { return std::string(of.param.name); });

// What `starling eval` computes, of the first episode in every environment.
class EvaluationTest : public PolicyTest, public testing::WithParamInterface<Case> {};

TEST_P(EvaluationTest, IsPlayedFromObservationsAlone) {
  Save(GetParam().settings);
  for (const int envs : {1, 64}) {
    const actors::EvalResult expected =
        actors::Evaluate(config, weights, {.episodes = envs, .greedy = false, .seed = kSeed});
    const Handle policy = Open(envs, false);
    const auto env = envs::MakeVecEnv(config.env, envs, {kSeed, actors::kPlayerSlot, 0});
    const auto n = static_cast<std::size_t>(envs);
    const auto width = static_cast<std::size_t>(env->spec().actions.width());
    std::vector<float> rows(n * env->spec().row()), rewards(n);
    std::vector<std::int32_t> actions(n * width);
    std::vector<std::uint8_t> ends(n);
    std::vector<double> returns(n, NAN);
    env->Reset(rows);
    for (std::size_t left = n; left > 0;) {
      const Split seen(rows, env->spec());
      ASSERT_EQ(
          starling_policy_act(policy.get(), seen.numbers.data(), seen.masks(), actions.data()),
          STARLING_OK);
      env->Step(actions, rows, rewards, ends);
      starling_policy_reset(policy.get(), ends.data());
      std::vector<envs::EpisodeEnd> ended;
      env->TakeEpisodes(ended);
      for (const auto& episode : ended) {
        double& first = returns[static_cast<std::size_t>(episode.env)];
        if (!std::isnan(first)) continue;
        first = episode.episode_return;
        --left;
      }
    }
    EXPECT_EQ(returns, expected.returns) << envs;
  }
}

INSTANTIATE_TEST_SUITE_P(
    Of, EvaluationTest,
    testing::Values(Case{"catch", {"env.name=catch", "net.hidden=[32]"}},
                    Case{"pictures", {"env.name=minatar/breakout"}},
                    Case{"masks", {"env.name=control/steer", "net.kind=mlp", "env.time_limit=60"}},
                    Case{"memory",
                         {"env.name=memory/recall", "net.kind=layers",
                          "net.layers=[\"linear 8\", \"lstm 8\"]"}}),
    [](const auto& of) { return std::string(of.param.name); });

}  // namespace
}  // namespace starling::api
