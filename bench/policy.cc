// Measures a trained policy behind the C library (api/starling.h) beside the same net without it:
// an action in every environment.
#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <vector>

#include "actors/policy.h"
#include "api/starling.h"
#include "bench/figure.h"
#include "bench/stats.h"
#include "bench/training_run.h"
#include "core/config/config.h"
#include "learner/storage/checkpoint.h"
#include "results/initial_net.h"
#include "results/trained.h"

namespace starling::bench {
namespace {

constexpr std::uint64_t kSeed = 1;
constexpr double kMostUs = 30;  // over the net's own time

void Check(starling_status status) {
  if (status != STARLING_OK) throw std::runtime_error(starling_error());
}

struct Times {
  double c_us = 0, net_us = 0;  // of an action in all environments
};

// In turns, so that a disturbance hits both.
Times Measure(const std::string& checkpoint, int envs, double seconds) {
  // 1. Both policies, and observations that they share.
  const starling_policy_options options{
      .size = sizeof(options), .envs = envs, .greedy = 0, .seed = kSeed};
  starling_policy* theirs = nullptr;
  Check(starling_policy_open(checkpoint.c_str(), &options, &theirs));
  const results::TrainedPolicy trained = results::LoadPolicy(checkpoint);
  actors::Policy ours(trained.config, trained.env, trained.checkpoint.weights, envs, kSeed, false);
  const auto n = static_cast<std::size_t>(envs);
  std::vector<float> seen(n * trained.env.row());
  for (std::size_t i = 0; i < seen.size(); ++i) seen[i] = static_cast<float>(i % 7 == 0);
  std::vector<std::int32_t> actions(n);
  // 2. Blocks of actions.
  constexpr int kActions = 50, kRounds = 11;
  std::vector<double> c_us, net_us;
  for (int round = 0; round < kRounds; ++round) {
    const double part = seconds / kRounds / 2;
    net_us.push_back(Median(TimeManyNs(part,
                                       [&] {
                                         for (int i = 0; i < kActions; ++i) {
                                           std::ranges::copy(seen, ours.rows().begin());
                                           ours.Act(actions);
                                         }
                                       })) /
                     kActions / 1000);
    c_us.push_back(Median(TimeManyNs(part,
                                     [&] {
                                       for (int i = 0; i < kActions; ++i) {
                                         Check(starling_policy_act(theirs, seen.data(), nullptr,
                                                                   actions.data()));
                                       }
                                     })) /
                   kActions / 1000);
  }
  starling_policy_close(theirs);
  return {.c_us = Median(c_us), .net_us = Median(net_us)};
}

}  // namespace

Result MeasurePolicy(const Site& site) {
  // 1. A checkpoint of first weights: their values take no part in the time.
  const Config config = LoadConfig(site.shipped / "breakout.toml");
  const learner::InitialNet net = results::InitialNetOf(config);
  const std::string checkpoint = learner::WriteCheckpoint(
      site.scratch / "policy",
      learner::CheckpointOf(config, net.layout, net.spaces,
                            {.state = {.weights = net.initial, .optimizer_state = {}}}));
  // 2. Act.
  Result result;
  for (const int envs : {1, 64}) {
    ThrowIfInterrupted(site.stop_fd);
    const Times times = Measure(checkpoint, envs, site.quick ? 0.2 : 6);
    const double more = times.c_us - times.net_us;
    result.rows.push_back(
        {.what = fmt::format("starling_policy_act, configs/breakout.toml, {}, less the net's own",
                             envs == 1 ? "1 env" : fmt::format("{} envs", envs)),
         .measured =
             fmt::format("{:.1f} µs - {:.1f} µs = {:.1f} µs", times.c_us, times.net_us, more),
         .wanted = fmt::format("≤ {:.0f} µs", kMostUs),
         .holds = site.Judged(more <= kMostUs)});
    result.json[fmt::format("{}_envs", envs)] = {{"c_us", times.c_us}, {"net_us", times.net_us}};
  }
  return result;
}

}  // namespace starling::bench
