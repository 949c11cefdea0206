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
      backend_(net::MakeCpuBackend(Precision::kF32, config.actors.instructions)),
      model_(net::MakeModel<float>(ModelSpecOf(config, env.spec()), *backend_, {.envs = count_})),
      layout_(WithSums(model_->layout(), config, env.spec())) {
  CHECK(weights.size() == layout_.size(), "{} weights", weights.size());
  normalizer_.emplace(config, env.spec(), layout_, *backend_, net::Batch{.envs = count_});
  Begin(seed, Purpose::kEval);
}

Player::Player(envs::VecEnv& env, std::uint64_t seed)
    : env_(env), count_(env.size()), unseen_(static_cast<std::size_t>(count_) * env.spec().row()) {
  Begin(seed, Purpose::kAction);
}

std::span<float> Player::Rows() {
  if (!model_) return unseen_;
  return normalizer_->rows().empty() ? model_->observations() : normalizer_->rows();
}

void Player::Begin(std::uint64_t seed, Purpose purpose) {
  const auto n = static_cast<std::size_t>(count_);
  const envs::EnvSeed streams{seed, kPlayerSlot, 0};
  for (std::size_t i = 0; i < n; ++i) streams_.emplace_back(streams.Stream(i, purpose));
  rewards_.resize(n);
  actions_.resize(n * static_cast<std::size_t>(env_.spec().actions.width()));
  terminals_.resize(n);
  env_.Reset(Rows());
}

void Player::Step(std::vector<envs::EpisodeEnd>& ended) {
  if (model_) {
    Act();
    env_.Step(actions_, Rows(), rewards_, terminals_);
    std::ranges::copy(terminals_, model_->resets().begin());
    model_->Carry(0);
  } else {
    ActAtRandom();
    env_.Step(actions_, Rows(), rewards_, terminals_);
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
  normalizer_->Standardize(weights_, {.envs = count_}, model_->observations());
  model_->Forward(weights_.first(layout_.trained()), 0);
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
