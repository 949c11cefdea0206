// Compares whole unrolls and their gradients: on a GPU with the reference on the host, and twice on
// the same device.
//
// Both sides draw the same numbers and start from the same weights, whose policies are almost
// uniform. Rounding changes an action only if a draw falls within about 1e-8 of the border between
// two actions; then the games and their gradients diverge. After every unroll both get the same new
// weights.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <optional>
#include <vector>

#include "actors/rollout.h"
#include "bench/actor_speed.h"
#include "bench/bare/report.h"
#include "bench/stats.h"
#include "core/gpu.h"
#include "net/model.h"

namespace starling::bare {
namespace {

using actors::Rollout;
using actors::RolloutEpisodes;
using actors::RolloutGradient;

constexpr int kUnrolls = 4;  // one as it is, one recorded, two replayed

struct Case {
  std::string name;
  Config config;  // of the side on the GPU
};

Config Small(int envs, int unroll) {
  Config config = bench::MinatarConfig();
  config.actors.backend = DeviceChoice::kCuda;
  config.actors.env_device = DeviceChoice::kCuda;
  config.actors.envs_per_actor = envs;
  config.actors.unroll = unroll;
  config.optimizer.clip_norm = 0.5;
  return config;
}

// The configurations to compare; `quick`: with few envs and steps.
std::vector<Case> Cases(bool quick) {
  const int envs = quick ? 9 : 67, unroll = quick ? 3 : 8;
  std::vector<Case> cases;
  const auto add = [&](const char* name, Config config) -> Config& {
    cases.push_back({name, std::move(config)});
    return cases.back().config;
  };
  // The net of the paper, with games on either device.
  add("the MinAtar net", Small(envs, unroll));
  add("the MinAtar net, games on the host", Small(envs, unroll)).actors.env_device =
      DeviceChoice::kCpu;

  Config& memory = add("lstm and layer norm", Small(envs, unroll));
  memory.env.name = "memory/recall";
  memory.env.sticky_actions = 0;
  memory.net.kind = NetKind::kLayers;
  memory.net.layers = {"linear 32", "layer_norm", "tanh", "lstm 24", "linear 20", "relu"};

  Config& conv = add("layer norm over a convolution", Small(envs, unroll));
  conv.env.action_set = ActionSet::kMinimal;
  conv.net.kind = NetKind::kLayers;
  conv.net.layers = {"conv 16 3x3", "layer_norm", "relu", "linear 64", "relu", "lstm 32"};

  Config& residual = add("residual net, gru and a separate critic", Small(envs, unroll));
  residual.net.kind = NetKind::kLayers;
  residual.net.layers = {"conv 16 3x3 same",
                         "max_pool 3x3/2 same",
                         "residual 3x3",
                         "relu",
                         "linear 32",
                         "relu",
                         "gru 16"};
  residual.net.critic = Critic::kSeparate;

  Config& longer = add("longer than is recorded", Small(quick ? 1 : 4, 520));
  longer.net.hidden = {32};

  Config& cut = add("episodes that a time limit cuts", Small(envs, unroll));
  cut.env.name = "dummy";
  cut.env.time_limit = 2;
  cut.actors.env_device = DeviceChoice::kCpu;
  cut.net.kind = NetKind::kMlp;

  Config& normalized = add("normalised observations and rewards", Small(envs, unroll));
  normalized.env.name = "control/reach";
  normalized.env.sticky_actions = 0;
  normalized.env.normalize_observations = normalized.env.normalize_rewards = true;
  normalized.net.kind = NetKind::kMlp;

  Config& pictures = add("a normalised picture beside numbers", Small(envs, unroll));
  pictures.env.name = "grid/courier";
  pictures.env.normalize_observations = true;

  Config& pixels = add("pixels and the Atari net", Small(quick ? 2 : 5, quick ? 2 : 5));
  pixels.env.name = "arcade/pong";
  pixels.env.pixels = true;
  pixels.env.stack = 4;
  pixels.actors.env_device = DeviceChoice::kCpu;
  pixels.net.kind = NetKind::kAtari;
  pixels.net.hidden = {256};
  return cases;
}

Config OnHost(Config config) {
  config.actors.backend = config.actors.env_device = DeviceChoice::kCpu;
  config.net.precision = Precision::kF32;
  return config;
}

// A rollout with its weights and its results.
struct Side {
  explicit Side(const Config& config)
      : rollout(config, 0, 1),
        entropy(config.loss.entropy),
        weights(net::InitialParameters(rollout.layout(), 1)),
        gradient(weights.size()) {}

  void Run() {
    std::ranges::copy(weights, rollout.weights().begin());
    result = rollout.Run(entropy, gradient);
    episodes = rollout.TakeEpisodes();
  }

  Rollout rollout;
  const double entropy;
  std::vector<float> weights, gradient;
  RolloutGradient result;
  RolloutEpisodes episodes;
};

double Distance(const net::LossReport& a, const net::LossReport& b) {
  const auto off = [](double value, double wanted) {
    return std::abs(value - wanted) / std::max(std::abs(wanted), 1.0);
  };
  return std::max({off(a.policy_loss, b.policy_loss), off(a.value_loss, b.value_loss),
                   off(a.entropy, b.entropy)});
}

bool SameEpisodes(const RolloutEpisodes& a, const RolloutEpisodes& b) {
  return std::ranges::equal(a.ended, b.ended, [](const auto& x, const auto& y) {
    return x.env == y.env && x.episode_return == y.episode_return && x.length == y.length;
  });
}

void Descend(Side& side, const std::vector<float>& gradient) {
  constexpr float kRate = 0.05f;
  for (std::size_t i = 0; i < gradient.size(); ++i) side.weights[i] -= kRate * gradient[i];
}

// Runs `unrolls` unrolls on the GPU and on the host and compares them.
Verdict Beside(const Config& config, int unrolls, double tolerance) {
  Side there(config), here(OnHost(config));
  double gradient = 0, loss = 0, norm = 0;
  std::size_t episodes = 0;
  for (int i = 0; i < unrolls; ++i) {
    there.Run();
    here.Run();
    if (!SameEpisodes(there.episodes, here.episodes)) {
      return {false, fmt::format("unroll {}: other episodes have ended", i)};
    }
    episodes += here.episodes.ended.size();
    // NaN counts as infinitely far.
    const auto worse = [](double& worst, double found) {
      if (!(found <= worst)) worst = std::isnan(found) ? INFINITY : found;
    };
    worse(gradient, bench::RelativeDistance(there.gradient, here.gradient));
    worse(loss, Distance(there.result.loss, here.result.loss));
    worse(norm, std::abs(there.result.norm - here.result.norm) / here.result.norm);
    const std::vector<float> step = here.gradient;
    Descend(there, step);
    Descend(here, step);
  }
  return {gradient <= tolerance && loss <= tolerance && norm <= tolerance,
          fmt::format("{} unrolls of {} samples: gradients off by {:.1e} of their length, norms by "
                      "{:.1e}, losses by {:.1e}, allowed {:.0e}; {} episodes the same",
                      unrolls, here.result.samples, gradient, norm, loss, tolerance, episodes)};
}

Verdict Twice(const Config& config) {
  std::optional<std::vector<float>> first;
  for (int run = 0; run < 2; ++run) {
    Side side(config);
    std::vector<float> all;
    for (int i = 0; i < kUnrolls; ++i) {
      side.Run();
      all.insert(all.end(), side.gradient.begin(), side.gradient.end());
      Descend(side, side.gradient);
    }
    if (!first) {
      first = std::move(all);
    } else if (std::memcmp(first->data(), all.data(), all.size() * sizeof(float)) != 0) {
      return {false, fmt::format("{} unrolls gave other bits", kUnrolls)};
    }
  }
  return {.text = fmt::format("{} unrolls, the same bits", kUnrolls)};
}

void CheckOnGpu(Report& report, bool quick) {
  for (const Case& one : Cases(quick)) {
    report.Check("rollout: " + one.name + ", beside the reference",
                 [&] { return Beside(one.config, kUnrolls, 1e-4); });
    report.Check("rollout: " + one.name + ", twice", [&] { return Twice(one.config); });
  }
  if (!quick)
    report.Check("rollout: 1024 envs x 16 steps, twice", [] { return Twice(Small(1024, 16)); });
  // Rounded products move the border between actions further, so only one unroll is comparable.
  const struct {
    Precision precision;
    double tolerance;
  } rounded[] = {{Precision::kTf32, 2e-2}, {Precision::kBf16, 1e-1}};
  for (const auto& [precision, tolerance] : rounded) {
    Config config = Small(quick ? 9 : 67, quick ? 3 : 8);
    config.net.precision = precision;
    report.Check(fmt::format("rollout: {}, beside the reference in f32", NameOf(precision)),
                 [&, most = tolerance] { return Beside(config, 1, most); });
  }
}

}  // namespace

void CheckRollouts(Report& report, bool quick) {
  if (const GpuSearch found = FindGpus(); found.gpus.empty()) {
    report.Skip("rollout: on a GPU", found.why_none);
  } else {
    CheckOnGpu(report, quick);
  }
  for (const Case& one : Cases(true)) {
    if (one.name.ends_with("on the host")) continue;  // nothing new
    report.Check("rollout on the host: " + one.name + ", twice",
                 [&] { return Twice(OnHost(one.config)); });
  }
}

}  // namespace starling::bare
