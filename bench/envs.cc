// Measures the speed of the bundled games: steps with their observations of 256 envs on one core,
// with random actions drawn beforehand.
#include <fmt/format.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "bench/figure.h"
#include "bench/stats.h"
#include "core/random.h"
#include "core/text.h"
#include "envs/registry.h"
#include "results/summary.h"

namespace starling::bench {
namespace {

constexpr int kEnvs = 256;
constexpr int kActionSets = 64;  // enough that the branch predictor cannot learn them

// Steps per second over all envs: the median over many batches of kActionSets steps.
double StepsPerSecond(const std::string& name, double seconds) {
  const auto env = envs::MakeVecEnv({.name = name}, kEnvs, {.seed = 1});
  std::vector<float> seen(static_cast<std::size_t>(kEnvs * env->spec().obs_size()));
  std::vector<float> rewards(kEnvs);
  std::vector<std::uint8_t> ends(kEnvs);
  std::vector<envs::EpisodeEnd> episodes;
  RandomStream random(StreamId{.seed = 2});
  std::vector<std::vector<std::int32_t>> actions(kActionSets, std::vector<std::int32_t>(kEnvs));
  for (auto& of_step : actions) {
    for (std::int32_t& action : of_step) {
      action = static_cast<std::int32_t>(
          random.Below(static_cast<std::uint32_t>(env->spec().num_actions)));
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
  if (name == "arcade/pong") return 200e3;
  return 0;
}

std::string Rate(double rate) {
  return rate >= 1e6
             ? fmt::format("{:.1f} million steps/s", rate / 1e6)
             : fmt::format("{} steps/s",
                           Grouped(static_cast<std::uint64_t>(std::llround(rate / 1000) * 1000)));
}

}  // namespace

Result MeasureEnvs(const Site& site) {
  Result result;
  nlohmann::ordered_json json;
  for (const std::string& name : envs::EnvNames()) {
    const double rate = StepsPerSecond(name, site.quick ? 0.02 : 1);
    Row row{.what = fmt::format("{}, 256 envs, step and observation, one core", name),
            .measured = fmt::format("{} ({:.0f} ns)", Rate(rate), 1e9 / rate)};
    if (const double wanted = WantedOf(name); wanted > 0) {
      row.wanted = "≥ " + Rate(wanted);
      if (!site.quick) row.holds = rate >= wanted;
    }
    result.rows.push_back(row);
    json[name] = {{"steps_per_second", rate}, {"ns_per_step", 1e9 / rate}};
  }
  // The games of Gymnasium have rows of their own, in the same table.
  const Result gym = MeasureGym(site);
  result.rows.insert(result.rows.end(), gym.rows.begin(), gym.rows.end());
  if (!gym.json.empty()) json["gym:ALE/Pong-v5"] = nlohmann::ordered_json::parse(gym.json);
  result.json = json.dump();
  return result;
}

}  // namespace starling::bench
