// The wrappers: the A3C paper's (and everybody's) treatment of Atari, for any env, from `[env]`.
//
// In this order, each off by default (action_set and sticky_actions come before: they are the envs'
// own):
//   noop_max        an episode begins with 1 to noop_max frames of action 0
//   repeat          an action is played for so many frames, their rewards added up; it stops early
//                   at an end (the envs themselves do it: envs/frames.h)
//   max_pool        the maximum of the last two of these frames is what is seen (sprites flicker)
//   life_loss_ends  a lost life is an end to the one who trains; the game goes on
//   time_limit      after so many of the agent's steps the episode is truncated (to the one who
//                   trains terminated, where that very step lost a life and life_loss_ends)
//   (the return and the length of the whole episode are taken here, unclipped)
//   reward_clip     the step's reward is cut to [-reward_clip, reward_clip]
//   pixels          84 x 84 grey
//   stack           the last `stack` frames are seen at once, oldest first, in the channels; at the
//                   beginning of an episode they are all its first
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

// Whether `config` asks for anything that an env does not do without wrappers.
bool NeedsWrappers(const EnvConfig& config);

// What a wrapped env observes. Throws UserError as Screen.
EnvSpec WrappedSpec(const FrameSpec& raw, const EnvConfig& config);

class Wrapped final : public VecEnv {
 public:
  // `frames` repeat as RepeatOf(config). No-ops of env i are drawn from StreamId{seed, slot, incarnation, i, Purpose::kNoop}.
  Wrapped(std::unique_ptr<FrameEnvs> frames, const EnvSeed& seed, const EnvConfig& config);

  const EnvSpec& spec() const override { return spec_; }
  int size() const override { return frames_->size(); }
  void Reset(std::span<float> observations) override;
  void Step(std::span<const std::int32_t> actions, std::span<float> observations,
            std::span<float> rewards, std::span<std::uint8_t> terminals) override;
  std::span<const Truncated> truncated() const override { return truncated_; }
  void TakeEpisodes(std::vector<EpisodeEnd>& out) override;
  std::uint64_t replaced() const override { return frames_->replaced(); }
  std::unique_ptr<VecEnv> Clone() const override { return nullptr; }

 private:
  struct One {
    RandomStream noops;
    double episode_return = 0;
    std::int64_t length = 0;
    int lives = 0;
    // Of the step under way.
    double reward = 0;
    End end = End::kRunning;     // to the one who trains
    bool over = false;           // really: it must be reset
    std::vector<float> stack{};  // (stack, H, W, C) as observed, in a ring
    std::size_t newest = 0;      // in it
  };

  void Play(std::span<const std::int32_t> actions);
  void EndStep(std::size_t i);
  void KeepFinal(std::size_t i);
  void Restart();  // every env that is over
  void Show(std::size_t i, bool pool, float* newest);
  void Observe(std::size_t i, bool first, std::span<float> out);

  const EnvConfig config_;
  std::unique_ptr<FrameEnvs> frames_;
  Screen screen_;
  EnvSpec spec_;
  std::vector<One> envs_;
  std::vector<std::int32_t> commands_;
  std::vector<std::uint8_t> pooled_bytes_;
  std::vector<float> pooled_floats_;
  std::vector<EpisodeEnd> episodes_;
  std::vector<Truncated> truncated_;  // by the last Step
  std::vector<float> finals_;         // (B, H, W, C), their observations; empty before the first
};

}  // namespace starling::envs
