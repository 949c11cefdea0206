#include "actors/player.h"

#include <algorithm>

namespace starling::actors {

Player::Player(const Config& config, std::span<const float> weights, envs::VecEnv& env,
               std::uint64_t seed, bool greedy)
    : env_(env), policy_(std::in_place, config, env.spec(), weights, env.size(), seed, greedy) {
  Begin();
}

Player::Player(envs::VecEnv& env, std::uint64_t seed)
    : env_(env), unseen_(static_cast<std::size_t>(env.size()) * env.spec().row()) {
  const envs::EnvSeed origin{seed, kPlayerSlot, 0};
  for (std::size_t i = 0; i < static_cast<std::size_t>(env.size()); ++i) {
    streams_.emplace_back(origin.Stream(i, Purpose::kAction));
  }
  Begin();
}

void Player::Begin() {
  const auto n = static_cast<std::size_t>(env_.size());
  rewards_.resize(n);
  actions_.resize(n * static_cast<std::size_t>(env_.spec().actions.width()));
  terminals_.resize(n);
  env_.Reset(Rows());
}

void Player::Step(std::vector<envs::EpisodeEnd>& ended) {
  if (policy_) {
    policy_->Act(actions_);
  } else {
    ActAtRandom();
  }
  env_.Step(actions_, Rows(), rewards_, terminals_);
  if (policy_) std::ranges::copy(terminals_, policy_->begins().begin());
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

}  // namespace starling::actors
