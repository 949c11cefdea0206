// Envs whose episodes a test scripts.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "envs/frames.h"

namespace starling::envs {

// The frame is a vector (env, frames since the reset, words of the action: 0 after a reset), then
// the mask: allowed is the value that equals the env's number. The reward is 1 a frame.
class Scripted final : public FrameEnvs {
 public:
  Scripted(int num_envs, const Repeat& repeat, const ActionSpace& actions = ActionSpace::Choice(10))
      : FrameEnvs(repeat), envs_(static_cast<std::size_t>(num_envs)) {
    spec_.env = {.name = "scripted",
                 .channels = 2 + actions.width(),
                 .actions = actions,
                 .action_names = {},
                 .high = 1000};
    if (actions.one_choice()) {
      spec_.env.action_names.assign(static_cast<std::size_t>(actions.values()), "a");
    }
    spec_.lives = true;
    seen_ = {envs_.size(), spec_.env.row(), repeat.keep_before};
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
    const auto width = static_cast<std::size_t>(spec_.env.actions.width());
    for (int i = 0; i < size(); ++i) {
      One& env = envs_[std::size_t(i)];
      const auto command = commands.subspan(std::size_t(i) * width, width);
      if (command[0] == kSkip) continue;
      EXPECT_TRUE(command[0] == kReset || !env.over) << "env " << i << " is over";
      if (command[0] == kReset) {
        env = One{.result = {.lives = 3}, .over = false};
        Show(i, std::vector<std::int32_t>(width));
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
  void Show(int env, std::span<const std::int32_t> action) {
    const ActionSpace& actions = spec_.env.actions;
    auto out = seen_.Next(env).begin();
    *out++ = static_cast<float>(env);
    *out++ = static_cast<float>(envs_[std::size_t(env)].frame);
    for (const std::int32_t word : action) {
      *out++ = actions.box() ? FloatOf(word) : static_cast<float>(word);
    }
    for (const std::int32_t count : actions.counts) {
      for (int value = 0; actions.masked && value < count; ++value) *out++ = value == env ? 1 : 0;
    }
  }

  FrameSpec spec_;
  std::vector<One> envs_;
  KeptFrames<float> seen_;
};

}  // namespace starling::envs
