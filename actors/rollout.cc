#include "actors/rollout.h"

#include <algorithm>
#include <utility>

#include "core/clock.h"
#include "envs/registry.h"

namespace starling::actors {

net::ModelSpec ModelSpecOf(const Config& config, const envs::EnvSpec& env) {
  return {.kind = config.net.kind,
          .hidden = config.net.hidden,
          .height = env.height,
          .width = env.width,
          .channels = env.channels,
          .num_actions = env.num_actions,
          .layers = config.net.layers};
}

net::Precision PrecisionOf(const Config& config) {
  return config.net.precision == "bf16" ? net::Precision::kBf16 : net::Precision::kF32;
}

Rollout::Rollout(const Config& config, std::uint32_t slot, std::uint32_t incarnation,
                 std::function<void()> between_steps)
    : config_(config),
      unroll_(static_cast<int>(config.actors.unroll)),
      envs_(static_cast<int>(config.actors.envs_per_actor)),
      between_steps_(std::move(between_steps)),
      env_(envs::MakeVecEnv(config.env, envs_, {config.run.seed, slot, incarnation},
                            between_steps_)),
      backend_(net::MakeCpuBackend(PrecisionOf(config))),
      model_(net::MakeModel<float>(ModelSpecOf(config, env_->spec()), *backend_,
                                   {.envs = envs_, .steps = unroll_ + 2})),
      weights_(model_->layout().size()) {
  for (int env = 0; env < envs_; ++env) {
    action_streams_.emplace_back(StreamId{.seed = config.run.seed,
                                          .slot = slot,
                                          .incarnation = incarnation,
                                          .env = static_cast<std::uint32_t>(env),
                                          .purpose = Purpose::kAction});
  }
  const auto samples = static_cast<std::size_t>(unroll_ * envs_);
  uniforms_.resize(static_cast<std::size_t>(envs_));
  actions_.resize(samples);
  rewards_.resize(samples);
  advantages_.resize(samples);
  returns_.resize(samples);
  dvalues_.resize(samples);
  terminals_.resize(samples);
  dlogits_.resize(samples * static_cast<std::size_t>(model_->num_actions()));
}

std::span<float> Rollout::Rows(int t) {
  const auto size = static_cast<std::size_t>(envs_ * env_->spec().obs_size());
  return model_->observations().subspan(static_cast<std::size_t>(t) * size, size);
}

std::span<std::uint8_t> Rollout::Resets(int t) {
  const auto size = static_cast<std::size_t>(envs_);
  return model_->resets().subspan(static_cast<std::size_t>(t) * size, size);
}

RolloutGradient Rollout::Run(double entropy, std::span<float> gradient) {
  const net::HeldWeights held(*backend_);
  const SteadyClock clock;
  const std::int64_t begin = clock.NowNs();
  if (std::exchange(fresh_, false)) {
    env_->Reset(Rows(0));
  } else {
    GoOn();
  }
  for (int t = 0; t < unroll_; ++t) Act(t);
  model_->Forward(weights_.span(), unroll_);  // the bootstrap's values
  const std::int64_t acted = clock.NowNs();

  RolloutGradient out;
  Gradient(entropy, gradient, out);
  out.act_us = static_cast<std::uint32_t>((acted - begin) / 1000);
  out.gradient_us = static_cast<std::uint32_t>((clock.NowNs() - acted) / 1000);
  return out;
}

// Where the last unroll ended: its last observation, and what a net remembers from before that.
void Rollout::GoOn() {
  std::ranges::copy(Rows(unroll_), Rows(0).begin());
  std::ranges::copy(Resets(unroll_), Resets(0).begin());
  model_->Carry(unroll_ - 1);
}

void Rollout::Act(int t) {
  const int row = t * envs_;
  const auto at = static_cast<std::size_t>(row), n = static_cast<std::size_t>(envs_);
  model_->Forward(weights_.span(), t);
  for (std::size_t env = 0; env < n; ++env) uniforms_[env] = action_streams_[env].Uniform();
  const auto taken = std::span(actions_).subspan(at, n);
  const auto width = static_cast<std::size_t>(model_->num_actions());
  net::SampleActions(envs_, model_->num_actions(), model_->logits().subspan(at * width, n * width),
                     uniforms_, taken);
  env_->Step(taken, Rows(t + 1), std::span(rewards_).subspan(at, n),
             std::span(terminals_).subspan(at, n));
  std::ranges::copy(std::span(terminals_).subspan(at, n), Resets(t + 1).begin());
  if (!env_->truncated().empty()) BootstrapTruncated(t);
  if (between_steps_) between_steps_();
}

// A time limit ends an episode whose game would have gone on: the value of the state that was cut off
// joins the last reward, and then it is an end like any other (Pardo et al. 2018).
void Rollout::BootstrapTruncated(int t) {
  const int spare = unroll_ + 1;  // a step that is no sample
  const auto size = static_cast<std::size_t>(env_->spec().obs_size());
  for (const envs::Truncated& end : env_->truncated()) {
    const auto at = static_cast<std::size_t>(end.env) * size;
    std::ranges::copy(end.observation, Rows(spare).subspan(at, size).begin());
  }
  model_->Forward(weights_.span(), spare, t);
  for (const envs::Truncated& end : env_->truncated()) {
    const auto env = static_cast<std::size_t>(end.env), n = static_cast<std::size_t>(envs_);
    rewards_[static_cast<std::size_t>(t) * n + env] +=
        static_cast<float>(config_.loss.gamma) *
        model_->values()[static_cast<std::size_t>(spare) * n + env];
  }
}

void Rollout::Gradient(double entropy, std::span<float> gradient, RolloutGradient& out) {
  const int samples = unroll_ * envs_;
  const auto n = static_cast<std::size_t>(samples);
  const std::span<const float> values = model_->values();
  net::GeneralisedAdvantages<float>(unroll_, envs_, rewards_, terminals_, values.first(n),
                                    values.subspan(n, static_cast<std::size_t>(envs_)),
                                    config_.loss.gamma, config_.loss.gae_lambda, advantages_,
                                    returns_);
  const net::LossWeights weights{.value_coef = config_.loss.value_coef,
                                 .entropy = entropy,
                                 .scale = config_.loss.reduction == "sum" ? unroll_ : 1.0};
  const auto width = static_cast<std::size_t>(model_->num_actions());
  out.loss = net::ActorCriticLoss<float>(
      samples, model_->num_actions(), model_->logits().first(n * width), values.first(n), actions_,
      advantages_, returns_, weights, dlogits_, dvalues_);
  model_->Backward(weights_.span(), unroll_, dlogits_, dvalues_, gradient);
  out.norm = net::ClipByGlobalNorm(gradient, config_.optimizer.clip_norm);
  out.values = gradient;
  out.samples = static_cast<std::uint32_t>(samples);
}

RolloutEpisodes Rollout::TakeEpisodes() {
  RolloutEpisodes episodes;
  env_->TakeEpisodes(episodes.ended);
  episodes.cut = static_cast<std::uint32_t>(std::erase_if(
      episodes.ended, [](const auto& episode) { return episode.end == envs::End::kCut; }));
  const std::uint64_t before = std::exchange(replaced_, env_->replaced());
  episodes.replaced = static_cast<std::uint32_t>(replaced_ - before);
  return episodes;
}

}  // namespace starling::actors
