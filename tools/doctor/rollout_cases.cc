#include "tools/doctor/rollout_cases.h"

#include <utility>

namespace starling::doctor {
namespace {

// Adds cases, each with a name of its own.
class Cases {
 public:
  // Returns the configuration, to be changed.
  Config& Add(const char* name, Config config) {
    cases_.push_back({name, std::move(config)});
    return cases_.back().config;
  }
  std::vector<RolloutCase> Take() { return std::move(cases_); }

 private:
  std::vector<RolloutCase> cases_;
};

void AddNets(Cases& cases, Sizes sizes) {
  const bool small = sizes == Sizes::kSmall;
  const Config minatar = MinatarOnGpu(EnvsOf(sizes), UnrollOf(sizes));
  cases.Add("MinAtar net", minatar);
  cases.Add("MinAtar net, games on the host", minatar).actors.env_device = DeviceChoice::kCpu;

  Config& memory = cases.Add("LSTM, layer norm", minatar);
  memory.env.name = "memory/recall";
  memory.env.sticky_actions = 0;
  memory.net.kind = NetKind::kLayers;
  memory.net.layers = {"linear 32", "layer_norm", "tanh", "lstm 24", "linear 20", "relu"};

  Config& conv = cases.Add("convolution, layer norm, LSTM", minatar);
  conv.env.action_set = ActionSet::kMinimal;
  conv.net.kind = NetKind::kLayers;
  conv.net.layers = {"conv 16 3x3", "layer_norm", "relu", "linear 64", "relu", "lstm 32"};

  Config& residual = cases.Add("residual net, GRU, separate critic", minatar);
  residual.net.kind = NetKind::kLayers;
  residual.net.layers = {"conv 16 3x3 same",
                         "max_pool 3x3/2 same",
                         "residual 3x3",
                         "relu",
                         "linear 32",
                         "relu",
                         "gru 16"};
  residual.net.critic = Critic::kSeparate;

  Config& pixels = cases.Add("pixels, Atari net", MinatarOnGpu(small ? 2 : 5, small ? 2 : 5));
  pixels.env.name = "arcade/pong";
  pixels.env.pixels = true;
  pixels.env.stack = 4;
  pixels.actors.env_device = DeviceChoice::kCpu;
  pixels.net.kind = NetKind::kAtari;
  pixels.net.hidden = {256};
}

void AddUnrolls(Cases& cases, Sizes sizes) {
  const bool small = sizes == Sizes::kSmall;
  const Config minatar = MinatarOnGpu(EnvsOf(sizes), UnrollOf(sizes));
  // Two minibatches share the envs.
  Config& again = cases.Add("data used again, PPO", MinatarOnGpu(EnvsOf(sizes) + 1, 3));
  again.loss.kind = LossKind::kPpo;
  again.updates.epochs = again.updates.minibatches = 2;

  cases.Add("longer than is recorded", MinatarOnGpu(small ? 1 : 4, 520)).net.hidden = {32};

  Config& cut = cases.Add("episodes cut by a time limit", minatar);
  cut.env.name = "dummy";
  cut.env.time_limit = 2;
  cut.actors.env_device = DeviceChoice::kCpu;
  cut.net.kind = NetKind::kMlp;

  Config& normalized = cases.Add("normalised, a box of actions", minatar);
  normalized.env.name = "control/reach";
  normalized.env.sticky_actions = 0;
  normalized.env.normalize_observations = normalized.env.normalize_rewards = true;
  normalized.net.kind = NetKind::kMlp;

  Config& pictures = cases.Add("a normalised picture and numbers", minatar);
  pictures.env.name = "grid/courier";
  pictures.env.normalize_observations = true;
}

}  // namespace

Config MinatarOnGpu(int envs, int unroll) {
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

std::vector<RolloutCase> RolloutCases(Sizes sizes) {
  Cases cases;
  AddNets(cases, sizes);
  AddUnrolls(cases, sizes);
  return cases.Take();
}

}  // namespace starling::doctor
