// One short recorded episode of every env as readable text (tests/data/playthroughs): a change of
// behaviour shows as a diff of pictures. After a change on purpose, write them again and read
// the diff:
//   STARLING_WRITE_PLAYTHROUGHS=1 envs_tests --gtest_filter='*Playthrough*'
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "core/file.h"
#include "core/random.h"
#include "core/text.h"
#include "envs/registry.h"
#include "tests/envs/env_bench.h"
#include "tests/envs/recordings.h"

namespace starling::envs {
namespace {

constexpr int kMaxSteps = 40;
constexpr int kLargeHeight = 20;  // of a grid whose rows are shown where they change only

// A row of numbers for a vector, with its mask; for a grid a character per cell: '.' where nothing
// is, the index of the one channel that is set, or '*' where several are (named below the grid). Of
// a large grid, only the rows that differ from `before` (empty: all), with their numbers.
//
// Several arrays follow each other, each behind its name.
std::string Picture(const EnvSpec& spec, const std::vector<float>& seen,
                    const std::vector<float>& before) {
  std::string picture, several;
  auto first = seen.begin();
  for (const ObservationEntry& entry : spec.entries) {
    EnvSpec one;
    one.height = entry.height, one.width = entry.width, one.channels = entry.channels;
    picture += fmt::format("  {}:{}", entry.name, entry.picture() ? "\n" : "");
    picture += Picture(one, {first, first + entry.size()}, {});
    first += entry.size();
  }
  if (!spec.entries.empty()) return picture;
  if (spec.height * spec.width == 1) {
    for (const float value : seen) picture += fmt::format(" {:g}", value);
    return " " + picture + "\n";
  }
  for (int row = 0; row < spec.height; ++row) {
    if (spec.height > kLargeHeight) {
      const auto width = static_cast<std::ptrdiff_t>(spec.width * spec.channels);
      if (!before.empty() &&
          std::equal(seen.begin() + row * width, seen.begin() + (row + 1) * width,
                     before.begin() + row * width)) {
        continue;
      }
      picture += fmt::format("{:4}", row);
    }
    picture += "  ";
    for (int column = 0; column < spec.width; ++column) {
      std::string set;
      for (int channel = 0; channel < spec.channels; ++channel) {
        const int cell = (row * spec.width + column) * spec.channels + channel;
        if (seen[static_cast<std::size_t>(cell)] != 0) set += fmt::format(" {}", channel);
      }
      picture += set.empty() ? '.' : set.size() == 2 ? set[1] : '*';
      if (set.size() > 2) several += fmt::format("  * ({}, {}):{}\n", row, column, set);
    }
    picture += '\n';
  }
  return picture + several;
}

// "3 actions"; else of how many numbers an action is.
std::string ActionsOf(const ActionSpace& actions) {
  if (actions.one_choice()) return fmt::format("{} actions", actions.values());
  return fmt::format("actions of {} {}", actions.width(), actions.box() ? "numbers" : "choices");
}

// Its name, or its numbers.
std::string NameOfAction(const EnvSpec& spec, const std::vector<std::int32_t>& action) {
  if (spec.actions.one_choice()) return spec.action_names[static_cast<std::size_t>(action[0])];
  std::vector<std::string> numbers;
  for (const std::int32_t word : action) {
    numbers.push_back(spec.actions.box() ? fmt::format("{:.3f}", FloatOf(word))
                                         : std::to_string(word));
  }
  return "(" + Listed(numbers) + ")";
}

// The first episode from seed 1 under a random policy that holds its actions for a while.
std::string Playthrough(const std::string& name) {
  EnvBench bench(MakeVecEnv({.name = name}, 1, {.seed = 1}));
  const EnvSpec& spec = bench.env->spec();
  RandomStream policy({.seed = 1, .purpose = Purpose::kAction});
  std::string text =
      fmt::format("{} ({}, {}, {}), {}\n\nreset\n{}", spec.name, spec.height, spec.width,
                  spec.channels, ActionsOf(spec.actions), Picture(spec, bench.seen, {}));
  for (int step = 1; step <= kMaxSteps && !bench.ends[0]; ++step) {
    if (step == 1 || policy.Below(3) == 0) bench.DrawAction(0, policy);
    const std::vector<float> before = bench.seen;
    bench.Step();
    text += fmt::format("\nstep {}: {}, reward {:g}{}\n{}", step, NameOfAction(spec, bench.actions),
                        bench.rewards[0], bench.ends[0] ? ", end; the next episode begins" : "",
                        Picture(spec, bench.seen, before));
  }
  return text;
}

class PlaythroughTest : public testing::TestWithParam<std::string> {};

TEST_P(PlaythroughTest, IsAsRecorded) {
  const auto path = std::filesystem::path(STARLING_SOURCE_DIR) / "tests/data/playthroughs" /
                    (PlainName(GetParam()) + ".txt");
  const std::string played = Playthrough(GetParam());
  if (std::getenv("STARLING_WRITE_PLAYTHROUGHS") != nullptr) {
    std::ofstream(path, std::ios::binary) << played;
    GTEST_SKIP() << "wrote " << path;
  }
  ASSERT_TRUE(std::filesystem::exists(path)) << path << ": see the top of playthrough_test.cc";
  EXPECT_EQ(played, ReadFile(path)) << "a change on purpose? See the top of playthrough_test.cc";
}

INSTANTIATE_TEST_SUITE_P(Envs, PlaythroughTest, testing::ValuesIn(EnvNames()), NameOfTest);

}  // namespace
}  // namespace starling::envs
