// The net on one core: forward, backward and a whole rollout, beside the best dense product that
// this process manages.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <nlohmann/json.hpp>
#include <span>

#include "actors/rollout.h"
#include "bench/figure.h"
#include "bench/stats.h"
#include "core/config.h"
#include "core/random.h"
#include "envs/registry.h"
#include "fleet/blueprint.h"
#include "fleet/summary.h"
#include "net/backend.h"
#include "net/cpu/gemm.h"
#include "net/model.h"

namespace starling::bench {
namespace {

constexpr int kEnvs = 64, kUnroll = 5;

// Multiply-adds of one sample count two; what is zero counts, too. Backward is without the first
// layer's input.
struct Flops {
  double forward = 0, backward = 0;
};

Flops FlopsOf(const net::ParameterLayout& layout, const envs::EnvSpec& env) {
  Flops flops;
  for (const net::Parameter& parameter : layout.parameters()) {
    if (!parameter.name.ends_with(".weight")) continue;
    const bool conv = parameter.shape.size() == 4;
    const double cells = conv ? (env.height - 2) * (env.width - 2) : 1;  // 3x3, stride 1
    const double once = 2 * cells * static_cast<double>(parameter.size);
    flops.forward += once;
    flops.backward += conv ? once : 2 * once;
  }
  return flops;
}

double BestGemmGflops(double seconds) {
  double best = 0;
  for (const int n : {256, 512, 1024}) {
    const auto size = static_cast<std::size_t>(n) * static_cast<std::size_t>(n);
    std::vector<float> a(size, 0.5f), b(size, 0.25f), c(size);
    const std::vector<double> times = TimeManyNs(seconds, [&] {
      net::cpu::Gemm(net::cpu::Order::kPlain, net::cpu::Order::kPlain, n, n, n, a.data(), n,
                     b.data(), n, 0, c.data(), n);
    });
    best = std::max(best, 2.0 * n * n * n / Least(times));
  }
  return best;
}

// The net of the configuration over observations of the game, played at random.
class NetBench {
 public:
  explicit NetBench(const Config& config)
      : env_(envs::MakeVecEnv(config.env, kEnvs, {.seed = 1})),
        backend_(net::MakeCpuBackend()),
        model_(net::MakeModel<float>(actors::ModelSpecOf(config, env_->spec()), *backend_, kRows)),
        weights_(net::InitialParameters(model_->layout(), 1)),
        gradient_(weights_.size()) {
    Play();
    const auto width = static_cast<std::size_t>(model_->num_actions());
    for (std::size_t i = 0; i < kRows * width; ++i) dlogits_.push_back(random_.Normal());
    for (std::size_t i = 0; i < kRows; ++i) dvalues_.push_back(random_.Normal());
    for (int t = 0; t < kUnroll; ++t) Forward(t);
  }

  void Forward(int t) { model_->Forward(weights_, t * kEnvs, kEnvs); }
  void Backward() { model_->Backward(weights_, 0, kRows, dlogits_, dvalues_, gradient_); }
  Flops flops() const { return FlopsOf(model_->layout(), env_->spec()); }

 private:
  static constexpr int kRows = kEnvs * kUnroll;

  void Play() {
    constexpr int kWarmUp = 20;
    const auto rows = static_cast<std::size_t>(kEnvs * env_->spec().obs_size());
    const auto actions = static_cast<std::uint32_t>(env_->spec().num_actions);
    std::vector<std::int32_t> taken(kEnvs);
    std::vector<float> rewards(kEnvs);
    std::vector<std::uint8_t> terminals(kEnvs);
    env_->Reset(model_->observations().first(rows));
    for (int step = 0; step < kWarmUp + kUnroll; ++step) {
      for (auto& action : taken) action = static_cast<std::int32_t>(random_.Below(actions));
      const auto t = static_cast<std::size_t>(std::max(0, step - kWarmUp));
      env_->Step(taken, model_->observations().subspan(t * rows, rows), rewards, terminals);
    }
  }

  std::unique_ptr<envs::VecEnv> env_;
  std::unique_ptr<net::Backend<float>> backend_;
  std::unique_ptr<net::Model<float>> model_;
  std::vector<float> weights_, gradient_, dlogits_, dvalues_;
  RandomStream random_{StreamId{.seed = 1}};
};

double RolloutNs(Config config, double seconds) {
  config.actors.envs_per_actor = kEnvs;
  config.actors.unroll = kUnroll;
  actors::Rollout rollout(config, 0, 1);
  std::ranges::copy(fleet::BlueprintOf(config).initial, rollout.weights().begin());
  std::vector<float> gradient(rollout.layout().size());
  return Median(TimeManyNs(seconds, [&] {
    rollout.Run(config.loss.entropy, gradient);
    rollout.TakeEpisodes();
  }));
}

std::string Rate(double ns, double flops, double best) {
  const double rate = flops / ns;
  return fmt::format("{:.0f} µs: as {:.0f} GFLOP/s dense, {:.0f} % of sgemm", ns / 1e3, rate,
                     100 * rate / best);
}

}  // namespace

Result MeasureKernels(const Site& site) {
  const double seconds = site.quick ? 0.1 : 2;
  const Config config = LoadConfig(site.config);
  NetBench net(config);
  const double best = BestGemmGflops(seconds / 2);
  int t = 0;
  const double forward = Median(TimeManyNs(seconds, [&] { net.Forward(t++ % kUnroll); }));
  const double backward = Median(TimeManyNs(seconds, [&] { net.Backward(); }));
  const double rollout = RolloutNs(config, seconds);
  const double steps_per_second = kEnvs * kUnroll / rollout * 1e9;

  const Flops flops = net.flops();
  const std::vector<Row> rows{
      {.what = fmt::format("MinAtar net on one core: forward, batch {}", kEnvs),
       .measured = Rate(forward, flops.forward * kEnvs, best)},
      {.what = fmt::format("… backward, batch {}", kEnvs * kUnroll),
       .measured = Rate(backward, flops.backward * kEnvs * kUnroll, best)},
      {.what = fmt::format("… rollout and gradient, {} envs × {} steps", kEnvs, kUnroll),
       .measured = fmt::format("{} steps/s", fleet::Grouped(static_cast<std::uint64_t>(
                                                 std::llround(steps_per_second))))},
      {.what = "… sgemm at its best in the same process",
       .measured = fmt::format("{:.0f} GFLOP/s", best)}};
  const nlohmann::ordered_json json{{"forward_64_ns", forward},
                                    {"backward_320_ns", backward},
                                    {"rollout_64x5_ns", rollout},
                                    {"rollout_steps_per_second", steps_per_second},
                                    {"forward_flops_per_sample", flops.forward},
                                    {"backward_flops_per_sample", flops.backward},
                                    {"sgemm_gflops", best}};
  return {.rows = rows, .json = json.dump()};
}

}  // namespace starling::bench
