// Envs whose episodes a test scripts.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "envs/frames.h"

namespace starling::envs {

// The frame is a vector (env, frames since the reset,
// action); the reward is 1 a frame.
class Scripted final : public FrameEnvs {
 public:
  Scripted(int num_envs, const Repeat& repeat)
      : FrameEnvs(repeat),
        envs_(static_cast<std::size_t>(num_envs)),
        seen_(envs_.size(), 3, repeat.keep_before) {
    spec_.env = {.name = "scripted",
                 .channels = 3,
                 .num_actions = 10,
                 .action_names = std::vector<std::string>(10, "a"),
                 .high = 1000};
    spec_.lives = true;
  }

  // Called after every frame of an env, with the frames since its reset and the frame's result.
  std::function<void(int env, int frame, FrameResult& result)> rule;
  // Every Advance: its commands and, behind them, how many frames.
  std::vector<std::vector<std::int32_t>> asked;

  const FrameSpec& spec() const override { return spec_; }
  int size() const override { return static_cast<int>(envs_.size()); }
  const FrameResult& result(int env) const override { return envs_[std::size_t(env)].result; }
  std::span<const std::uint8_t> bytes(int) const override { return {}; }
  std::span<const float> floats(int env) const override { return seen_.newest(env); }
  std::span<const float> floats_before(int env) const override { return seen_.before(env); }

 private:
  struct One {
    FrameResult result{};
    int frame = 0;
    bool over = true;
  };

  // Notes the commands, then plays each env by `rule`.
  void Play(std::span<const std::int32_t> commands, int frames) override {
    asked.emplace_back(commands.begin(), commands.end());
    asked.back().push_back(frames);
    for (int i = 0; i < size(); ++i) {
      One& env = envs_[std::size_t(i)];
      const std::int32_t command = commands[std::size_t(i)];
      if (command == kSkip) continue;
      EXPECT_TRUE(command == kReset || !env.over) << "env " << i << " is over";
      if (command == kReset) {
        env = One{.result = {.lives = 3}, .over = false};
        Show(i, 0);
        continue;
      }
      env.result = PlayRepeated(repeat(), frames, env.result.lives, [&] {
        FrameResult result{.reward = 1, .lives = env.result.lives};
        ++env.frame;
        if (rule) rule(i, env.frame, result);
        Show(i, command);
        return result;
      });
      env.over = env.result.end != End::kRunning;
    }
  }
  void Show(int env, std::int32_t action) {
    std::ranges::copy(
        std::array{static_cast<float>(env), static_cast<float>(envs_[std::size_t(env)].frame),
                   static_cast<float>(action)},
        seen_.Next(env).begin());
  }

  FrameSpec spec_;
  std::vector<One> envs_;
  KeptFrames<float> seen_;
};

}  // namespace starling::envs
