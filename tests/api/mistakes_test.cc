// What a caller can do wrong.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

#include "tests/api/policy_fixture.h"

namespace starling::api {
namespace {

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

}  // namespace
}  // namespace starling::api
