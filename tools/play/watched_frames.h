// An env that reports every frame to a callback, also the repeated ones that the wrappers above it
// hide.
#pragma once

#include <functional>
#include <memory>
#include <utility>

#include "core/check.h"
#include "envs/frames.h"

namespace starling::play {

class WatchedFrames final : public envs::FrameEnvs {
 public:
  // Called after every frame. `command` is the first word of the action that led to it, or kReset.
  using Watch = std::function<void(const envs::FrameEnvs& envs, std::int32_t command)>;

  WatchedFrames(std::unique_ptr<envs::FrameEnvs> frames, Watch watch)
      : FrameEnvs(frames->repeat()), frames_(std::move(frames)), watch_(std::move(watch)) {
    CHECK(frames_->size() == 1, "{} envs", frames_->size());
  }

  const envs::FrameSpec& spec() const override { return frames_->spec(); }
  int size() const override { return 1; }
  const envs::FrameResult& result(int) const override { return result_; }
  std::span<const std::uint8_t> bytes(int env) const override { return frames_->bytes(env); }
  std::span<const float> floats(int env) const override { return frames_->floats(env); }
  std::span<const std::uint8_t> bytes_before(int env) const override {
    return frames_->bytes_before(env);
  }
  std::span<const float> floats_before(int env) const override {
    return frames_->floats_before(env);
  }

 private:
  void Play(std::span<const std::int32_t> commands, int frames) override {
    if (commands[0] == kSkip) return;
    const int most = commands[0] == kReset ? 1 : frames;
    result_ = envs::PlayRepeated(repeat(), most, result_.lives, [&] {
      frames_->Advance(commands);
      watch_(*frames_, commands[0]);
      return frames_->result(0);
    });
  }

  std::unique_ptr<envs::FrameEnvs> frames_;
  Watch watch_;
  envs::FrameResult result_;
};

}  // namespace starling::play
