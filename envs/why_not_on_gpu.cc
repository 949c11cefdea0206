#include <fmt/format.h>

#include "core/check.h"
#include "envs/bridge/gym.h"
#include "envs/bridge/plugin_library.h"
#include "envs/gpu.h"
#include "envs/wrappers/wrapped.h"

namespace starling::envs {

std::string WhyNotOnGpu(const EnvConfig& config) {
  const auto sentence = [&](const char* key, const std::string& what) {
    return fmt::format("env.{}: {}", key, what);
  };
  if (config.name.starts_with(kGymPrefix)) {
    return sentence("name", config.name +
                                " is played by Gymnasium, on a CPU; only bundled games "
                                "can be played on a GPU");
  }
  if (config.name.starts_with(kPluginPrefix)) {
    return sentence("name", config.name +
                                " is a library for a CPU; only bundled games can be "
                                "played on a GPU");
  }
  if (config.step_ms > 0) {
    return sentence("step_ms",
                    "is a pace that only envs on a CPU can keep: a GPU plays a whole "
                    "unroll at once; leave it out");
  }
  if (!NeedsWrappers(config)) return "";
  const struct {
    bool set;
    const char* key;
  } wrappers[] = {{config.noop_max > 0, "noop_max"},
                  {config.repeat > 1, "repeat"},
                  {config.life_loss_ends, "life_loss_ends"},
                  {config.time_limit > 0, "time_limit"},
                  {config.reward_clip > 0, "reward_clip"},
                  {config.pixels, "pixels"},
                  {config.stack > 1, "stack"}};
  for (const auto& [set, key] : wrappers) {
    if (set) {
      return sentence(key, "is done on a CPU, and a game on a GPU does without; leave it out");
    }
  }
  CHECK(false, "a wrapper without a sentence");
}

}  // namespace starling::envs
