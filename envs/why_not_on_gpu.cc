#include <fmt/format.h>

#include "core/check.h"
#include "envs/bridge/gym.h"
#include "envs/bridge/plugin_library.h"
#include "envs/gpu.h"
#include "envs/wrappers/wrapped.h"

namespace starling::envs {

std::string WhyNotOnGpu(const EnvConfig& config) {
  constexpr char kWrapper[] = "works only on a CPU; leave it out";
  const struct {
    bool found;
    const char* key;
    std::string why;
  } obstacles[] = {
      // 1. Envs that are not bundled.
      {config.name.starts_with(kGymPrefix), "name",
       config.name +
           " is played by Gymnasium, on a CPU; only bundled games can be played on a GPU"},
      {config.name.starts_with(kPluginPrefix), "name",
       config.name + " is a library for a CPU; only bundled games can be played on a GPU"},
      // 2. The pace: a GPU plays whole unrolls.
      {config.step_ms > 0, "step_ms",
       "is a pace that only envs on a CPU can keep: a GPU plays a whole unroll at once; leave it "
       "out"},
      // 3. The wrappers.
      {config.noop_max > 0, "noop_max", kWrapper},
      {config.repeat > 1, "repeat", kWrapper},
      {config.life_loss_ends, "life_loss_ends", kWrapper},
      {config.time_limit > 0, "time_limit", kWrapper},
      {config.reward_clip > 0, "reward_clip", kWrapper},
      {config.pixels, "pixels", kWrapper},
      {config.stack > 1, "stack", kWrapper},
  };
  for (const auto& [found, key, why] : obstacles) {
    if (found) return fmt::format("env.{}: {}", key, why);
  }
  CHECK(!NeedsWrappers(config), "a wrapper without a sentence");
  return "";
}

}  // namespace starling::envs
