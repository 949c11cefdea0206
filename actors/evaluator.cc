#include "actors/evaluator.h"

#include <cmath>
#include <numeric>

#include "actors/rollout.h"
#include "core/check.h"
#include "envs/registry.h"

namespace starling::actors {

namespace {

constexpr std::uint32_t kEvalSlot =
    0xffffffff;  // no actor's: evaluation shares no stream with training

int EnvsFor(std::int64_t episodes) {
  std::int64_t envs = std::min<std::int64_t>(episodes, 128);
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

}  // namespace

EvalResult Evaluate(const Config& config, std::span<const float> weights, const EvalPlan& plan) {
  CHECK(plan.episodes >= 1);
  const int envs = EnvsFor(plan.episodes);
  const auto n = static_cast<std::size_t>(envs);
  const auto wanted = static_cast<std::size_t>(plan.episodes / envs);
  auto env = envs::MakeVecEnv(config.env, envs, {plan.seed, kEvalSlot, 0});
  const auto backend = net::MakeCpuBackend();
  const auto model = net::MakeModel<float>(ModelSpecOf(config, env->spec()), *backend, envs);
  CHECK(weights.size() == model->layout().size(), "{} weights", weights.size());

  std::vector<RandomStream> streams;
  for (std::uint32_t i = 0; i < n; ++i) {
    streams.emplace_back(StreamId{plan.seed, kEvalSlot, 0, i, Purpose::kEval});
  }
  std::vector<float> uniforms(n), rewards(n);
  std::vector<std::int32_t> actions(n);
  std::vector<std::uint8_t> terminals(n);
  std::vector<double> running(n, 0.0);
  std::vector<std::int64_t> length(n, 0);
  std::vector<std::vector<double>> returns(n);
  EvalResult result;
  std::size_t unfinished = n;
  env->Reset(model->observations());
  while (unfinished > 0) {
    model->Forward(weights, 0, envs);
    if (plan.greedy) {
      net::GreedyActions(envs, model->num_actions(), model->logits(), actions);
    } else {
      for (std::size_t i = 0; i < n; ++i) uniforms[i] = streams[i].Uniform();
      net::SampleActions(envs, model->num_actions(), model->logits(), uniforms, actions);
    }
    env->Step(actions, model->observations(), rewards, terminals);
    for (std::size_t i = 0; i < n; ++i) {
      running[i] += static_cast<double>(rewards[i]);
      const bool cut = ++length[i] >= plan.max_steps && !terminals[i];
      if (!terminals[i] && !cut) continue;
      if (returns[i].size() < wanted) {
        returns[i].push_back(running[i]);
        result.cut += cut;
        if (returns[i].size() == wanted) --unfinished;
      }
      running[i] = 0;
      length[i] = 0;
    }
  }
  for (const auto& of_env : returns) {
    result.returns.insert(result.returns.end(), of_env.begin(), of_env.end());
  }
  Summarise(result);
  return result;
}

}  // namespace starling::actors
