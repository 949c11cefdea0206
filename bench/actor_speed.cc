#include "bench/actor_speed.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <stdexcept>

#include "actors/rollout.h"
#include "bench/stats.h"
#include "core/text.h"
#include "net/model.h"

namespace starling::bench {
namespace {

constexpr int kWarmUp = 4;  // unrolls; the second records the graph, the third replays it first
constexpr int kParts = 5;

struct SoloActor {
  explicit SoloActor(const Config& config)
      : entropy(config.loss.entropy),
        rollout(config, 0, 1),
        weights(net::InitialParameters(rollout.layout(), config.run.seed)),
        gradient(weights.size()) {}

  void Run() {
    std::ranges::copy(weights, rollout.weights().begin());
    const auto done = rollout.Run(entropy, gradient);
    rollout.TakeEpisodes();
    if (!std::isfinite(done.norm)) throw std::runtime_error("a gradient is not finite");
    act_ns += 1e3 * done.act_us;
    gradient_ns += 1e3 * done.gradient_us;
    steps += done.samples;
  }

  const double entropy;
  actors::Rollout rollout;
  const std::vector<float> weights;
  std::vector<float> gradient;
  double act_ns = 0, gradient_ns = 0;
  std::uint64_t steps = 0;
};

ActorCase Breakout(const Config& minatar, const std::string& key, const std::string& what, int envs,
                   int unroll) {
  ActorCase one{.key = fmt::format("{}_{}x{}", key, envs, unroll),
                .what = fmt::format("{}, {} envs × {} steps", what,
                                    Grouped(static_cast<std::uint64_t>(envs)), unroll),
                .config = minatar};
  one.config.actors.envs_per_actor = envs;
  one.config.actors.unroll = unroll;
  return one;
}

std::vector<ActorCase> Breakouts(const Config& minatar, const std::string& key,
                                 const std::string& what, DeviceChoice env_device, bool quick) {
  std::vector<ActorCase> cases;
  for (const int envs : {1024, 4096, 16384}) {
    for (const int unroll : {8, 32}) {
      if (quick && (envs > 1024 || unroll > 8)) continue;
      cases.push_back(Breakout(minatar, key, what, envs, unroll));
      cases.back().config.actors.backend = DeviceChoice::kCuda;
      cases.back().config.actors.env_device = env_device;
    }
  }
  return cases;
}

}  // namespace

ActorSpeed MeasureActor(const Config& config, double seconds) {
  // 1. Warm up; these unrolls do not count.
  SoloActor actor(config);
  for (int i = 0; i < kWarmUp; ++i) actor.Run();
  actor.act_ns = actor.gradient_ns = 0, actor.steps = 0;

  // 2. Take one rate per part, so that a disturbance spoils one part only.
  std::vector<double> rates;
  double spent_ns = 0;
  for (int part = 0; part < kParts; ++part) {
    const std::uint64_t before = actor.steps;
    double ns = 0;
    do {
      ns += TimeNs([&] { actor.Run(); });
    } while (ns < seconds / kParts * 1e9);
    rates.push_back(static_cast<double>(actor.steps - before) / ns * 1e9);
    spent_ns += ns;
  }
  return {.steps_per_second = Median(rates),
          .least = Least(rates),
          .most = Most(rates),
          .act = actor.act_ns / spent_ns,
          .gradient = actor.gradient_ns / spent_ns};
}

std::vector<ActorCase> CasesOnGpu(const Config& minatar, bool quick) {
  return Breakouts(minatar, "gpu", "games on the GPU", DeviceChoice::kCuda, quick);
}

std::vector<ActorCase> CasesStaged(const Config& minatar, bool quick) {
  return Breakouts(minatar, "staged", "net on the GPU, games on one core", DeviceChoice::kCpu,
                   quick);
}

ActorCase CaseOnProcessor(const Config& minatar) {
  ActorCase one = Breakout(minatar, "cpu", "net and games on one core", 64, 5);
  one.config.actors.backend = one.config.actors.env_device = DeviceChoice::kCpu;
  return one;
}

}  // namespace starling::bench
