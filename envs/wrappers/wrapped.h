// The wrappers of `[env]`: the A3C paper's treatment of Atari, for any env.
//
// In this order, each off by default (action_set and sticky_actions come first: the envs do them):
//   noop_max        an episode begins with 1 to noop_max frames of action 0 (RestingAction)
//   repeat          an action is played for so many frames, their rewards added up; it stops early
//                   at an end (the envs do it: envs/frames.h)
//   max_pool        observed is the maximum of the last two of these frames (sprites flicker)
//   life_loss_ends  a lost life ends the episode for training; the game goes on
//   time_limit      after so many of the agent's steps the episode is truncated (terminated, if
//                   that very step lost a life and life_loss_ends)
//   (return and length of the whole episode are counted here, unclipped)
//   reward_clip     the step's reward is cut to [-reward_clip, reward_clip]
//   pixels          84 x 84 grey
//   stack           the last `stack` frames together, oldest first, in the channels; at the
//                   beginning of an episode all of them are its first frame
//
// A policy's action in a box is a point of the whole space; the envs below get it between its
// bounds. A mask of actions passes with its frame, without max_pool, pixels and stack.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "core/config/config.h"
#include "core/random.h"
#include "envs/env.h"
#include "envs/frames.h"
#include "envs/wrappers/screen.h"

namespace starling::envs {

// The key of the first wrapper that `config` uses; nullptr if it uses none.
const char* FirstWrapper(const EnvConfig& config);

// The spec of the wrapped env. Throws UserError as Screen, and about a stack of more
// than kMaxRowNumbers.
EnvSpec WrappedSpec(const FrameSpec& raw, const EnvConfig& config);

class WrappedEnv final : public VecEnv {
 public:
  // REQUIRES: `frames` repeat as RepeatOf(config). The number of no-ops of env i is drawn from
  // seed.Stream(i, Purpose::kNoop).
  WrappedEnv(std::unique_ptr<FrameEnvs> frames, const EnvSeed& seed, const EnvConfig& config,
             WhileWaiting while_waiting = {});

  const EnvSpec& spec() const override { return spec_; }
  int size() const override { return frames_->size(); }
  void Reset(std::span<float> observations) override;
  void StepAsync(std::span<const std::int32_t> actions) override;
  void StepWait(std::span<float> observations, std::span<float> rewards,
                std::span<std::uint8_t> terminals) override;
  std::span<const Truncated> truncated() const override { return truncated_; }
  void TakeEpisodes(std::vector<EpisodeEnd>& out) override;
  std::uint64_t replaced() const override { return frames_->replaced(); }
  std::int64_t waited_ns() const override { return frames_->waited_ns(); }
  std::string WhyNotSaved() const override { return frames_->WhyNotSaved(); }
  void Fields(StateBytes& state) override;

 private:
  struct EnvState {
    int index;
    RandomStream noops;
    double episode_return = 0;
    std::int64_t length = 0;
    int lives = 0;
    // Of the step under way:
    double reward = 0;
    End end = End::kRunning;     // for training
    bool over = false;           // the game must be reset
    std::vector<float> stack{};  // (stack, H, W, C) as observed, a ring
    std::size_t newest = 0;      // index into the ring
  };

  std::span<std::int32_t> CommandOf(int env);
  std::span<const std::int32_t> Bounded(std::span<const std::int32_t> actions);
  void Take();
  void EndStep(EnvState& env);
  void KeepFinal(EnvState& env);
  void Restart();
  void Show(const EnvState& env, bool pool, float* newest);
  void Observe(EnvState& env, bool first, std::span<float> out);

  const EnvConfig config_;
  const WhileWaiting while_waiting_;
  std::unique_ptr<FrameEnvs> frames_;
  Screen screen_;
  EnvSpec spec_;
  std::vector<EnvState> envs_;
  const std::vector<std::int32_t> noop_;  // (width())
  std::vector<std::int32_t> commands_;    // (B, width())
  std::vector<std::uint8_t> pooled_bytes_;
  std::vector<float> pooled_floats_;
  std::vector<EpisodeEnd> episodes_;
  std::vector<Truncated> truncated_;  // by the last Step
  std::vector<float> finals_;         // (B, row) their observations; empty before the first
};

}  // namespace starling::envs
