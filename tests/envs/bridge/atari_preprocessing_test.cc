// Gymnasium's AtariPreprocessing and our wrappers see the same.
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sys/wait.h>

#include <cstring>
#include <string>
#include <vector>

#include "core/random.h"
#include "envs/bridge/worker_envs.h"
#include "envs/registry.h"
#include "tests/envs/bridge/gym_fixture.h"
#include "tests/envs/env_bench.h"
#include "tests/support/temp_dir.h"

namespace starling::envs {
namespace {

constexpr std::size_t kPixels = 84 * 84, kRow = kPixels + sizeof(float) + 1;

class AtariPreprocessing : public testing::TestWithParam<const char*> {};

TEST_P(AtariPreprocessing, ShowsTheSamePixels) {
  STARLING_NEEDS_GYM(GetParam());
  EnvConfig config = GymConfig(GetParam());
  config.sticky_actions = 0;
  config.repeat = 4;
  config.max_pool = true;
  config.pixels = true;
  const EnvSeed seed{.seed = 11};
  RandomStream seeds({seed.seed, 0, 0, 0, Purpose::kEnv});
  EnvBench bench(MakeVecEnv(config, 1, seed));

  RandomStream chance({.seed = 3});
  std::vector<std::int32_t> actions;
  std::string text;
  for (int step = 0; step < 1200; ++step) {
    actions.push_back(static_cast<std::int32_t>(
        chance.Below(static_cast<std::uint32_t>(bench.env->spec().actions.values()))));
    text += fmt::format("{} ", actions.back());
  }
  const TempDir dir;
  dir.Write("actions", text);
  const int status = std::system(
      fmt::format("'{}' '{}' {} {} '{}' '{}'", TestPython(),
                  STARLING_SOURCE_DIR "/tests/envs/bridge/atari_preprocessing.py", GetParam(),
                  WorkerSeed(seeds), (dir / "actions").string(), (dir / "seen").string())
          .c_str());
  if (WEXITSTATUS(status) == 77) GTEST_SKIP() << "no OpenCV; run scripts/setup --gym-cv";
  ASSERT_EQ(status, 0);
  const std::string theirs = dir.Read("seen");
  ASSERT_EQ(theirs.size(), (actions.size() + 1) * kRow);

  std::size_t different = 0, ends = 0;
  for (std::size_t step = 0;; ++step) {
    const char* seen = &theirs[step * kRow];
    for (std::size_t i = 0; i < kPixels; ++i) {
      const auto byte = static_cast<unsigned char>(seen[i]);
      different += std::lrint(bench.seen[i] * 255) != byte;
    }
    float their_reward = 0;
    std::memcpy(&their_reward, seen + kPixels, sizeof their_reward);
    ASSERT_EQ(bench.rewards[0], their_reward) << "step " << step;
    ASSERT_EQ(bench.ends[0] != 0, seen[kRow - 1] != 0) << "step " << step;
    ends += bench.ends[0] != 0;
    if (step == actions.size()) break;
    bench.Step({actions[step]});
  }
  EXPECT_EQ(different, 0u) << "of " << (actions.size() + 1) * kPixels << " pixels";
  EXPECT_GT(ends, 0u);  // resets are compared, too
}

INSTANTIATE_TEST_SUITE_P(Some, AtariPreprocessing,
                         testing::Values("ALE/Breakout-v5", "ALE/Pong-v5", "ALE/SpaceInvaders-v5"),
                         [](const auto& tested) {
                           const std::string name = tested.param;
                           return name.substr(4, name.size() - 7);
                         });

}  // namespace
}  // namespace starling::envs
