#include "actors/player.h"

#include <algorithm>

#include "actors/rollout.h"
#include "core/check.h"
#include "net/loss.h"

namespace starling::actors {

Player::Player(const Config& config, std::span<const float> weights, envs::VecEnv& env,
               std::uint64_t seed, bool greedy)
    : env_(env),
      count_(env.size()),
      greedy_(greedy),
      weights_(weights),
      backend_(net::MakeCpuBackend()),
      model_(net::MakeModel<float>(ModelSpecOf(config, env.spec()), *backend_, {.envs = count_})) {
  CHECK(weights.size() == model_->layout().size(), "{} weights", weights.size());
  Begin(model_->observations(), seed, Purpose::kEval);
}

Player::Player(envs::VecEnv& env, std::uint64_t seed)
    : env_(env),
      count_(env.size()),
      unseen_(static_cast<std::size_t>(count_) * static_cast<std::size_t>(env.spec().obs_size())) {
  Begin(unseen_, seed, Purpose::kAction);
}

void Player::Begin(std::span<float> observations, std::uint64_t seed, Purpose purpose) {
  const auto n = static_cast<std::size_t>(count_);
  const envs::EnvSeed streams{seed, kPlayerSlot, 0};
  for (std::size_t i = 0; i < n; ++i) streams_.emplace_back(streams.Stream(i, purpose));
  uniforms_.resize(n);
  rewards_.resize(n);
  actions_.resize(n);
  terminals_.resize(n);
  env_.Reset(observations);
}

void Player::Step(std::vector<envs::EpisodeEnd>& ended) {
  if (model_) {
    Act();
    env_.Step(actions_, model_->observations(), rewards_, terminals_);
    std::ranges::copy(terminals_, model_->resets().begin());
    model_->Carry(0);
  } else {
    const auto choices = static_cast<std::uint32_t>(env_.spec().num_actions);
    for (std::size_t i = 0; i < actions_.size(); ++i) {
      actions_[i] = static_cast<std::int32_t>(streams_[i].Below(choices));
    }
    env_.Step(actions_, unseen_, rewards_, terminals_);
  }
  env_.TakeEpisodes(ended);
}

void Player::Act() {
  model_->Forward(weights_, 0);
  if (greedy_) {
    net::GreedyActions(count_, model_->num_actions(), model_->logits(), actions_);
    return;
  }
  for (std::size_t i = 0; i < uniforms_.size(); ++i) uniforms_[i] = streams_[i].Uniform();
  net::SampleActions(count_, model_->num_actions(), model_->logits(), uniforms_, actions_);
}

}  // namespace starling::actors
