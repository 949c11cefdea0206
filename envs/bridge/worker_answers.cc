// The answers of a worker in shared memory: reads them and refuses those that break the protocol.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "core/check.h"
#include "envs/bridge/protocol.h"
#include "envs/bridge/worker.h"

namespace starling::envs {
namespace {

// The first choice whose values `mask` (values()) forbids all, or nullopt.
std::optional<std::size_t> NoneAllowed(const ActionSpace& space, auto mask) {
  for (std::size_t k = 0; k < space.counts.size(); ++k) {
    const auto values = mask.first(space.counts[k]);
    if (std::ranges::all_of(values, [](auto v) { return v == 0; })) return k;
    mask = mask.subspan(values.size());
  }
  return std::nullopt;
}

}  // namespace

// Returns the mistake in the answer of env `i`; "" if there is none.
std::string Worker::WrongIn(int i) const {
  const std::int32_t command = commands_[i * words_];
  if (command == FrameEnvs::kSkip) return "";
  // 1. The end is one that may follow the command.
  const std::int32_t end = *Element<std::int32_t>(at_.ends, i);
  const auto last = command == FrameEnvs::kReset ? End::kRunning : End::kTruncated;
  if (end < 0 || end > static_cast<std::int32_t>(last)) {
    return fmt::format("{} as the end of env {}", end, i);
  }
  // 2. It has played some of the frames.
  const int played = result(i).played, most = FramesAsked(i);
  if (played < std::min(most, 1) || played > most) {
    return fmt::format("{} of {} frames played in env {}", played, most, i);
  }
  // 3. All numbers are finite.
  if (!std::isfinite(static_cast<float>(result(i).reward))) {
    return fmt::format("a reward of {} in env {}", result(i).reward, i);
  }
  const auto finite = [](float v) { return std::isfinite(v); };
  const bool over = static_cast<End>(end) == End::kTerminated;
  const bool seen_before = repeat_.keep_before && command != FrameEnvs::kReset && !over;
  if (!std::ranges::all_of(floats(i), finite) ||
      (seen_before && !std::ranges::all_of(floats_before(i), finite))) {
    return fmt::format("an observation that is not finite in env {}", i);
  }
  // 4. A mask leaves a choice, unless the episode is over.
  const ActionSpace& actions = spec_.env.actions;
  if (!actions.masked || over) return "";
  const auto none = spec_.bytes ? NoneAllowed(actions, bytes(i).last(actions.mask()))
                                : NoneAllowed(actions, floats(i).last(actions.mask()));
  return none ? fmt::format("env {} forbids every value of choice {}", i, *none) : "";
}

// The frames of the action that env `i` was asked to play; 0 for kReset.
int Worker::FramesAsked(int i) const {
  const std::size_t width = words_ / repeat_.frames;
  const auto row = std::span(commands_).subspan(i * words_, words_);
  if (row[0] == FrameEnvs::kReset) return 0;
  int frames = 0;
  while (frames < repeat_.frames && row[frames * width] != FrameEnvs::kSkip) ++frames;
  return frames;
}

// Element `env` of the shared array at `offset`, whose elements are `stride` bytes apart.
template <class T>
const T* Worker::Element(std::size_t offset, int env, std::size_t stride) const {
  CHECK(env >= 0 && env < static_cast<int>(count_), "env {}", env);
  return reinterpret_cast<const T*>(map_ + offset + env * stride);
}

FrameResult Worker::result(int env) const {
  return {.reward = *Element<double>(at_.rewards, env),
          .end = static_cast<End>(*Element<std::int32_t>(at_.ends, env)),
          .lives = *Element<std::int32_t>(at_.lives, env),
          .played = *Element<std::int32_t>(at_.played, env)};
}

std::span<const std::uint8_t> Worker::Bytes(std::size_t offset, int env) const {
  if (!spec_.bytes) return {};
  return {Element<std::uint8_t>(offset, env, at_.stride), frame_size_};
}

std::span<const float> Worker::Floats(std::size_t offset, int env) const {
  if (spec_.bytes) return {};
  return {Element<float>(offset, env, at_.stride), frame_size_};
}

}  // namespace starling::envs
