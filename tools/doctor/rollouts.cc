// Whole unrolls and their gradients: on a GPU beside the host's, and twice on the same device.
//
// Both sides draw the same numbers and start from the same weights, whose policies are almost
// uniform. Rounding changes an action only if a draw falls within about 1e-8 of the border between
// two actions; then the games and their gradients diverge. After every gradient both get the same
// new weights.
#include "actors/rollout.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <utility>

#include "net/model.h"
#include "results/statistics.h"
#include "tools/doctor/checks.h"

namespace starling::doctor {
namespace {

using actors::Rollout;
using actors::RolloutEpisodes;
using actors::RolloutGradient;

constexpr int kUnrolls = 4;  // one as it is, one recorded, two replayed

// The weights of one side, its rollout, and its newest results.
struct Side {
  explicit Side(std::unique_ptr<Rollout> its)
      : rollout(std::move(its)),
        weights(net::InitialParameters(rollout->layout(), 1)),
        gradient(weights.size()) {}

  void Act() {
    std::ranges::copy(weights, rollout->weights().begin());
    rollout->Act();
    episodes = rollout->TakeEpisodes();
  }
  void Compute(std::uint64_t use) {
    constexpr double kEntropy = 0.01;
    std::ranges::copy(weights, rollout->weights().begin());
    result = rollout->Gradient(use, kEntropy, gradient);
  }
  void Descend(const std::vector<float>& along) {
    constexpr float kRate = 0.05f;
    for (std::size_t i = 0; i < along.size(); ++i) weights[i] -= kRate * along[i];
  }

  std::unique_ptr<Rollout> rollout;
  std::vector<float> weights, gradient;
  RolloutGradient result;
  RolloutEpisodes episodes;
};

struct Distances {
  double gradient = 0, norm = 0, loss = 0;
  double most() const { return std::max({gradient, norm, loss}); }
};

// Raises `worst` to `found`. NaN counts as infinitely far.
void Raise(double& worst, double found) {
  if (!(found <= worst)) worst = std::isnan(found) ? INFINITY : found;
}

double LossDistance(const net::LossReport& a, const net::LossReport& b) {
  const auto off = [](double value, double wanted) {
    return std::abs(value - wanted) / std::max(std::abs(wanted), 1.0);
  };
  double worst = 0;
  Raise(worst, off(a.policy_loss, b.policy_loss));
  Raise(worst, off(a.value_loss, b.value_loss));
  Raise(worst, off(a.entropy, b.entropy));
  return worst;
}

void Compare(const Side& there, const Side& here, Distances& worst) {
  Raise(worst.gradient, results::RelativeDistance(there.gradient, here.gradient));
  Raise(worst.norm, std::abs(there.result.norm - here.result.norm) / here.result.norm);
  Raise(worst.loss, LossDistance(there.result.loss, here.result.loss));
}

// ---- What is compared

struct Case {
  std::string name;
  Config config;  // of the side on the GPU
};

Config Small(int envs, int unroll) {
  Config config;
  config.env.name = "minatar/breakout";
  config.actors.backend = config.actors.env_device = DeviceChoice::kCuda;
  config.actors.envs_per_actor = envs;
  config.actors.unroll = unroll;
  config.net.kind = NetKind::kMinatar;
  config.net.hidden = {128};
  config.loss.gamma = 0.97;
  config.loss.gae_lambda = 0.8;
  config.optimizer.clip_norm = 0.5;
  return config;
}

std::vector<Case> Cases(Sizes sizes) {
  const bool small = sizes == Sizes::kSmall;
  const int envs = small ? 8 : 66, unroll = small ? 3 : 8;
  std::vector<Case> cases;
  const auto add = [&](const char* name, Config config) -> Config& {
    cases.push_back({name, std::move(config)});
    return cases.back().config;
  };
  // The net of the paper, with games on either device, and its data used four times.
  add("MinAtar net", Small(envs + 1, unroll));
  add("MinAtar net, games on the host", Small(envs + 1, unroll)).actors.env_device =
      DeviceChoice::kCpu;
  Config& again = add("MinAtar net, PPO", Small(envs, unroll));
  again.loss.kind = LossKind::kPpo;
  again.updates.epochs = again.updates.minibatches = 2;

  // Other layers.
  Config& memory = add("LSTM, layer norm", Small(envs, unroll));
  memory.env.name = "memory/recall";
  memory.env.sticky_actions = 0;
  memory.net.kind = NetKind::kLayers;
  memory.net.layers = {"linear 32", "layer_norm", "tanh", "lstm 24", "linear 20", "relu"};

  Config& conv = add("convolution, layer norm, LSTM", Small(envs, unroll));
  conv.env.action_set = ActionSet::kMinimal;
  conv.net.kind = NetKind::kLayers;
  conv.net.layers = {"conv 16 3x3", "layer_norm", "relu", "linear 64", "relu", "lstm 32"};

  Config& residual = add("residual net, GRU, separate critic", Small(envs, unroll));
  residual.net.kind = NetKind::kLayers;
  residual.net.layers = {"conv 16 3x3 same",
                         "max_pool 3x3/2 same",
                         "residual 3x3",
                         "relu",
                         "linear 32",
                         "relu",
                         "gru 16"};
  residual.net.critic = Critic::kSeparate;

  Config& pixels = add("pixels, Atari net", Small(small ? 2 : 5, small ? 2 : 5));
  pixels.env.name = "arcade/pong";
  pixels.env.pixels = true;
  pixels.env.stack = 4;
  pixels.actors.env_device = DeviceChoice::kCpu;
  pixels.net.kind = NetKind::kAtari;
  pixels.net.hidden = {256};

  // Other envs and unrolls.
  Config& longer = add("longer than is recorded", Small(small ? 1 : 4, 520));
  longer.net.hidden = {32};

  Config& cut = add("episodes cut by a time limit", Small(envs, unroll));
  cut.env.name = "dummy";
  cut.env.time_limit = 2;
  cut.actors.env_device = DeviceChoice::kCpu;
  cut.net.kind = NetKind::kMlp;

  Config& normalized = add("normalised, a box of actions", Small(envs, unroll));
  normalized.env.name = "control/reach";
  normalized.env.sticky_actions = 0;
  normalized.env.normalize_observations = normalized.env.normalize_rewards = true;
  normalized.net.kind = NetKind::kMlp;

  Config& pictures = add("a normalised picture and numbers", Small(envs, unroll));
  pictures.env.name = "grid/courier";
  pictures.env.normalize_observations = true;
  return cases;
}

Config OnHost(Config config) {
  config.actors.backend = config.actors.env_device = DeviceChoice::kCpu;
  config.net.precision = Precision::kF32;
  return config;
}

// `slot` chooses the GPU, and the random streams.
MakeRollout Make(const Config& config, int slot) {
  return [=] { return std::make_unique<Rollout>(config, static_cast<std::uint32_t>(slot), 1); };
}

Check Beside(const std::string& name, const Config& config, int slot, int unrolls,
             double tolerance) {
  return {name + ", beside the host", [=] {
            return CompareRollouts(Make(config, slot), Make(OnHost(config), slot), unrolls,
                                   tolerance);
          }};
}

Check Twice(const std::string& name, const Config& config, int slot) {
  return {name + ", twice", [make = Make(config, slot)] { return RolloutTwice(make); }};
}

CheckGroup OnGpu(const std::string& name, int index, Sizes sizes) {
  CheckGroup group{.kind = "rollouts", .device = name};
  for (const auto& [what, config] : Cases(sizes)) {
    group.checks.push_back(Beside(what, config, index, kUnrolls, 1e-4));
    group.checks.push_back(Twice(what, config, index));
  }
  if (sizes == Sizes::kLarge) {
    group.checks.push_back(Twice("1024 envs x 16 steps", Small(1024, 16), index));
  }
  return group;
}

// Rounded products move the border between actions further, so only one unroll is comparable.
CheckGroup Rounded(const std::string& gpu, int index, Precision precision, double tolerance) {
  Config config = Small(9, 3);
  config.net.precision = precision;
  return {.kind = "rollouts",
          .device = fmt::format("{} {}", gpu, NameOf(precision)),
          .checks = {Beside("MinAtar net", config, index, 1, tolerance),
                     Twice("MinAtar net", config, index)}};
}

}  // namespace

Verdict CompareRollouts(const MakeRollout& make_there, const MakeRollout& make_here, int unrolls,
                        double tolerance) {
  Side there(make_there()), here(make_here());
  Distances worst;
  std::size_t episodes = 0, gradients = 0;
  for (int unroll = 0; unroll < unrolls; ++unroll) {
    // 1. The same games.
    there.Act();
    here.Act();
    if (there.episodes.ended != here.episodes.ended) {
      return {.agrees = false, .text = fmt::format("unroll {}: other episodes have ended", unroll)};
    }
    episodes += here.episodes.ended.size();
    // 2. The same gradients.
    for (std::uint64_t use = 0; here.rollout->mid_unroll(); ++use, ++gradients) {
      there.Compute(use);
      here.Compute(use);
      Compare(there, here, worst);
      there.Descend(here.gradient);
      here.Descend(here.gradient);
    }
  }
  return {.agrees = worst.most() <= tolerance,
          .text = fmt::format("{:.1e} of {:g}, {} gradients of {} samples, {} episodes",
                              worst.most(), tolerance, gradients, here.result.samples, episodes),
          .numbers = {{"gradient_error", worst.gradient},
                      {"norm_error", worst.norm},
                      {"loss_error", worst.loss},
                      {"tolerance", tolerance},
                      {"gradients", gradients},
                      {"samples", here.result.samples},
                      {"episodes", episodes}}};
}

Verdict RolloutTwice(const MakeRollout& make) {
  std::vector<std::vector<float>> first;
  std::size_t gradients = 0;
  for (int run = 0; run < 2; ++run) {
    Side side(make());
    gradients = 0;
    for (int unroll = 0; unroll < kUnrolls; ++unroll) {
      side.Act();
      for (std::uint64_t use = 0; side.rollout->mid_unroll(); ++use, ++gradients) {
        side.Compute(use);
        side.Descend(side.gradient);
        if (run == 0) {
          first.push_back(side.gradient);
        } else if (std::memcmp(first[gradients].data(), side.gradient.data(),
                               side.gradient.size() * sizeof(float)) != 0) {
          return {.agrees = false,
                  .text = fmt::format("gradient {} has other bits", gradients),
                  .numbers = {{"gradients", gradients}}};
        }
      }
    }
  }
  return {.agrees = true,
          .text = fmt::format("{} gradients, the same bits", gradients),
          .numbers = {{"gradients", gradients}}};
}

std::vector<CheckGroup> RolloutGroups(const Machine& machine, Sizes sizes) {
  std::vector<CheckGroup> groups;
  CheckGroup cpu{.kind = "rollouts", .device = "cpu"};
  for (const auto& [what, config] : Cases(Sizes::kSmall)) {
    if (what.ends_with("on the host")) continue;  // on the host as the one before it
    cpu.checks.push_back(Twice(what, OnHost(config), 0));
  }
  groups.push_back(std::move(cpu));
  for (int index = 0; index < static_cast<int>(machine.gpus.gpus.size()); ++index) {
    const std::string name = GpuName(machine, index);
    groups.push_back(OnGpu(name, index, sizes));
    groups.push_back(Rounded(name, index, Precision::kTf32, 2e-2));
    groups.push_back(Rounded(name, index, Precision::kBf16, 1e-1));
  }
  return groups;
}

}  // namespace starling::doctor
