// Measures the nets on one core: a whole rollout and its gradient, and every op in the shapes and
// on the data of that rollout, beside the fastest dense product of this process.
#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <span>

#include "actors/rollout.h"
#include "bench/figure.h"
#include "bench/stats.h"
#include "bench/watched_backend.h"
#include "core/config/config.h"
#include "core/random.h"
#include "core/text.h"
#include "envs/registry.h"
#include "fleet/check_config.h"
#include "net/loss.h"
#include "net/model.h"
#include "results/initial_net.h"

namespace starling::bench {
namespace {

// The times of all calls of one op.
struct OpTimes {
  std::string op;
  int n = 0;
  double flops = 0;
  std::vector<double> ns;
};

std::size_t Size(int n) { return static_cast<std::size_t>(n); }

// The net of a configuration on observations of its game, with random actions.
class NetBench {
 public:
  NetBench(Config config, int envs, int unroll)
      : config_(std::move(config)),
        envs_(envs),
        unroll_(unroll),
        env_(envs::MakeVecEnv(config_.env, envs, {.seed = 1})),
        backend_(config_.net.precision),
        model_(net::MakeModel<float>(actors::ModelSpecOf(config_, env_->spec()), backend_,
                                     {.envs = envs, .steps = unroll})),
        weights_(net::InitialParameters(model_->layout(), 1)),
        gradient_(weights_.size()),
        dlogits_(Size(rows() * model_->num_actions())),
        dvalues_(Size(rows())),
        uniforms_(Size(envs)),
        taken_(Size(rows())),
        advantages_(Size(rows())),
        returns_(Size(rows())) {
    // Observations of real play; random numbers for all else that the learning step reads.
    Play();
    for (float& value : uniforms_) value = random_.Uniform();
    for (float& value : advantages_) value = random_.Normal();
    for (float& value : returns_) value = random_.Normal();
    for (int t = 0; t < unroll_; ++t) Forward(t);
  }

  int rows() const { return envs_ * unroll_; }

  // Repeats the work between two env steps and the work between two rollouts. The backward pass
  // includes the preparation of weights, which a rollout does once.
  void Measure(double seconds) {
    int t = 0;
    {
      const net::HeldWeights held(backend_);
      TimeManyNs(seconds / 2, [&] { Act(t++ % unroll_); });
    }
    TimeManyNs(seconds / 2, [&] { Learn(); });
  }
  const std::vector<OpTimes>& ops() const { return ops_; }
  double MedianNs(const std::string& op) const {
    return Median(std::ranges::find(ops_, op, &OpTimes::op)->ns);
  }

  // The gradient before clipping. Before the first Measure, the actions are the same in every
  // precision.
  const std::vector<float>& Gradient() {
    Loss();
    Backward();
    return gradient_;
  }

  void Act(int t) {
    Note("all of the net, forward", envs_, [&] { Forward(t); });
    const auto width = Size(model_->num_actions()), at = Size(t * envs_), n = Size(envs_);
    Note("sampling of actions", envs_, [&] {
      net::SampleActions(envs_, model_->num_actions(),
                         model_->logits().subspan(at * width, n * width), uniforms_,
                         std::span(taken_).subspan(at, n));
    });
  }
  void Learn() {
    Note("loss and its gradient", rows(), [&] { Loss(); });
    Note("all of the net, backward", rows(), [&] { Backward(); });
    Note("norm and clipping", rows(), [&] { net::ClipByGlobalNorm(gradient_, 1e-3); });
  }

 private:
  void Forward(int t) { model_->Forward(weights_, t); }
  void Loss() {
    const net::LossWeights weights;
    net::LossReport report;
    net::ActorCriticLoss<float>({.n = rows(),
                                 .actions = model_->num_actions(),
                                 .logits = model_->logits().data(),
                                 .values = model_->values().data(),
                                 .taken = taken_.data(),
                                 .advantages = advantages_.data(),
                                 .returns = returns_.data(),
                                 .weights = &weights,
                                 .dlogits = dlogits_.data(),
                                 .dvalues = dvalues_.data(),
                                 .report = &report});
  }
  void Backward() { model_->Backward(weights_, unroll_, dlogits_, dvalues_, gradient_); }

  // Times `work`, and the net's ops within it.
  template <class Work>
  void Note(const char* name, int n, const Work& work) {
    backend_.TakeCalls();
    const double ns = TimeNs(work);
    const std::vector<OpCall> calls = backend_.TakeCalls();
    Add({.op = name, .n = n, .flops = TotalFlops(calls), .ns = ns});
    for (const OpCall& call : calls) Add(call);
  }
  void Add(const OpCall& call) {
    auto found = std::ranges::find_if(
        ops_, [&](const OpTimes& op) { return op.op == call.op && op.n == call.n; });
    if (found == ops_.end()) {
      found = ops_.insert(found, {.op = call.op, .n = call.n, .flops = call.flops, .ns = {}});
    }
    found->ns.push_back(call.ns);
  }

  void Play() {
    constexpr int kWarmUp = 20;
    const auto row = Size(envs_ * env_->spec().obs_size());
    const auto actions = static_cast<std::uint32_t>(env_->spec().num_actions);
    std::vector<std::int32_t> taken(Size(envs_));
    std::vector<float> rewards(Size(envs_));
    std::vector<std::uint8_t> terminals(Size(envs_));
    env_->Reset(model_->observations().first(row));
    for (int step = 0; step < kWarmUp + unroll_; ++step) {
      for (auto& action : taken) action = static_cast<std::int32_t>(random_.Below(actions));
      const std::size_t t = Size(std::max(0, step - kWarmUp));
      env_->Step(taken, model_->observations().subspan(t * row, row), rewards, terminals);
    }
  }

  const Config config_;
  const int envs_, unroll_;
  std::unique_ptr<envs::VecEnv> env_;
  WatchedBackend backend_;
  std::unique_ptr<net::Model<float>> model_;
  std::vector<float> weights_, gradient_, dlogits_, dvalues_, uniforms_;
  std::vector<std::int32_t> taken_;
  std::vector<float> advantages_, returns_;
  RandomStream random_{StreamId{.seed = 1}};
  std::vector<OpTimes> ops_;
};

double RolloutNs(Config config, int envs, int unroll, double seconds) {
  config.actors.envs_per_actor = envs;
  config.actors.unroll = unroll;
  actors::Rollout rollout(config, 0, 1);
  std::ranges::copy(results::InitialNetOf(config).initial, rollout.weights().begin());
  std::vector<float> gradient(rollout.layout().size());
  return Median(TimeManyNs(seconds, [&] {
    rollout.Run(config.loss.entropy, gradient);
    rollout.TakeEpisodes();
  }));
}

struct Net {
  const char* name;
  std::filesystem::path config;
  int envs, unroll;
};

// Adds the net's rows, its table of ops and its JSON.
void Measure(const Net& net, double seconds, double best, Result& result, Json& json) {
  const Config config = LoadConfig(net.config);
  NetBench bench(config, net.envs, net.unroll);
  bench.Measure(seconds);
  const double rollout = RolloutNs(config, net.envs, net.unroll, seconds / 2);
  const double steps_per_second = net.envs * net.unroll / rollout * 1e9;

  // 1. A line for each op; a row for each pass of the whole net.
  double learn_ns = 0;  // of one gradient, without acting
  result.details += fmt::format("{}The {} net's ops, medians:\n\n",
                                result.details.empty() ? "" : "\n", net.name) +
                    Head({"op", "samples", "µs", "as GFLOP/s dense", "% of sgemm"});
  for (const auto& [op, n, flops, times_ns] : bench.ops()) {
    const double ns = Median(times_ns);
    const bool whole = op.starts_with("all of the net");
    if (n == bench.rows() && (whole || flops == 0)) learn_ns += ns;
    const std::string gflops = fmt::format("{:.0f}", flops / ns);
    const std::string percent = fmt::format("{:.0f}", 100 * flops / ns / best);
    result.details += Line({op, fmt::format("{}", n), fmt::format("{:.1f}", ns / 1e3),
                            flops == 0 ? "" : gflops, flops == 0 ? "" : percent});
    json["ops"].push_back({{"op", op}, {"samples", n}, {"us", ns / 1e3}, {"flops", flops}});
    if (!whole) continue;
    result.rows.push_back(
        {.what = fmt::format("{} net on one core: {}, batch {}", net.name, op.substr(16), n),
         .measured = fmt::format("{:.0f} µs: as {} GFLOP/s dense, {} % of sgemm", ns / 1e3, gflops,
                                 percent)});
  }
  // 2. The rollout around them.
  const double learn_us = learn_ns / 1e3 / bench.rows();
  result.rows.push_back({.what = "… gradient alone, a step of one env",
                         .measured = fmt::format("{:.2f} µs", learn_us)});
  result.rows.push_back(
      {.what = fmt::format("… rollout and gradient, {} envs × {} steps", net.envs, net.unroll),
       .measured = fmt::format("{} steps/s", Rounded(steps_per_second))});
  json["gradient_us_per_step"] = learn_us;
  json["rollout_steps_per_second"] = steps_per_second;
}

// Adds the net's rows in bf16 beside f32, measured in turns, so that a disturbance hits both.
void MeasureBf16(const Net& net, double seconds, Result& result, Json& json) {
  constexpr int kTurns = 4;
  const Config f32 = LoadConfig(net.config);
  Config bf16 = f32;
  bf16.net.precision = Precision::kBf16;
  if (!fleet::CheckConfig(bf16).empty()) {
    result.rows.push_back({.what = fmt::format("{} net in bf16", net.name),
                           .measured = "not measured: this processor has no bf16 products"});
    return;
  }
  NetBench exact(f32, net.envs, net.unroll), rounded(bf16, net.envs, net.unroll);
  const double error = RelativeDistance(rounded.Gradient(), exact.Gradient());
  std::vector<double> exact_rollouts, rounded_rollouts;
  for (int turn = 0; turn < kTurns; ++turn) {
    exact.Measure(seconds / kTurns / 4);
    rounded.Measure(seconds / kTurns / 4);
    exact_rollouts.push_back(RolloutNs(f32, net.envs, net.unroll, seconds / kTurns / 4));
    rounded_rollouts.push_back(RolloutNs(bf16, net.envs, net.unroll, seconds / kTurns / 4));
  }
  const auto add = [&](const char* what, const char* key, double exact_ns, double ns,
                       const std::string& more = "") {
    result.rows.push_back({.what = fmt::format("{} net in bf16: {}", net.name, what),
                           .measured = fmt::format("{:.0f} µs, {:.2f} × as fast as f32{}", ns / 1e3,
                                                   exact_ns / ns, more)});
    json[key] = {{"f32_us", exact_ns / 1e3}, {"bf16_us", ns / 1e3}};
  };
  for (const char* pass : {"forward", "backward"}) {
    const std::string op = fmt::format("all of the net, {}", pass);
    add(pass, pass, exact.MedianNs(op), rounded.MedianNs(op));
  }
  add("rollout and gradient", "rollout", Median(exact_rollouts), Median(rounded_rollouts),
      fmt::format("; gradient off by {:.2g} of its length", error));
  json["gradient_error"] = error;
}

}  // namespace

Result MeasureKernels(const Site& site) {
  const double seconds = site.quick ? 0.2 : 4;
  const double best = BestSgemmGflops(site.quick ? 0.03 : 1, 1);
  const Net nets[] = {{"MinAtar", site.config, 64, 5}, {"Atari", site.shipped / "pong.toml", 8, 5}};
  Result result{.json = {{"sgemm_gflops", best}}};
  for (const Net& net : nets) Measure(net, seconds, best, result, result.json[net.name]);
  MeasureBf16(nets[0], seconds, result, result.json["MinAtar in bf16"]);
  result.rows.push_back({.what = "sgemm at its best in the same process, one core",
                         .measured = fmt::format("{:.0f} GFLOP/s", best)});
  return result;
}

}  // namespace starling::bench
