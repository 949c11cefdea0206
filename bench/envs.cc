// Measures the speed of the games: of the bundled ones, steps with their observations of 256 envs
// on one core, with random actions drawn beforehand (whatever is masked); and of Atari's Pong
// behind the bridge, through Gymnasium and without it, beside Gymnasium's in plain Python.
#include <fmt/format.h>

#include <cmath>
#include <cstdlib>
#include <span>

#include "bench/figure.h"
#include "bench/stats.h"
#include "bench/training_run.h"
#include "core/error.h"
#include "core/random.h"
#include "core/text.h"
#include "envs/bridge/bridge.h"
#include "envs/registry.h"

namespace starling::bench {
namespace {

constexpr int kEnvs = 256;
constexpr int kActionSets = 64;  // enough that the branch predictor cannot learn them

// Steps per second over all envs: the median over many batches of kActionSets steps.
double StepsPerSecond(const std::string& name, double seconds) {
  const auto env = envs::MakeVecEnv({.name = name}, kEnvs, {.seed = 1});
  const ActionSpace& space = env->spec().actions;
  const auto width = static_cast<std::size_t>(space.width());
  std::vector<float> seen(kEnvs * env->spec().row());
  std::vector<float> rewards(kEnvs);
  std::vector<std::uint8_t> ends(kEnvs);
  std::vector<envs::EpisodeEnd> episodes;
  RandomStream random(StreamId{.seed = 2});
  std::vector<std::vector<std::int32_t>> actions(kActionSets,
                                                 std::vector<std::int32_t>(kEnvs * width));
  for (auto& of_step : actions) {
    for (std::size_t i = 0; i < kEnvs; ++i) {
      RandomAction(space, {}, random, std::span(of_step).subspan(i * width, width));
    }
  }
  env->Reset(seen);
  const std::vector<double> times = TimeManyNs(seconds, [&] {
    for (const auto& of_step : actions) env->Step(of_step, seen, rewards, ends);
    env->TakeEpisodes(episodes);
    episodes.clear();
  });
  return kEnvs * kActionSets / (Median(times) * 1e-9);
}

double WantedOf(const std::string& name) {
  if (name == "minatar/breakout") return 10e6;
  if (name.starts_with("minatar/")) return 4e6;
  return name == "arcade/pong" ? 200e3 : 0;
}

std::string Rate(double rate) {
  return rate >= 1e6 ? fmt::format("{:.1f} million steps/s", rate / 1e6)
                     : fmt::format("{} steps/s", Rounded(std::round(rate / 1000) * 1000));
}

constexpr const char* kId = "ALE/Pong-v5";
constexpr const char* kGym = "gym:ALE/Pong-v5";
constexpr const char* kFourFrames =
    "an action of four frames, the last two seen, 8 in a process, beside the same four env.step in "
    "plain Python";

struct Load {
  const char* env;
  const char* what;
  int count;       // envs in a process
  int frames;      // per action
  double max = 0;  // limit of the ratio; 0 = none
};
constexpr Load kLoads[] = {
    {kGym, kFourFrames, 8, 4, 1.1},
    {kGym, "one frame, 8 in a process, beside plain Python", 8, 1},
    {kGym, "one frame, 1 in a process, beside plain Python", 1, 1},
    {"ale:pong", kFourFrames, 8, 4, 1.1},
};

// Microseconds of an action in one env in plain Python.
double PlainUs(const Site& site, const std::string& python, const Load& load, int actions) {
  const auto script = site.config.parent_path() / "plain_gym.py";
  const std::vector<std::string> said =
      RunChild({.program = python,
                .arguments = {script.string(), kId, std::to_string(load.count),
                              std::to_string(load.frames), std::to_string(actions)},
                .timeout_s = 120,
                .stop_fd = site.stop_fd});
  return std::strtod(said.back().c_str(), nullptr) * 1e6 / (load.count * actions);
}

// The same behind the bridge, with one worker process.
double BridgeUs(const Load& load, int actions) {
  using envs::FrameEnvs;
  EnvConfig config{.name = load.env, .sticky_actions = 0};
  config.per_process = load.count;
  config.repeat = load.frames;
  config.max_pool = load.frames > 1;
  const auto envs = envs::MakeFrames(config, load.count, {.seed = 1});
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

// Adds the rows of Atari's Pong. Without Gymnasium, one row holds the reason.
void AddGym(const Site& site, Result& result) {
  std::string python;
  try {
    python = envs::FindPython("auto", site.programs, std::filesystem::current_path());
    for (const Load& load : kLoads) envs::SpecOf({.name = load.env});
  } catch (const UserError& error) {
    result.rows.push_back(
        {.what = kGym, .measured = fmt::format("not measured: {}", error.what())});
    return;
  }
  for (const Load& load : kLoads) {
    // Measures both ways in turns, so that a disturbance hits both.
    const int actions = (site.quick ? 800 : 16'000) / (load.count * load.frames);
    const int rounds = site.quick ? 1 : 7;
    std::vector<double> plain, bridge, ratios;
    for (int round = 0; round < rounds; ++round) {
      plain.push_back(PlainUs(site, python, load, actions));
      bridge.push_back(BridgeUs(load, actions));
      ratios.push_back(bridge.back() / plain.back());
    }
    const double ratio = Median(ratios);
    Row& row = result.rows.emplace_back(
        Row{.what = fmt::format("{}, {}", load.env, load.what),
            .measured = fmt::format("{:.1f} µs / {:.1f} µs = {:.2f} (median of {} rounds)",
                                    Median(bridge), Median(plain), ratio, rounds)});
    if (load.max > 0) {
      row.wanted = fmt::format("≤ {:.2f}", load.max);
      row.holds = site.Judged(ratio <= load.max);
    }
    result.json[load.env][fmt::format("{}_in_a_process_{}_frames", load.count, load.frames)] = {
        {"bridge_us", Median(bridge)}, {"python_us", Median(plain)}, {"ratio", ratio}};
  }
}

}  // namespace

Result MeasureEnvs(const Site& site) {
  Result result;
  for (const std::string& name : envs::EnvNames()) {
    const double rate = StepsPerSecond(name, site.quick ? 0.02 : 1), wanted = WantedOf(name);
    Row& row = result.rows.emplace_back(
        Row{.what = fmt::format("{}, 256 envs, step and observation, one core", name),
            .measured = fmt::format("{} ({:.0f} ns)", Rate(rate), 1e9 / rate)});
    if (wanted > 0) {
      row.wanted = "≥ " + Rate(wanted);
      row.holds = site.Judged(rate >= wanted);
    }
    result.json[name] = {{"steps_per_second", rate}, {"ns_per_step", 1e9 / rate}};
  }
  AddGym(site, result);
  return result;
}

}  // namespace starling::bench
