// Bundled games on a GPU, without a net: nanoseconds a step.
#include "bench/gpu_games.h"

#include <fmt/format.h>

#include "bench/gpu_rows.h"
#include "bench/stats.h"
#include "core/action_space.h"
#include "core/memory.h"
#include "core/random.h"
#include "envs/registry.h"

namespace starling::bench {

double GameStepNs(Gpu& gpu, envs::VecEnv& games, int steps, double seconds) {
  Memory& memory = gpu.memory();
  const envs::EnvSpec& spec = games.spec();
  const auto envs = static_cast<std::size_t>(games.size());
  const auto width = static_cast<std::size_t>(spec.actions.width());
  Buffer<float> observations(envs * spec.row(), memory), rewards(envs, memory);
  Buffer<std::uint8_t> terminals(envs, memory);

  // 1. Random actions, the same in every step; masks do not count.
  Buffer<std::int32_t> actions(envs * width, memory.host_side()), there(actions.size(), memory);
  RandomStream random{StreamId{.seed = 1}};
  for (std::size_t env = 0; env < envs; ++env) {
    RandomAction(spec.actions, {}, random, actions.span().subspan(env * width, width));
  }
  Write<std::int32_t>(memory, there.span(), actions.span());
  games.Reset(observations.span());
  memory.Wait();

  // 2. Time recorded steps.
  std::vector<envs::EpisodeEnd> ended;
  const std::vector<double> times = TimeManyNs(seconds, [&] {
    gpu.Repeat(0, [&] {
      for (int step = 0; step < steps; ++step) {
        games.Step(there.span(), observations.span(), rewards.span(), terminals.span());
      }
    });
    games.QueueEpisodes();
    memory.Wait();
    ended.clear();
    games.TakeEpisodes(ended);
  });
  return Median(times) / static_cast<double>(envs) / steps;
}

Result MeasureGpuGames(const Site& site) {
  constexpr int kSteps = 20, kEnvs = 16384, kEnvsWithPictures = 2048, kPicture = 1000;
  GpuRows rows(site);
  for (const std::string& name : envs::EnvNames()) {
    EnvConfig config;
    config.name = name;
    const bool picture = envs::SpecOf(config).obs_size() > kPicture;
    const int envs = site.quick ? 64 : picture ? kEnvsWithPictures : kEnvs;
    rows.Add(name, {.what = fmt::format("{} on a GPU, {} envs", name, envs)}, [&](Row& row) {
      Tell(name);
      const auto gpu = OpenGpu(0);
      const auto games = envs::MakeGpuEnv(config, envs, {.seed = 1}, kSteps, *gpu);
      const double ns = GameStepNs(*gpu, *games, kSteps, site.quick ? 0.1 : 1);
      row.measured = fmt::format("{:.2f} ns a step", ns);
      return Json{{"ns", ns}, {"envs", envs}};
    });
  }
  return rows.Take();
}

}  // namespace starling::bench
