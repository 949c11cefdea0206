// FrameEnvs that show what they do: every frame passes by, whatever the wrappers above make of it.
#pragma once

#include <functional>
#include <memory>
#include <utility>

#include "envs/frames.h"

namespace starling::fleet {

class WatchedFrames final : public envs::FrameEnvs {
 public:
  // `watch(envs, command)` is called after every Advance that did not skip env 0: its newest frame
  // and result, and the command (an action, or kReset) that led to them.
  using Watch = std::function<void(const envs::FrameEnvs& envs, std::int32_t command)>;

  WatchedFrames(std::unique_ptr<envs::FrameEnvs> frames, Watch watch)
      : frames_(std::move(frames)), watch_(std::move(watch)) {}

  const envs::FrameSpec& spec() const override { return frames_->spec(); }
  int size() const override { return frames_->size(); }
  void Advance(std::span<const std::int32_t> commands) override {
    frames_->Advance(commands);
    if (commands[0] != kSkip) watch_(*frames_, commands[0]);
  }
  const envs::FrameResult& result(int env) const override { return frames_->result(env); }
  std::span<const std::uint8_t> bytes(int env) const override { return frames_->bytes(env); }
  std::span<const float> floats(int env) const override { return frames_->floats(env); }

 private:
  std::unique_ptr<envs::FrameEnvs> frames_;
  Watch watch_;
};

}  // namespace starling::fleet
