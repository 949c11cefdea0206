// Policies of the C library, of checkpoints whose weights are drawn.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "api/starling.h"
#include "tests/results/first_checkpoint.h"
#include "tests/support/temp_dir.h"

namespace starling::api {

inline constexpr std::uint64_t kSeed = 11;

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

// Whose functions refuse what they are given.
class MistakeTest : public PolicyTest {
 protected:
  void Expect(starling_status status, const std::string& sentence) {
    EXPECT_EQ(status, STARLING_MISTAKE);
    EXPECT_THAT(starling_error(), testing::HasSubstr(sentence));
  }
};

}  // namespace starling::api
