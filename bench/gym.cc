// Measures Gymnasium's envs behind the bridge, beside the same envs stepped in plain Python.
#include <fmt/format.h>

#include <cstdlib>
#include <fstream>
#include <nlohmann/json.hpp>

#include "bench/child.h"
#include "bench/figure.h"
#include "bench/stats.h"
#include "core/error.h"
#include "envs/bridge/gym.h"

namespace starling::bench {
namespace {

constexpr const char* kId = "ALE/Pong-v5";

// Plays the actions in all envs of one process, one env after the other, as the bridge's worker
// does, each action for `frames` frames. Prints the seconds.
constexpr const char* kPlainPython = R"(
import sys, time, gymnasium, ale_py
gymnasium.register_envs(ale_py)
count, frames, actions = int(sys.argv[2]), int(sys.argv[3]), int(sys.argv[4])
envs = [gymnasium.make(sys.argv[1], obs_type="grayscale", frameskip=1,
                       repeat_action_probability=0.0, disable_env_checker=True)
        for _ in range(count)]
for i, env in enumerate(envs):
    env.reset(seed=i)
begin = time.perf_counter()
for action in range(actions):
    for i, env in enumerate(envs):
        for _ in range(frames):
            _, _, terminated, truncated, _ = env.step((action + i) % 6)
            if terminated or truncated:
                env.reset()
                break
print(time.perf_counter() - begin)
)";

struct Load {
  const char* what;
  int count;       // envs in a process
  int frames;      // per action
  double max = 0;  // limit of the ratio; 0 = none
};

constexpr Load kLoads[] = {
    {.what = "an action of four frames, the last two seen, 8 in a process, beside the same four "
             "env.step in plain Python",
     .count = 8,
     .frames = 4,
     .max = 1.1},
    {.what = "one frame, 8 in a process, beside plain Python", .count = 8, .frames = 1},
    {.what = "one frame, 1 in a process, beside plain Python", .count = 1, .frames = 1},
};

// Microseconds of an action in one env in plain Python.
double PlainUs(const Site& site, const std::string& python, const Load& load, int actions) {
  const auto script = site.scratch / "plain.py";
  std::ofstream(script) << kPlainPython;
  const ChildReport report =
      RunChild({.program = python,
                .arguments = {script.string(), kId, std::to_string(load.count),
                              std::to_string(load.frames), std::to_string(actions)},
                .timeout_s = 120,
                .stop_fd = site.stop_fd});
  const std::size_t line = report.output.find_last_of('\n', report.output.size() - 2);
  const std::string last = report.output.substr(line == std::string::npos ? 0 : line + 1);
  return std::strtod(last.c_str(), nullptr) * 1e6 / (load.count * actions);
}

// The same behind the bridge, with one worker process.
double BridgeUs(EnvConfig config, const Load& load, int actions) {
  using envs::FrameEnvs;
  config.per_process = load.count;
  config.repeat = load.frames;
  config.max_pool = load.frames > 1;
  const auto envs = envs::MakeGymFrames(config, load.count, {.seed = 1});
  std::vector<std::int32_t> commands(static_cast<std::size_t>(load.count), FrameEnvs::kReset);
  envs->Advance(commands);
  const double ns = TimeNs([&] {
    for (int action = 0; action < actions; ++action) {
      for (int i = 0; i < load.count; ++i) {
        const bool over = envs->result(i).end != envs::End::kRunning;
        commands[static_cast<std::size_t>(i)] = over ? FrameEnvs::kReset : (action + i) % 6;
      }
      envs->Advance(commands, load.frames);
    }
  });
  return ns / 1000 / (load.count * actions);
}

}  // namespace

Result MeasureGym(const Site& site) {
  // 1. Without Gymnasium the row holds the reason.
  EnvConfig config{.name = std::string(envs::kGymPrefix) + kId, .sticky_actions = 0};
  std::string python;
  try {
    python = envs::FindPython("auto", site.programs, std::filesystem::current_path());
    envs::GymSpec(config);
  } catch (const UserError& error) {
    return {.rows = {{.what = fmt::format("gym:{}", kId),
                      .measured = fmt::format("not measured: {}", error.what())}}};
  }
  // 2. Measure both ways in turns, so that a disturbance hits both.
  Result result;
  nlohmann::ordered_json json;
  for (const Load& load : kLoads) {
    const int actions = (site.quick ? 800 : 16'000) / (load.count * load.frames);
    const int rounds = site.quick ? 1 : 7;
    std::vector<double> plain, bridge, ratios;
    for (int round = 0; round < rounds; ++round) {
      plain.push_back(PlainUs(site, python, load, actions));
      bridge.push_back(BridgeUs(config, load, actions));
      ratios.push_back(bridge.back() / plain.back());
    }
    Row row{.what = fmt::format("gym:{}, {}", kId, load.what),
            .measured = fmt::format("{:.1f} µs / {:.1f} µs = {:.2f} (median of {} rounds)",
                                    Median(bridge), Median(plain), Median(ratios), rounds)};
    if (load.max > 0) {
      row.wanted = fmt::format("≤ {:.2f}", load.max);
      if (!site.quick) row.holds = Median(ratios) <= load.max;
    }
    result.rows.push_back(row);
    json[fmt::format("{}_in_a_process_{}_frames", load.count, load.frames)] = {
        {"bridge_us", Median(bridge)}, {"python_us", Median(plain)}, {"ratio", Median(ratios)}};
  }
  result.json = json.dump();
  return result;
}

}  // namespace starling::bench
