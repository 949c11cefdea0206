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
    : env_(env), count_(env.size()), unseen_(static_cast<std::size_t>(count_) * env.spec().row()) {
  Begin(unseen_, seed, Purpose::kAction);
}

void Player::Begin(std::span<float> observations, std::uint64_t seed, Purpose purpose) {
  const auto n = static_cast<std::size_t>(count_);
  const envs::EnvSeed streams{seed, kPlayerSlot, 0};
  for (std::size_t i = 0; i < n; ++i) streams_.emplace_back(streams.Stream(i, purpose));
  rewards_.resize(n);
  actions_.resize(n * static_cast<std::size_t>(env_.spec().actions.width()));
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
    ActAtRandom();
    env_.Step(actions_, unseen_, rewards_, terminals_);
  }
  env_.TakeEpisodes(ended);
}

void Player::ActAtRandom() {
  const envs::EnvSpec& spec = env_.spec();
  const auto width = static_cast<std::size_t>(spec.actions.width());
  const auto mask = static_cast<std::size_t>(spec.actions.mask());
  for (std::size_t i = 0; i < streams_.size(); ++i) {
    const auto row = std::span(unseen_).subspan(i * spec.row(), spec.row());
    RandomAction(spec.actions, row.last(mask), streams_[i],
                 std::span(actions_).subspan(i * width, width));
  }
}

void Player::Act() {
  model_->Forward(weights_, 0);
  if (greedy_) {
    net::GreedyActions(count_, model_->policy(), model_->logits(), actions_);
    return;
  }
  net::SampleActions<float>({.n = count_,
                             .policy = model_->policy(),
                             .logits = model_->logits().data(),
                             .streams = streams_.data(),
                             .taken = actions_.data()});
}

}  // namespace starling::actors
