// The worker of fake_worker.py: its program for Worker and WorkerEnvs, and its observations.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "core/random.h"
#include "envs/bridge/worker_envs.h"
#include "tests/support/error_of.h"

namespace starling::envs {

// `options` is the text of a JSON object.
inline WorkerProgram FakeWorker(const std::string& options = "{}") {
  return {.argv = {"python3", STARLING_SOURCE_DIR "/tests/envs/bridge/fake_worker.py"},
          .settings = {{"env", "fake"}, {"options", nlohmann::json::parse(options)}},
          .name = "fake"};
}

constexpr std::int32_t kSkip = FrameEnvs::kSkip, kReset = FrameEnvs::kReset;
constexpr EnvSeed kSeed{.seed = 5, .slot = 1, .life = 2};

using Commands = std::vector<std::int32_t>;

// Its observation after the `draw`th seed of env `env` of kSeed.
inline float Shown(std::uint32_t env, int draw = 1) {
  RandomStream stream({kSeed.seed, kSeed.slot, kSeed.life, env, Purpose::kEnv});
  std::uint64_t seed = 0;
  while (draw-- > 0) seed = WorkerSeed(stream);
  return static_cast<float>(seed % (1 << 20));
}

inline std::vector<float> Frame(const FrameEnvs& envs, int env) {
  const auto frame = envs.floats(env);
  return {frame.begin(), frame.end()};
}

// Why it cannot be tried; "" if it can.
inline std::string TrialOf(const std::string& options, double timeout_s = 60) {
  return ErrorOf([&] { TryWorker(FakeWorker(options), timeout_s, "mend it"); });
}

}  // namespace starling::envs
