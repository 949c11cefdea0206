// What Gymnasium's envs cost through our processes, beside the same envs stepped in plain Python.
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

// Steps envs of one process, one after the other, as the bridge's worker does; prints the seconds.
constexpr const char* kPlainPython = R"(
import sys, time, gymnasium, ale_py
gymnasium.register_envs(ale_py)
count, steps = int(sys.argv[1]), int(sys.argv[2])
envs = [gymnasium.make(sys.argv[3], obs_type="grayscale", frameskip=1,
                       repeat_action_probability=0.0, disable_env_checker=True)
        for _ in range(count)]
for i, env in enumerate(envs):
    env.reset(seed=i)
begin = time.perf_counter()
for step in range(steps):
    for i, env in enumerate(envs):
        _, _, terminated, truncated, _ = env.step((step + i) % 6)
        if terminated or truncated:
            env.reset()
print(time.perf_counter() - begin)
)";

// Microseconds that a step of one of `count` envs takes in plain Python.
double PlainUs(const Site& site, const std::string& python, int count, int steps) {
  const auto script = site.scratch / "plain.py";
  std::ofstream(script) << kPlainPython;
  const ChildReport report =
      RunChild({.program = python,
                .arguments = {script.string(), std::to_string(count), std::to_string(steps), kId},
                .timeout_s = 120,
                .stop_fd = site.stop_fd});
  const std::size_t line = report.output.find_last_of('\n', report.output.size() - 2);
  const std::string last = report.output.substr(line == std::string::npos ? 0 : line + 1);
  return std::strtod(last.c_str(), nullptr) * 1e6 / (count * steps);
}

// The same through one process of ours.
double BridgeUs(const EnvConfig& config, int count, int steps) {
  using envs::FrameEnvs;
  const auto envs = envs::MakeGymFrames(config, count, {.seed = 1});
  std::vector<std::int32_t> commands(static_cast<std::size_t>(count), FrameEnvs::kReset);
  envs->Advance(commands);
  const double ns = TimeNs([&] {
    for (int step = 0; step < steps; ++step) {
      for (int i = 0; i < count; ++i) {
        const bool over = envs->result(i).end != envs::End::kRunning;
        commands[static_cast<std::size_t>(i)] = over ? FrameEnvs::kReset : (step + i) % 6;
      }
      envs->Advance(commands);
    }
  });
  return ns / 1000 / (count * steps);
}

}  // namespace

Result MeasureGym(const Site& site) {
  EnvConfig config{.name = std::string(envs::kGymPrefix) + kId, .sticky_actions = 0};
  std::string python;
  try {
    python = envs::FindPython("auto", site.programs, std::filesystem::current_path());
    envs::GymSpec(config);
  } catch (const UserError& error) {
    return {.rows = {{.what = fmt::format("gym:{}", kId),
                      .measured = fmt::format("not measured: {}", error.what())}}};
  }
  Result result;
  nlohmann::ordered_json json;
  for (const int count : {8, 1}) {
    config.per_process = count;
    const int steps = (site.quick ? 800 : 16'000) / count, rounds = site.quick ? 1 : 7;
    std::vector<double> plain, bridge, ratios;
    for (int round = 0; round < rounds; ++round) {  // in turns: both see the same machine
      plain.push_back(PlainUs(site, python, count, steps));
      bridge.push_back(BridgeUs(config, count, steps));
      ratios.push_back(bridge.back() / plain.back());
    }
    Row row{
        .what = fmt::format("gym:{}, one frame, {} in a process, beside plain Python", kId, count),
        .measured = fmt::format("{:.1f} µs / {:.1f} µs = {:.2f} (median of {} rounds)",
                                Median(bridge), Median(plain), Median(ratios), rounds)};
    if (count == 8) {
      row.wanted = "≤ 1.10";
      if (!site.quick) row.holds = Median(ratios) <= 1.10;
    }
    result.rows.push_back(row);
    json[fmt::format("{}_in_a_process", count)] = {
        {"bridge_us", Median(bridge)}, {"python_us", Median(plain)}, {"ratio", Median(ratios)}};
  }
  result.json = json.dump();
  return result;
}

}  // namespace starling::bench
