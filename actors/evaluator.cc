#include "actors/evaluator.h"

#include <fmt/format.h>

#include <cmath>
#include <numeric>
#include <stdexcept>
#include <string>

#include "actors/player.h"
#include "core/check.h"
#include "core/log.h"
#include "envs/registry.h"

namespace starling::actors {

namespace {

constexpr std::int64_t kMaxEnvs = 128;
constexpr int kMaxLosses = 50;  // without an episode that ended between

int EnvsFor(std::int64_t episodes) {
  std::int64_t envs = std::min(episodes, kMaxEnvs);
  while (episodes % envs != 0) --envs;
  return static_cast<int>(envs);
}

void Summarise(EvalResult& result) {
  const auto n = static_cast<double>(result.returns.size());
  result.mean = std::accumulate(result.returns.begin(), result.returns.end(), 0.0) / n;
  double squares = 0;
  for (double value : result.returns) squares += (value - result.mean) * (value - result.mean);
  result.std = n > 1 ? std::sqrt(squares / (n - 1)) : 0;
}

std::string Hopeless(const Config& config) {
  return fmt::format(
      "{}: processes failed {} times without an episode that ended between: it cannot be "
      "evaluated; mend the env, give it more time (env.timeout_s), or let fewer envs share a "
      "process (env.per_process)",
      config.env.name, kMaxLosses);
}

}  // namespace

EvalResult Evaluate(const Config& config, std::span<const float> weights, const EvalPlan& plan) {
  CHECK(plan.episodes >= 1);
  // 1. Make the envs and a player.
  const int envs = EnvsFor(plan.episodes);
  const std::int64_t wanted = plan.episodes / envs;  // of each env
  EnvConfig played = config.env;
  if (played.time_limit == 0 || played.time_limit > plan.max_steps) {
    played.time_limit = plan.max_steps;
  }
  const auto env = envs::MakeVecEnv(played, envs, {plan.seed, kPlayerSlot, 0});
  Player player(config, weights, *env, plan.seed, plan.greedy);

  // 2. Play until each env has ended `wanted` episodes. Surplus episodes are not counted.
  std::vector<envs::EpisodeEnd> ended;
  std::vector<std::vector<double>> returns(static_cast<std::size_t>(envs));
  int lost = 0, losses = 0;  // episodes; and steps that lost some, since one last ended
  EvalResult result;
  int unfinished = envs;
  while (unfinished > 0) {
    ended.clear();
    player.Step(ended);
    bool loses = false;
    for (const envs::EpisodeEnd& episode : ended) {
      auto& of_env = returns[episode.env];
      if (std::ssize(of_env) == wanted) continue;
      if (episode.end == envs::End::kCut) {
        loses = true;
        ++lost;
        continue;
      }
      losses = 0;
      of_env.push_back(episode.episode_return);
      result.cut += episode.end == envs::End::kTruncated && episode.length >= plan.max_steps;
      if (std::ssize(of_env) == wanted) --unfinished;
    }
    losses += loses;
    if (losses == kMaxLosses) throw std::runtime_error(Hopeless(config));
  }
  if (lost > 0) {
    LogWarn("{} more episodes were lost, because their process failed; they are not counted", lost);
  }

  // 3. Collect the returns by env.
  for (const auto& of_env : returns) {
    result.returns.insert(result.returns.end(), of_env.begin(), of_env.end());
  }
  Summarise(result);
  return result;
}

}  // namespace starling::actors
