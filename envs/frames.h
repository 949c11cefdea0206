// The layer below the wrappers: B envs that obey commands and return raw frames.
//
// FrameEnvs knows nothing of training: it neither resets by itself nor counts episodes. WrappedEnv
// (envs/wrappers/wrapped.h) turns it into a VecEnv. Bundled games are FrameEnvs through GameFrames,
// Gymnasium's envs, Atari games and isolated plug-ins through a child process (envs/bridge), other
// plug-ins directly.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "core/action_space.h"
#include "core/check.h"
#include "core/config/config.h"
#include "envs/env.h"

namespace starling::envs {

inline constexpr int kMaxRowNumbers = 1 << 26;  // of an observation or a raw frame, and its mask

struct FrameSpec {
  EnvSpec env;         // of raw frames, env.row() numbers with the mask of the actions
  bool bytes = false;  // frames are bytes of 0 to 255 (pictures), else floats
  bool lives = false;  // FrameResult::lives is meaningful
  bool saves = false;  // its state can be saved
};

// The action of no-ops, and the last one before the first: 0 in each word; for a box, the point
// nearest to that.
inline std::vector<std::int32_t> RestingAction(const ActionSpace& space) {
  std::vector<std::int32_t> words(space.width(), 0);
  for (std::size_t k = 0; space.box() && k < words.size(); ++k) {
    words[k] = WordOf(std::clamp(0.0f, space.low[k], space.high[k]));
  }
  return words;
}

// Why an env of `spec` cannot be saved, or "": VecEnv::WhyNotSaved.
std::string WhyNotSaved(const FrameSpec& spec);

struct FrameResult {
  double reward = 0;
  End end = End::kRunning;
  int lives = 0;
  int played = 0;  // frames of the action; not a part of the state

  void Fields(StateBytes& state) {
    state(reward);
    state(end, End::kRunning, End::kCut);
    state(lives);
  }
};

// Action repeat. It is done below this interface, so that an env in another process gets one
// message for each action and not for each frame.
struct Repeat {
  int frames = 1;                  // the most that one Advance plays
  bool keep_before = false;        // keep the frame before the newest, too
  bool stop_at_lost_life = false;  // stop when fewer lives are left than before the Advance

  friend bool operator==(const Repeat&, const Repeat&) = default;
};

// The repeat that WrappedEnv needs of the envs below it.
inline Repeat RepeatOf(const EnvConfig& config) {
  return {.frames = static_cast<int>(config.repeat),
          .keep_before = config.max_pool,
          .stop_at_lost_life = config.life_loss_ends};
}

class FrameEnvs {
 public:
  // First words of commands that are no actions: choices are not negative, and as floats of a box
  // -1 to -4 (two are of the worker protocol) are NaNs, which no action contains.
  static constexpr std::int32_t kSkip = -1;   // leave this env as it is
  static constexpr std::int32_t kReset = -2;  // begin an episode

  explicit FrameEnvs(const Repeat& repeat = {}) : repeat_(repeat) {}
  virtual ~FrameEnvs() = default;
  virtual const FrameSpec& spec() const = 0;
  virtual int size() const = 0;  // B
  const Repeat& repeat() const { return repeat_; }

  // commands (B, width()): the words of an action of spec().env.actions, a box's between its
  // bounds; or kSkip or kReset in the first word, and anything behind it. An action is played for
  // `frames` frames, or until the episode ends or (Repeat::stop_at_lost_life) a life is lost.
  // Updates the result (rewards added up) and the frame of every env that is not skipped. An env
  // whose process was replaced returns End::kCut and keeps its frame; if that happens during
  // kReset, the episode has begun in the new process. Throws UserError if an env can no longer be
  // played.
  //
  // REQUIRES: 1 <= frames <= repeat().frames. The first command of an env, and the first after the
  // end of its episode, is kReset (or kSkip).
  void Advance(std::span<const std::int32_t> commands, int frames = 1) {
    AdvanceAsync(commands, frames);
    AdvanceWait();
  }
  // The two halves of Advance: envs in other processes play between them. AdvanceWait must be the
  // next call; results and frames are undefined before it. Both throw as Advance.
  void AdvanceAsync(std::span<const std::int32_t> commands, int frames) {
    CHECK(static_cast<int>(commands.size()) == size() * spec().env.actions.width(),
          "{} words of commands", commands.size());
    CHECK(frames >= 1 && frames <= repeat_.frames, "{} of {} frames", frames, repeat_.frames);
    Play(commands, frames);
  }
  void AdvanceWait() { Take(); }

  virtual const FrameResult& result(int env) const = 0;
  // The newest frame (H, W, C), and behind it the mask of the actions, if there is one, not 0 where
  // a value is allowed: bytes if spec().bytes, else floats. Valid until the next Advance.
  virtual std::span<const std::uint8_t> bytes(int /*env*/) const { return {}; }
  virtual std::span<const float> floats(int env) const = 0;
  // The frame before the newest, if repeat().keep_before. Undefined after a reset and after any end
  // but kTruncated; after a truncation in the middle of an action it may equal the newest.
  virtual std::span<const std::uint8_t> bytes_before(int) const { return {}; }
  virtual std::span<const float> floats_before(int) const { return {}; }
  virtual std::uint64_t replaced() const { return 0; }  // processes, so far
  virtual std::int64_t waited_ns() const { return 0; }  // as VecEnv's

  std::string WhyNotSaved() const { return envs::WhyNotSaved(spec()); }
  // The fields of the state, as VecEnv's: with the newest frame, without the one before it.
  // REQUIRES: spec().saves.
  virtual void Fields(StateBytes&) { throw StateError(WhyNotSaved()); }

 protected:
  // Plays the commands, or lets others begin to; then Take waits for them.
  virtual void Play(std::span<const std::int32_t> commands, int frames) = 0;
  virtual void Take() {}

 private:
  const Repeat repeat_;
};

// Plays one action of one env that has `lives` left: up to `frames` calls of `play()`.
template <class PlayFrame>
FrameResult PlayRepeated(const Repeat& repeat, int frames, int lives, PlayFrame play) {
  double reward = 0;
  for (int frame = 1;; ++frame) {
    FrameResult result = play();
    reward += result.reward;
    const bool lost = repeat.stop_at_lost_life && result.lives < lives;
    if (frame < frames && result.end == End::kRunning && !lost) continue;
    result.reward = reward;
    result.played = frame;
    return result;
  }
}

// The newest frame of every env and, with keep_before, the one before it.
template <class T>
class KeptFrames {
 public:
  KeptFrames() = default;
  // (num_envs, row) numbers; a row may be 0.
  KeptFrames(std::size_t num_envs, std::size_t row, bool keep_before)
      : row_(row), each_(keep_before ? 2 : 1), frames_(num_envs * each_ * row), newest_(num_envs) {}

  // The place for the next frame of `env`; the newest becomes the one before.
  std::span<T> Next(int env) {
    std::uint8_t& newest = newest_[env];
    newest = each_ == 2 && newest == 0;
    return std::span(frames_).subspan(Begin(env, newest), row_);
  }
  std::span<const T> newest(int env) const {
    return std::span(frames_).subspan(Begin(env, newest_[env]), row_);
  }
  std::span<const T> before(int env) const {
    if (each_ == 1) return {};
    return std::span(frames_).subspan(Begin(env, 1U - newest_[env]), row_);
  }
  // The newest frames.
  void Fields(StateBytes& state) {
    for (std::size_t env = 0; env < newest_.size(); ++env) {
      state.Array(std::span(frames_).subspan(Begin(static_cast<int>(env), newest_[env]), row_));
    }
  }

 private:
  std::size_t Begin(int env, std::size_t which) const { return (env * each_ + which) * row_; }

  std::size_t row_ = 0, each_ = 1;
  std::vector<T> frames_;             // (B, 1 or 2, row)
  std::vector<std::uint8_t> newest_;  // (B) index of the newest, 0 or 1
};

// Envs of this process, with frames of floats, which play one after the other.
class FramesHere : public FrameEnvs {
 public:
  const FrameSpec& spec() const override { return spec_; }
  int size() const override { return static_cast<int>(results_.size()); }
  const FrameResult& result(int env) const override { return results_[env]; }
  std::span<const float> floats(int env) const override { return frames_.newest(env); }
  std::span<const float> floats_before(int env) const override { return frames_.before(env); }

 protected:
  FramesHere(int num_envs, FrameSpec spec, const EnvConfig& config)
      : FrameEnvs(RepeatOf(config)),
        spec_(std::move(spec)),
        results_(num_envs),
        frames_(num_envs, spec_.env.row(), repeat().keep_before) {}

  void Play(std::span<const std::int32_t> commands, int frames) override {
    const auto width = static_cast<std::size_t>(spec_.env.actions.width());
    for (int i = 0; i < size(); ++i) {
      const auto command = commands.subspan(i * width, width);
      if (command[0] == kSkip) continue;
      if (command[0] != kReset) CheckActions(spec_.env.actions, command, i);
      results_[i] = Obey(i, command, frames);
    }
  }
  // Without the frames.
  void Fields(StateBytes& state) override {
    state.Same(results_.size(), "envs");
    for (FrameResult& result : results_) state(result);
  }
  void FrameFields(StateBytes& state) { frames_.Fields(state); }
  // Obeys an action, or kReset in command[0]. command (width()).
  virtual FrameResult Obey(int env, std::span<const std::int32_t> command, int frames) = 0;
  std::span<float> NextFrame(int env) { return frames_.Next(env); }

 private:
  const FrameSpec spec_;
  std::vector<FrameResult> results_;
  KeptFrames<float> frames_;
};

}  // namespace starling::envs
