// What stands below the wrappers: B envs that only do as they are told, one raw frame at a time.
//
// FrameEnvs knows nothing of training: it neither resets by itself nor counts episodes. Wrapped
// (envs/wrappers/wrapped.h) makes a VecEnv of it. Bundled games are FrameEnvs through GameFrames,
// Gymnasium's envs and isolated plug-ins through a child process (envs/bridge), plug-ins directly.
#pragma once

#include <cstdint>
#include <span>

#include "envs/env.h"

namespace starling::envs {

struct FrameSpec {
  EnvSpec env;         // of raw frames
  bool bytes = false;  // frames are bytes of 0 to 255 (pictures), else floats
  bool lives = false;  // FrameResult::lives means something
};

struct FrameResult {
  float reward = 0;
  End end = End::kRunning;
  int lives = 0;
};

class FrameEnvs {
 public:
  static constexpr std::int32_t kSkip = -1;   // leave this env as it is
  static constexpr std::int32_t kReset = -2;  // begin an episode

  virtual ~FrameEnvs() = default;
  virtual const FrameSpec& spec() const = 0;
  virtual int size() const = 0;  // B

  // commands (B): an action in [0, num_actions), kSkip or kReset. The first command of an env, and
  // the first after its episode has ended, is kReset (or kSkip). The results and frames of all envs
  // but the skipped ones are new. An env whose process had to be replaced answers End::kCut with its
  // frame as it was; if that happens during kReset, the episode has begun in the new process.
  // Throws UserError if an env can no longer be played at all.
  virtual void Advance(std::span<const std::int32_t> commands) = 0;

  virtual const FrameResult& result(int env) const = 0;
  // The newest frame (H, W, C), of the kind that spec().bytes says. Valid until the next Advance.
  virtual std::span<const std::uint8_t> bytes(int env) const = 0;
  virtual std::span<const float> floats(int env) const = 0;
};

}  // namespace starling::envs
