// The C library's policies beside the player that evaluates runs: the same actions, bit for bit.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <omp.h>
#include <pthread.h>
#include <signal.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstdint>
#include <filesystem>
#include <limits>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "actors/evaluator.h"
#include "actors/policy.h"
#include "api/starling.h"
#include "core/action_space.h"
#include "envs/registry.h"
#include "envs/spaces.h"
#include "tests/results/first_checkpoint.h"
#include "tests/support/temp_dir.h"

namespace starling::api {
namespace {

using testing::HasSubstr;

constexpr std::uint64_t kSeed = 11;

struct Close {
  void operator()(starling_policy* policy) const { starling_policy_close(policy); }
};
using Handle = std::unique_ptr<starling_policy, Close>;

// A checkpoint of config's net, with weights that tell observations apart.
class PolicyTest : public testing::Test {
 protected:
  void Save(std::vector<std::string> settings) {
    config = ParseConfig("", "test.toml", settings);
    learner::Checkpoint checkpoint = results::FirstCheckpoint(config);
    RandomStream random({.seed = 5});
    for (const net::Parameter& parameter : checkpoint.layout.parameters()) {
      if (parameter.name.ends_with(".sums")) continue;
      for (std::size_t i = 0; i < parameter.size; ++i) {
        checkpoint.weights[parameter.offset + i] = 0.4f * random.Normal();
      }
    }
    weights = checkpoint.weights;
    path = learner::WriteCheckpoint(dir / "checkpoints", checkpoint);
  }
  Handle Open(int envs, bool greedy, std::uint64_t seed = kSeed) {
    const starling_policy_options options{
        .size = sizeof(options), .envs = envs, .greedy = greedy, .seed = seed};
    starling_policy* policy = nullptr;
    EXPECT_EQ(starling_policy_open(path.c_str(), &options, &policy), STARLING_OK)
        << starling_error();
    return Handle(policy);
  }
  static starling_spaces SpacesOf(const Handle& policy) {
    starling_spaces spaces{};
    spaces.size = sizeof(spaces);
    EXPECT_EQ(starling_policy_spaces(policy.get(), &spaces), STARLING_OK);
    return spaces;
  }

  TempDir dir;
  Config config;
  std::vector<float> weights;
  std::filesystem::path path;
};

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

// ---- spaces

TEST_F(PolicyTest, SaysWhatItSeesAndDoes) {
  Save({"env.name=catch", "net.hidden=[32]"});
  const Handle policy = Open(3, false);
  const starling_spaces spaces = SpacesOf(policy);
  EXPECT_STREQ(spaces.env, "catch");
  EXPECT_EQ(spaces.envs, 3);
  EXPECT_EQ(spaces.numbers, 50);
  EXPECT_EQ(spaces.mask, 0);
  EXPECT_EQ(spaces.box, 0);
  EXPECT_EQ(spaces.width, 1);
  EXPECT_EQ(spaces.counts[0], 3);
  EXPECT_EQ(spaces.low, nullptr);
  EXPECT_STREQ(spaces.action_names[2], "right");
  EXPECT_EQ(spaces.outputs, 3);
  EXPECT_EQ(spaces.has_memory, 0);
  EXPECT_EQ(spaces.steps, 1000u);
  ASSERT_EQ(spaces.arrays, 1);
  starling_array array{};
  array.size = sizeof(array);
  ASSERT_EQ(starling_policy_array(policy.get(), 0, &array), STARLING_OK);
  EXPECT_STREQ(array.name, "observation");
  EXPECT_EQ(array.height, 10);
  EXPECT_EQ(array.width, 5);
  EXPECT_EQ(array.channels, 1);
  EXPECT_EQ(array.high, 1);
  EXPECT_EQ(starling_policy_array(policy.get(), 1, &array), STARLING_MISTAKE);
  EXPECT_STREQ(starling_error(), "index is 1: an observation has 1 arrays");
  EXPECT_THAT(starling_policy_config(policy.get()), HasSubstr("name = \"catch\""));
  EXPECT_EQ(starling_policy_checkpoint(policy.get()), path.string());
}

TEST_F(PolicyTest, OfABoxTheBoundsAreTold) {
  Save({"env.name=control/reach", "net.layers=[\"gru 4\"]"});
  const Handle policy = Open(0, true);
  const starling_spaces spaces = SpacesOf(policy);
  const ActionSpace box = envs::SpecOf(config.env).actions;
  EXPECT_EQ(spaces.envs, 1);
  EXPECT_EQ(spaces.box, 1);
  EXPECT_EQ(spaces.width, box.width());
  EXPECT_EQ(spaces.counts, nullptr);
  EXPECT_EQ(spaces.action_names, nullptr);
  EXPECT_EQ(spaces.low[1], box.low[1]);
  EXPECT_EQ(spaces.high[1], box.high[1]);
  EXPECT_EQ(spaces.outputs, 2 * box.width());
  EXPECT_EQ(spaces.has_memory, 1);
}

// Training on an environment in a plug-in that is not on this machine.
TEST_F(PolicyTest, NeedsNoEnvironment) {
  Save({"env.name=catch", "net.hidden=[32]"});
  learner::Checkpoint checkpoint = learner::ReadCheckpoint(path);
  const std::string name = "name = \"catch\"";
  const std::size_t at = checkpoint.config.find(name);
  ASSERT_NE(at, std::string::npos);
  checkpoint.config.replace(at, name.size(), "name = \"plugin:/gone/mine.so\"");
  path = learner::WriteCheckpoint(dir / "checkpoints", checkpoint);
  const Handle policy = Open(1, true);
  ASSERT_NE(policy, nullptr);
  EXPECT_STREQ(SpacesOf(policy).env, "plugin:/gone/mine.so");
  // One of an older program has to ask.
  checkpoint.spaces = "";
  path = learner::WriteCheckpoint(dir / "checkpoints", checkpoint);
  starling_policy* none = policy.get();
  EXPECT_EQ(starling_policy_open(path.c_str(), nullptr, &none), STARLING_MISTAKE);
  EXPECT_EQ(none, nullptr);
  EXPECT_THAT(starling_error(), HasSubstr("plugin:/gone/mine.so is not there any more"));
}

TEST_F(PolicyTest, DamagedSpacesAreNamed) {
  Save({"env.name=catch", "net.hidden=[32]"});
  learner::Checkpoint checkpoint = learner::ReadCheckpoint(path);
  checkpoint.spaces = "{\"height\": 0}";
  path = learner::WriteCheckpoint(dir / "checkpoints", checkpoint);
  starling_policy* policy = nullptr;
  EXPECT_EQ(starling_policy_open(path.c_str(), nullptr, &policy), STARLING_MISTAKE);
  EXPECT_EQ(starling_error(), path.string() + ": the spaces of catch are damaged: {\"height\": 0}");
}

// ---- memory and draws

class MemoryTest : public PolicyTest {
 protected:
  MemoryTest() {
    Save({"env.name=memory/recall", "net.layers=[\"lstm 8\"]"});
    seen.resize(2 * static_cast<std::size_t>(envs::SpecOf(config.env).obs_size()), 0.5f);
  }
  std::vector<float> Values(const Handle& policy, bool act) {
    std::vector<std::int32_t> actions(2);
    std::vector<float> values(2);
    EXPECT_EQ(
        starling_policy_act(policy.get(), seen.data(), nullptr, act ? actions.data() : nullptr),
        STARLING_OK);
    EXPECT_EQ(starling_policy_values(policy.get(), values.data()), STARLING_OK);
    return values;
  }
  std::vector<float> seen;
};

TEST_F(MemoryTest, ValuesAloneLeaveItAsItIs) {
  const Handle policy = Open(2, false);
  const auto first = Values(policy, false);
  EXPECT_EQ(Values(policy, false), first);
  EXPECT_EQ(Values(policy, true), first);
  EXPECT_NE(Values(policy, true), first) << "the memory has moved on";
}

TEST_F(MemoryTest, IsForgottenWhereAnEpisodeBegins) {
  const Handle policy = Open(2, false);
  const auto first = Values(policy, true);
  const auto second = Values(policy, true);
  const std::uint8_t begins[] = {0, 1};
  starling_policy_reset(policy.get(), begins);
  const auto third = Values(policy, false);
  EXPECT_EQ(third[1], first[1]);
  EXPECT_NE(third[0], first[0]);
  EXPECT_EQ(Values(policy, true), third) << "a reset waits for the next action";
  EXPECT_NE(Values(policy, true)[1], first[1]) << "and is done with it";
  starling_policy_reset(policy.get(), nullptr);
  EXPECT_EQ(Values(policy, true), first);
  EXPECT_EQ(Values(policy, true), second);
}

TEST_F(PolicyTest, DrawsAgainFromItsSeed) {
  Save({"env.name=minatar/breakout", "net.hidden=[16]"});
  const Handle policy = Open(1, false);
  const std::vector<float> seen(static_cast<std::size_t>(SpacesOf(policy).numbers), 0.0f);
  const auto draw = [&] {
    std::vector<std::int32_t> drawn(40);
    for (auto& action : drawn) starling_policy_act(policy.get(), seen.data(), nullptr, &action);
    return drawn;
  };
  const auto first = draw();
  EXPECT_NE(draw(), first);
  starling_policy_seed(policy.get(), kSeed);
  EXPECT_EQ(draw(), first);
  starling_policy_seed(policy.get(), kSeed + 1);
  EXPECT_NE(draw(), first);
}

// A program that computes with OpenMP's threads, too, and has handlers of signals.
TEST_F(PolicyTest, LeavesTheThreadAsItIs) {
  Save({"env.name=minatar/breakout"});
  std::thread([this] {
    omp_set_num_threads(3);
    sigset_t blocked, now;
    sigemptyset(&blocked);
    sigaddset(&blocked, SIGUSR2);
    pthread_sigmask(SIG_SETMASK, &blocked, nullptr);
    stack_t before{};  // none, except under a sanitizer
    sigaltstack(nullptr, &before);
    const auto expect_as_it_was = [&] {
      EXPECT_EQ(omp_get_max_threads(), 3);
      stack_t stack{};
      sigaltstack(nullptr, &stack);
      EXPECT_EQ(stack.ss_flags, before.ss_flags);
      EXPECT_EQ(stack.ss_sp, before.ss_sp);
      pthread_sigmask(SIG_SETMASK, nullptr, &now);
      EXPECT_EQ(sigismember(&now, SIGUSR2), 1);
      EXPECT_EQ(sigismember(&now, SIGUSR1), 0);
    };
    const Handle policy = Open(1, true);
    expect_as_it_was();
    const std::vector<float> seen(static_cast<std::size_t>(SpacesOf(policy).numbers), 0.0f);
    std::int32_t action = 0;
    EXPECT_EQ(starling_policy_act(policy.get(), seen.data(), nullptr, &action), STARLING_OK);
    expect_as_it_was();
  }).join();
}

// oneDNN's product of these sizes keeps its stack pointer in the heap, where a handler would write.
TEST_F(PolicyTest, SignalsWaitWhileTheNetComputes) {
  Save({"env.name=catch", "net.kind=mlp", "net.hidden=[64,600]"});
  struct sigaction handler {};
  handler.sa_handler = [](int) {
    volatile char used[2048];
    for (volatile char& byte : used) byte = 7;
  };
  struct sigaction before {};
  ASSERT_EQ(sigaction(SIGUSR1, &handler, &before), 0);  // without SA_ONSTACK
  std::atomic<bool> over{false};
  const pthread_t acting = pthread_self();
  std::thread sends([&] {
    while (!over) {
      pthread_kill(acting, SIGUSR1);
      std::this_thread::yield();
    }
  });
  const Handle policy = Open(600, false);
  const std::vector<float> seen(600 * 50, 0.5f);
  std::vector<std::int32_t> actions(600);
  for (int step = 0; step < 100; ++step) {
    ASSERT_EQ(starling_policy_act(policy.get(), seen.data(), nullptr, actions.data()), STARLING_OK);
  }
  over = true;
  sends.join();
  sigaction(SIGUSR1, &before, nullptr);
}

// Of an environment that this machine lacks, whose spaces are all that is known.
TEST_F(PolicyTest, SeveralArraysStandOneAfterTheOther) {
  config = ParseConfig(
      "", "test.toml",
      {"env.name=plugin:/gone/mine.so", "net.kind=layers", "net.layers=[\"linear 8\", \"relu\"]",
       "net.entries=[\"camera: conv 3 2x2, relu\"]"});
  envs::EnvSpec spec{.name = config.env.name, .channels = 15, .action_names = {}, .low = -9};
  spec.entries = {{.name = "camera", .height = 3, .width = 2, .channels = 2},
                  {.name = "joints", .channels = 3, .low = -9}};
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  spec.actions = ActionSpace::Box({-kInfinity, -2}, {kInfinity, 4});
  const net::ParameterLayout layout = results::LayoutOf(config, spec);
  weights = net::InitialParameters(layout, 3, Initialisation::kFanIn);
  path = learner::WriteCheckpoint(
      dir / "checkpoints",
      learner::CheckpointOf(config, layout, envs::SpacesText(spec),
                            {.state = {.weights = weights, .optimizer_state = {}}}));
  const Handle policy = Open(2, true);
  ASSERT_NE(policy, nullptr);
  const starling_spaces spaces = SpacesOf(policy);
  EXPECT_EQ(spaces.arrays, 2);
  EXPECT_EQ(spaces.numbers, 15);
  EXPECT_EQ(spaces.low[0], -kInfinity);
  starling_array array{};
  array.size = sizeof(array);
  starling_policy_array(policy.get(), 1, &array);
  EXPECT_STREQ(array.name, "joints");
  EXPECT_EQ(array.channels, 3);
  EXPECT_EQ(array.low, -9);

  actors::Policy ours(config, spec, weights, 2, kSeed, true);
  std::vector<float> seen;
  for (int i = 0; i < 30; ++i) seen.push_back(static_cast<float>(i % 4) / 3);
  std::ranges::copy(seen, ours.rows().begin());
  std::vector<std::int32_t> words(4);
  ours.Act(words);
  std::vector<float> actions(4);
  ASSERT_EQ(starling_policy_act(policy.get(), seen.data(), nullptr, actions.data()), STARLING_OK)
      << starling_error();
  EXPECT_EQ(actions[0], FloatOf(words[0])) << "nothing bounds it";
  EXPECT_EQ(actions[3], std::clamp(FloatOf(words[3]), -1.0f, 1.0f) * 3 + 1) << "from -2 to 4";
}

TEST_F(PolicyTest, HandlesOfOneCheckpointActInThreadsOfTheirOwn) {
  Save({"env.name=minatar/breakout"});
  constexpr int kEnvs = 16, kThreads = 4;
  const auto act = [this](std::vector<std::int32_t>& all) {
    const Handle policy = Open(kEnvs, false);
    std::vector<float> seen(kEnvs * static_cast<std::size_t>(SpacesOf(policy).numbers));
    for (int step = 0; step < 50; ++step) {
      for (std::size_t i = 0; i < seen.size(); ++i) seen[i] = static_cast<float>((i + step) % 2);
      std::vector<std::int32_t> actions(kEnvs);
      starling_policy_act(policy.get(), seen.data(), nullptr, actions.data());
      all.insert(all.end(), actions.begin(), actions.end());
    }
  };
  std::vector<std::int32_t> alone;
  act(alone);
  std::vector<std::vector<std::int32_t>> together(kThreads);
  std::vector<std::thread> threads;
  for (auto& actions : together) threads.emplace_back([&] { act(actions); });
  for (std::thread& thread : threads) thread.join();
  for (const auto& actions : together) EXPECT_EQ(actions, alone);
}

// ---- mistakes

class MistakeTest : public PolicyTest {
 protected:
  void Expect(starling_status status, const std::string& sentence) {
    EXPECT_EQ(status, STARLING_MISTAKE);
    EXPECT_THAT(starling_error(), HasSubstr(sentence));
  }
};

TEST_F(MistakeTest, OfPaths) {
  starling_policy* policy = nullptr;
  Expect(starling_policy_open("/nowhere", nullptr, &policy),
         "/nowhere is neither a run directory nor a checkpoint");
  Expect(starling_policy_open(nullptr, nullptr, &policy), "path is NULL");
  Expect(starling_policy_open("/nowhere", nullptr, nullptr), "policy is NULL");
  Expect(starling_policy_open(dir.path().c_str(), nullptr, &policy), "no good checkpoint in ");
  Expect(starling_policy_open("", nullptr, &policy), "checkpoint is empty");
  const std::string long_name(300, 'x');
  Expect(starling_policy_open(long_name.c_str(), nullptr, &policy),
         long_name + " cannot be read: File name too long");
}

TEST_F(MistakeTest, OfOptions) {
  starling_policy* policy = nullptr;
  starling_policy_options options{};
  Expect(starling_policy_open("/nowhere", &options, &policy),
         "options->size is 0: set it to sizeof *options");
  options.size = 0x7f1200345678;  // never set
  Expect(starling_policy_open("/nowhere", &options, &policy), "options->size is 13971");
  options.size = sizeof(options);
  options.envs = -1;
  Expect(starling_policy_open("/nowhere", &options, &policy), "options->envs is -1");
  options.envs = INT32_MAX;
  Expect(starling_policy_open("/nowhere", &options, &policy),
         "options->envs is 2147483647: it is at least 1, at most 1048576");
}

TEST_F(MistakeTest, OfHandles) {
  std::int32_t action = 0;
  float number = 0;
  Expect(starling_policy_act(nullptr, &number, nullptr, &action), "policy is NULL");
  Expect(starling_policy_spaces(nullptr, nullptr), "policy is NULL");
  Expect(starling_policy_array(nullptr, 0, nullptr), "policy is NULL");
  Expect(starling_policy_values(nullptr, &number), "policy is NULL");
  Expect(starling_policy_outputs(nullptr, &number), "policy is NULL");
  Expect(starling_policy_reset(nullptr, nullptr), "policy is NULL");
  Expect(starling_policy_seed(nullptr, 1), "policy is NULL");
  EXPECT_STREQ(starling_policy_config(nullptr), "");
  EXPECT_STREQ(starling_policy_checkpoint(nullptr), "");
  starling_policy_close(nullptr);
}

TEST_F(MistakeTest, OfObservationsChangesNothing) {
  Save({"env.name=catch", "net.hidden=[32]"});
  const Handle policy = Open(2, false), other = Open(2, false);
  std::vector<float> seen(100, 0.5f), bad = seen;
  std::vector<std::int32_t> actions(2);
  std::vector<float> values(2);
  Expect(starling_policy_values(policy.get(), values.data()),
         "no observation was given to starling_policy_act yet");
  Expect(starling_policy_act(policy.get(), nullptr, nullptr, actions.data()),
         "observations is NULL");
  for (const float number : {NAN, INFINITY, -INFINITY}) {
    bad[57] = number;
    Expect(starling_policy_act(policy.get(), bad.data(), nullptr, actions.data()),
           "observations: number 7 of environment 1 is ");
  }
  const std::uint8_t mask[6] = {1, 1, 1, 1, 1, 1};
  Expect(starling_policy_act(policy.get(), seen.data(), mask, actions.data()),
         "mask must be NULL: this policy was trained without masks");
  // The next draw is the first.
  std::vector<std::int32_t> expected(2);
  for (int i = 0; i < 20; ++i) {
    ASSERT_EQ(starling_policy_act(policy.get(), seen.data(), nullptr, actions.data()), STARLING_OK);
    ASSERT_EQ(starling_policy_act(other.get(), seen.data(), nullptr, expected.data()), STARLING_OK);
    ASSERT_EQ(actions, expected);
  }
}

// Nothing is drawn of logits that are no numbers, and memory does not keep them.
TEST_F(MistakeTest, OfObservationsThatAreTooLarge) {
  Save({"env.name=memory/recall", "net.layers=[\"linear 8\", \"gru 8\"]"});
  const Handle policy = Open(2, false), other = Open(2, false);
  const auto size = static_cast<std::size_t>(2 * SpacesOf(policy).numbers);
  const std::vector<float> seen(size, 0.5f);
  std::vector<float> huge = seen, values(2), expected(2);
  for (std::size_t i = size / 2; i < size; ++i) huge[i] = i % 2 == 0 ? 3e38f : -3e38f;
  std::vector<std::int32_t> actions(2);
  Expect(starling_policy_act(policy.get(), huge.data(), nullptr, actions.data()),
         " of the observation of environment 1: it is too large, or the weights are damaged");
  Expect(starling_policy_values(policy.get(), values.data()), "no observation was given");
  for (int i = 0; i < 3; ++i) {
    std::vector<std::int32_t> same(2);
    ASSERT_EQ(starling_policy_act(policy.get(), seen.data(), nullptr, actions.data()), STARLING_OK);
    ASSERT_EQ(starling_policy_act(other.get(), seen.data(), nullptr, same.data()), STARLING_OK);
    starling_policy_values(policy.get(), values.data());
    starling_policy_values(other.get(), expected.data());
    EXPECT_EQ(values, expected);
    EXPECT_EQ(actions, same);
  }
}

TEST_F(MistakeTest, OfWeightsThatAreNoNumbers) {
  Save({"env.name=catch", "net.hidden=[32]"});
  for (const char* head : {"policy.bias", "value.bias"}) {
    learner::Checkpoint checkpoint = learner::ReadCheckpoint(path);
    checkpoint.weights[checkpoint.layout.Find(head).offset] = NAN;
    const auto damaged = learner::WriteCheckpoint(dir / head, checkpoint);
    starling_policy* policy = nullptr;
    ASSERT_EQ(starling_policy_open(damaged.c_str(), nullptr, &policy), STARLING_OK);
    const Handle handle(policy);
    const std::vector<float> seen(50);
    std::int32_t action = 0;
    Expect(starling_policy_act(policy, seen.data(), nullptr, &action),
           "the net makes nan of the observation of environment 0");
  }
}

TEST_F(MistakeTest, OfMasks) {
  Save({"env.name=control/steer", "net.kind=mlp", "net.hidden=[16]"});
  const Handle policy = Open(2, false);
  const starling_spaces spaces = SpacesOf(policy);
  ASSERT_GT(spaces.mask, 0);
  std::vector<float> seen(2 * static_cast<std::size_t>(spaces.numbers), 0.0f);
  std::vector<std::int32_t> actions(2 * static_cast<std::size_t>(spaces.width));
  std::vector<std::uint8_t> mask(2 * static_cast<std::size_t>(spaces.mask), 1);
  Expect(starling_policy_act(policy.get(), seen.data(), nullptr, actions.data()),
         "mask is NULL: this policy was trained with masks of actions");
  const auto last = static_cast<std::size_t>(spaces.counts[spaces.width - 1]);
  std::fill(mask.end() - static_cast<std::ptrdiff_t>(last), mask.end(), std::uint8_t{0});
  Expect(starling_policy_act(policy.get(), seen.data(), mask.data(), actions.data()),
         fmt::format("mask: it allows no value of choice {} of environment 1", spaces.width - 1));
  mask.back() = 1;
  for (int i = 0; i < 20; ++i) {
    ASSERT_EQ(starling_policy_act(policy.get(), seen.data(), mask.data(), actions.data()),
              STARLING_OK);
    ASSERT_EQ(actions.back(), spaces.counts[spaces.width - 1] - 1) << "the only allowed one";
  }
}

// ---- programs that were compiled with another version

TEST_F(MistakeTest, OfMembersThatThisLibraryDoesNotKnow) {
  struct {
    starling_policy_options known;
    std::uint64_t newer;
  } options{{.size = sizeof(options), .envs = 1, .greedy = 0, .seed = 0}, 1};
  starling_policy* policy = nullptr;
  Expect(starling_policy_open("/nowhere", &options.known, &policy),
         "options sets a member that this library does not know: it has interface 1");
  options.newer = 0;
  Expect(starling_policy_open("/nowhere", &options.known, &policy), "/nowhere is neither");
}

TEST_F(PolicyTest, AnOlderProgramGetsTheMembersThatItKnows) {
  Save({"env.name=catch", "net.hidden=[32]"});
  const Handle policy = Open(3, false);
  starling_spaces spaces{};
  spaces.size = offsetof(starling_spaces, arrays);
  spaces.arrays = -5;
  ASSERT_EQ(starling_policy_spaces(policy.get(), &spaces), STARLING_OK);
  EXPECT_EQ(spaces.size, offsetof(starling_spaces, arrays));
  EXPECT_EQ(spaces.envs, 3);
  EXPECT_EQ(spaces.arrays, -5) << "behind its end";
}

TEST_F(PolicyTest, ANewerProgramReadsZerosInMembersThatThisLibraryDoesNotKnow) {
  Save({"env.name=catch", "net.hidden=[32]"});
  const Handle policy = Open(3, false);
  struct {
    starling_spaces known;
    std::uint64_t newer, behind;
  } spaces{{}, 9, 9};
  spaces.known.size = offsetof(decltype(spaces), behind);
  ASSERT_EQ(starling_policy_spaces(policy.get(), &spaces.known), STARLING_OK);
  EXPECT_EQ(spaces.known.envs, 3);
  EXPECT_EQ(spaces.newer, 0u);
  EXPECT_EQ(spaces.behind, 9u);
}

TEST(Library, NamesItself) {
  EXPECT_EQ(starling_interface(), STARLING_INTERFACE);
  EXPECT_THAT(starling_version(), testing::StartsWith("starling 0."));
}

}  // namespace
}  // namespace starling::api
