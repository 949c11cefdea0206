// Plug-ins to play: the test ones (tests/envs/bridge/plugins) and the example.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "core/config/config.h"
#include "core/error.h"
#include "envs/frames.h"
#include "tests/envs/repeat_fixture.h"

namespace starling::envs {

inline std::string PluginPath(const std::string& name) {
  return std::string(STARLING_PLUGINS) + "/" + name + ".so";
}

inline EnvConfig PluginNamed(const std::string& name) {
  return {.name = "plugin:" + PluginPath(name)};
}
inline EnvConfig Isolated(const std::string& name, std::int64_t per_process = 1) {
  EnvConfig config = PluginNamed(name);
  config.isolate = true;
  config.per_process = per_process;
  config.timeout_s = 60;  // no test waits for it, unless it sets another
  return config;
}

// Plays every env for `turns` turns, always action 1, as often as it may be repeated; begins an
// episode again when it has ended. Returns the ends and, for every turn, rewards, lives and frames
// of all envs in turn.
struct Played {
  std::vector<End> ends;
  std::vector<float> seen;
};
inline Played PlayOn(FrameEnvs& envs, int turns) {
  Played played;
  std::vector<std::int32_t> commands(static_cast<std::size_t>(envs.size()), FrameEnvs::kReset);
  for (int turn = 0; turn < turns; ++turn) {
    envs.Advance(commands, envs.repeat().frames);
    for (int i = 0; i < envs.size(); ++i) {
      const FrameResult& result = envs.result(i);
      if (result.end != End::kRunning) played.ends.push_back(result.end);
      commands[static_cast<std::size_t>(i)] = result.end == End::kRunning ? 1 : FrameEnvs::kReset;
      played.seen.push_back(static_cast<float>(result.reward));
      played.seen.push_back(static_cast<float>(result.lives));
      played.seen.insert(played.seen.end(), envs.floats(i).begin(), envs.floats(i).end());
    }
  }
  return played;
}

// As PlayOn, with random actions, each played for a single frame.
inline Played PlayRandomly(FrameEnvs& envs, int turns) {
  const ActionSpace& space = envs.spec().env.actions;
  const auto width = static_cast<std::size_t>(space.width());
  Played played;
  RandomStream random(StreamId{.seed = 4});
  std::vector<std::int32_t> commands(static_cast<std::size_t>(envs.size()) * width,
                                     FrameEnvs::kReset);
  for (int turn = 0; turn < turns; ++turn) {
    envs.Advance(commands);
    for (int i = 0; i < envs.size(); ++i) {
      const FrameResult& result = envs.result(i);
      const auto command = std::span(commands).subspan(static_cast<std::size_t>(i) * width, width);
      if (result.end == End::kRunning) {
        DrawCommand(space, envs.floats(i), random, command);
      } else {
        played.ends.push_back(result.end);
        command[0] = FrameEnvs::kReset;
      }
      played.seen.push_back(static_cast<float>(result.reward));
      played.seen.insert(played.seen.end(), envs.floats(i).begin(), envs.floats(i).end());
    }
  }
  return played;
}

inline int Count(const Played& played, End end) {
  return static_cast<int>(std::ranges::count(played.ends, end));
}

}  // namespace starling::envs
