// Measures the nets on one core: a whole rollout and its gradient, and every op in it, beside the
// fastest dense product of this process.
#include <fmt/format.h>

#include <algorithm>
#include <memory>

#include "actors/model_spec.h"
#include "actors/rollout.h"
#include "bench/actor_speed.h"
#include "bench/figure.h"
#include "bench/stats.h"
#include "bench/training_run.h"
#include "bench/watched_backend.h"
#include "core/config/config.h"
#include "core/random.h"
#include "core/text.h"
#include "envs/registry.h"
#include "fleet/check_config.h"
#include "net/checks/relative_distance.h"
#include "net/model.h"

namespace starling::bench {
namespace {

constexpr const char *kForwardPass = "all of the net, forward",
                     *kBackwardPass = "all of the net, backward";

// The times of all calls of one op, or of all passes of the net.
struct OpTimes {
  std::string op;
  int n = 0;
  double flops = 0;
  std::vector<double> ns;
};

// Rollouts with the initial weights on a backend that times the ops.
class WatchedRollout {
 public:
  explicit WatchedRollout(const Config& config)
      : WatchedRollout(config, std::make_unique<WatchedBackend>(config.net.precision)) {}

  // Repeats rollouts for `seconds`.
  void Measure(double seconds) {
    TimeManyNs(seconds, [&] { Run(); });
  }
  const std::vector<OpTimes>& ops() const { return ops_; }
  double MedianNs(const std::string& op) const {
    return Median(std::ranges::find(ops_, op, &OpTimes::op)->ns);
  }

 private:
  WatchedRollout(const Config& config, std::unique_ptr<WatchedBackend> backend)
      : entropy_(config.loss.entropy),
        backend_(*backend),
        rollout_(config, 0, 1, {.gpu = nullptr, .backend = std::move(backend)}, {}),
        weights_(net::InitialParameters(rollout_.layout(), 1)),
        gradient_(weights_.size()) {}

  void Run() {
    std::ranges::copy(weights_, rollout_.weights().begin());
    rollout_.Run(entropy_, gradient_);
    rollout_.TakeEpisodes();
    // The passes of the net lie between the ops above it; the last of these is the clipping.
    OpCall pass{.op = kForwardPass};
    for (const OpCall& call : backend_.TakeCalls()) {
      if (call.op != kSampling && call.op != kLoss && call.op != kClipping) {
        pass.n = std::max(pass.n, call.n);
        pass.flops += call.flops;
        pass.ns += call.ns;
      } else {
        Add(pass);
        pass = {.op = call.op == kLoss ? kBackwardPass : kForwardPass};
      }
      Add(call);
    }
  }
  void Add(const OpCall& call) {
    auto found = std::ranges::find_if(
        ops_, [&](const OpTimes& op) { return op.op == call.op && op.n == call.n; });
    if (found == ops_.end()) {
      found = ops_.insert(found, {.op = call.op, .n = call.n, .flops = call.flops, .ns = {}});
    }
    found->ns.push_back(call.ns);
  }

  const double entropy_;
  WatchedBackend& backend_;  // the rollout's
  actors::Rollout rollout_;
  const std::vector<float> weights_;
  std::vector<float> gradient_;
  std::vector<OpTimes> ops_;
};

struct Net {
  const char* name;
  Config config;
  int rows() const { return static_cast<int>(config.samples_per_gradient()); }
};

// Adds the net's rows, its table of ops and its JSON.
void Measure(const Net& net, double seconds, double best, Result& result, Json& json) {
  WatchedRollout rollout(net.config);
  rollout.Measure(seconds);

  // 1. A line for each op; a row for each pass of the whole net.
  result.details += fmt::format("{}The {} net's ops, medians:\n\n",
                                result.details.empty() ? "" : "\n", net.name) +
                    Head({"op", "samples", "µs", "as GFLOP/s dense", "% of sgemm"});
  for (const auto& [op, n, flops, times_ns] : rollout.ops()) {
    const double ns = Median(times_ns);
    const std::string gflops = fmt::format("{:.0f}", flops / ns);
    const std::string percent = fmt::format("{:.0f}", 100 * flops / ns / best);
    result.details += Line({op, fmt::format("{}", n), fmt::format("{:.1f}", ns / 1e3),
                            flops == 0 ? "" : gflops, flops == 0 ? "" : percent});
    json["ops"].push_back({{"op", op}, {"samples", n}, {"us", ns / 1e3}, {"flops", flops}});
    if (op != kForwardPass && op != kBackwardPass) continue;
    result.rows.push_back(
        {.what = fmt::format("{} net on one core: {}, batch {}", net.name, op.substr(16), n),
         .measured = fmt::format("{:.0f} µs: as {} GFLOP/s dense, {} % of sgemm", ns / 1e3, gflops,
                                 percent)});
  }
  // 2. The gradient without acting, and the rollout around all of them.
  const double learn_us =
      (rollout.MedianNs(kLoss) + rollout.MedianNs(kBackwardPass) + rollout.MedianNs(kClipping)) /
      1e3 / net.rows();
  const double steps_per_second = MeasureActor(net.config, seconds / 2).steps_per_second;
  result.rows.push_back({.what = "… gradient alone, a step of one env",
                         .measured = fmt::format("{:.2f} µs", learn_us)});
  result.rows.push_back(
      {.what = fmt::format("… rollout and gradient, {} envs × {} steps",
                           net.config.actors.envs_per_actor, net.config.actors.unroll),
       .measured = fmt::format("{} steps/s", Rounded(steps_per_second))});
  json["gradient_us_per_step"] = learn_us;
  json["rollout_steps_per_second"] = steps_per_second;
}

// The gradient of the net for sparse observations and random gradients of its outputs, the same in
// every precision.
std::vector<float> GradientOf(const Config& config) {
  const int envs = static_cast<int>(config.actors.envs_per_actor);
  const int steps = static_cast<int>(config.actors.unroll);
  const auto backend = net::MakeCpuBackend(config.net.precision);
  const auto model = net::MakeModel<float>(actors::ModelSpecOf(config, envs::SpecOf(config.env)),
                                           *backend, {.envs = envs, .steps = steps});
  const std::vector<float> weights = net::InitialParameters(model->layout(), 1);
  RandomStream random(StreamId{.seed = 1});
  for (float& x : model->observations()) x = random.UniformDouble() < 0.1 ? 1.0f : 0.0f;
  std::vector<float> dvalues(static_cast<std::size_t>(envs * steps)), gradient(weights.size());
  std::vector<float> dlogits(dvalues.size() * static_cast<std::size_t>(model->outputs()));
  for (float& value : dvalues) value = random.Normal();
  for (float& value : dlogits) value = random.Normal();
  for (int t = 0; t < steps; ++t) model->Forward(weights, t);
  model->Backward(weights, steps, dlogits, dvalues, gradient);
  return gradient;
}

// Adds the net's rows in bf16 beside f32, measured in turns, so that a disturbance hits both.
void MeasureBf16(const Net& net, double seconds, Result& result, Json& json) {
  constexpr int kTurns = 4;
  Config bf16 = net.config;
  bf16.net.precision = Precision::kBf16;
  if (!fleet::CheckConfig(bf16).empty()) {
    result.rows.push_back({.what = fmt::format("{} net in bf16", net.name),
                           .measured = "not measured: this processor has no bf16 products"});
    return;
  }
  WatchedRollout exact(net.config), rounded(bf16);
  std::vector<double> exact_ns, rounded_ns;  // of whole rollouts
  for (int turn = 0; turn < kTurns; ++turn) {
    const double each_s = seconds / kTurns / 4;
    exact.Measure(each_s);
    rounded.Measure(each_s);
    exact_ns.push_back(net.rows() * 1e9 / MeasureActor(net.config, each_s).steps_per_second);
    rounded_ns.push_back(net.rows() * 1e9 / MeasureActor(bf16, each_s).steps_per_second);
  }
  const auto add = [&](const char* what, const char* key, double f32_ns, double ns,
                       const std::string& more = "") {
    result.rows.push_back({.what = fmt::format("{} net in bf16: {}", net.name, what),
                           .measured = fmt::format("{:.0f} µs, {:.2f} × as fast as f32{}", ns / 1e3,
                                                   f32_ns / ns, more)});
    json[key] = {{"f32_us", f32_ns / 1e3}, {"bf16_us", ns / 1e3}};
  };
  const double error = net::RelativeDistance(GradientOf(bf16), GradientOf(net.config));
  add("forward", "forward", exact.MedianNs(kForwardPass), rounded.MedianNs(kForwardPass));
  add("backward", "backward", exact.MedianNs(kBackwardPass), rounded.MedianNs(kBackwardPass));
  add("rollout and gradient", "rollout", Median(exact_ns), Median(rounded_ns),
      fmt::format("; gradient off by {:.2g} of its length", error));
  json["gradient_error"] = error;
}

}  // namespace

Result MeasureKernels(const Site& site) {
  const double seconds = site.quick ? 0.2 : 4;
  const double best = BestSgemmGflops(site.quick ? 0.03 : 1, 1);
  const auto shape = [](const std::filesystem::path& config, int envs) {
    return LoadConfig(config, {Set("actors.envs_per_actor", envs), "actors.unroll=5"});
  };
  const Net nets[] = {{"MinAtar", shape(site.config, 64)},
                      {"Atari", shape(site.shipped / "pong.toml", 8)}};
  Result result{.json = {{"sgemm_gflops", best}}};
  for (const Net& net : nets) Measure(net, seconds, best, result, result.json[net.name]);
  MeasureBf16(nets[0], seconds, result, result.json["MinAtar in bf16"]);
  result.rows.push_back({.what = "sgemm at its best in the same process, one core",
                         .measured = fmt::format("{:.0f} GFLOP/s", best)});
  return result;
}

}  // namespace starling::bench
