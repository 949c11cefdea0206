#include "bench/actor_speed.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <stdexcept>
#include <utility>

#include "actors/replica.h"
#include "actors/rollout.h"
#include "bench/stats.h"
#include "bench/timed_gpu.h"
#include "core/text.h"
#include "net/backend.h"
#include "net/model.h"

namespace starling::bench {
namespace {

constexpr int kWarmUp = 4;  // unrolls; the second records the graph, the third replays it first
constexpr int kParts = 5;

// Returns the replica of slot 0, and sets `timed` to its GPU, if it has one.
actors::Replica TimedReplica(const Config& config, TimedGpu*& timed) {
  if (!actors::UsesGpu(config)) return actors::MakeReplica(config, 0);
  auto gpu = std::make_unique<TimedGpu>(OpenGpu(0));
  timed = gpu.get();
  std::unique_ptr<net::Backend<float>> backend = net::MakeCudaBackend(*gpu, config.net.precision);
  return {.gpu = std::move(gpu), .backend = std::move(backend)};
}

struct SoloActor {
  explicit SoloActor(const Config& config)
      : entropy(config.loss.entropy),
        rollout(config, 0, 1, TimedReplica(config, gpu), {}),
        weights(net::InitialParameters(rollout.layout(), config.run.seed)),
        gradient(weights.size()) {}

  // As actors do: a gradient ahead if it can (actors/train.h).
  void Run() {
    std::ranges::copy(weights, rollout.weights().begin());
    if (!rollout.runs_ahead()) return Count(rollout.Run(entropy, gradient));
    rollout.Act();
    rollout.StartGradient(0, entropy);
    if (std::exchange(under_way, true)) Count(rollout.FinishGradient(gradient));
  }
  // Waits for the gradient that is under way, if there is one.
  void Settle() {
    if (std::exchange(under_way, false)) Count(rollout.FinishGradient(gradient));
    if (gpu != nullptr) busy_ns += static_cast<double>(gpu->TakeNs());
  }
  void Count(const actors::RolloutGradient& done) {
    rollout.TakeEpisodes();
    if (!std::isfinite(done.norm)) throw std::runtime_error("a gradient is not finite");
    act_ns += 1e3 * done.act_us;
    gradient_ns += 1e3 * done.gradient_us;
    steps += done.samples;
  }

  TimedGpu* gpu = nullptr;
  const double entropy;
  actors::Rollout rollout;
  const std::vector<float> weights;
  std::vector<float> gradient;
  bool under_way = false;
  double act_ns = 0, gradient_ns = 0, busy_ns = 0;
  std::uint64_t steps = 0;
};

ActorCase Breakout(const Config& minatar, const std::string& what, int envs, int unroll) {
  ActorCase one{.key = fmt::format("{}x{}", envs, unroll),
                .what = fmt::format("{}, {} envs × {} steps", what,
                                    Grouped(static_cast<std::uint64_t>(envs)), unroll),
                .config = minatar};
  one.config.actors.envs_per_actor = envs;
  one.config.actors.unroll = unroll;
  return one;
}

}  // namespace

ActorSpeed MeasureActor(const Config& config, double seconds) {
  // 1. Warm up; these unrolls do not count.
  SoloActor actor(config);
  for (int i = 0; i < kWarmUp; ++i) actor.Run();
  actor.Settle();
  actor.act_ns = actor.gradient_ns = actor.busy_ns = 0, actor.steps = 0;

  // 2. Take one rate per part, so that a disturbance spoils one part only.
  std::vector<double> rates;
  double spent_ns = 0;
  for (int part = 0; part < kParts; ++part) {
    const std::uint64_t before = actor.steps;
    double ns = 0;
    do {
      ns += TimeNs([&] { actor.Run(); });
    } while (ns < seconds / kParts * 1e9);
    ns += TimeNs([&] { actor.Settle(); });
    rates.push_back(static_cast<double>(actor.steps - before) / ns * 1e9);
    spent_ns += ns;
  }
  return {.steps_per_second = Median(rates),
          .least = Least(rates),
          .most = Most(rates),
          .act = actor.act_ns / spent_ns,
          .gradient = actor.gradient_ns / spent_ns,
          .busy = actor.busy_ns / spent_ns};
}

std::vector<ActorCase> CasesOnGpu(const Config& minatar, Precision precision, bool quick) {
  std::vector<std::pair<int, int>> shapes = {
      {4096, 5}, {4096, 20}, {16384, 8}, {65536, 5}, {65536, 15}};
  if (quick) shapes = {{1024, 5}};
  std::vector<ActorCase> cases;
  for (const auto& [envs, unroll] : shapes) {
    cases.push_back(
        Breakout(minatar, fmt::format("games on the GPU, {}", NameOf(precision)), envs, unroll));
    Config& config = cases.back().config;
    config.actors.backend = config.actors.env_device = DeviceChoice::kCuda;
    config.net.precision = precision;
  }
  return cases;
}

std::vector<ActorCase> CasesStaged(const Config& minatar, bool quick) {
  std::vector<ActorCase> cases;
  for (const int envs : quick ? std::vector{1024} : std::vector{1024, 4096, 16384}) {
    cases.push_back(Breakout(minatar, "net on the GPU, games on one core", envs, 8));
    cases.back().config.actors.backend = DeviceChoice::kCuda;
    cases.back().config.actors.env_device = DeviceChoice::kCpu;
  }
  return cases;
}

ActorCase CaseOnProcessor(const Config& minatar) {
  ActorCase one = Breakout(minatar, "net and games on one core", 64, 5);
  one.config.actors.backend = one.config.actors.env_device = DeviceChoice::kCpu;
  return one;
}

}  // namespace starling::bench
