// Acts with fixed weights, or at random: the player behind `starling eval`, the evaluator of a run
// and `starling record`. It plays the same episodes for all of them from the same seed.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "actors/policy.h"
#include "core/config/config.h"
#include "core/random.h"
#include "envs/env.h"

namespace starling::actors {

class Player {
 public:
  // Plays as a Policy of these arguments. `env` and `weights` must outlive this. Throws UserError
  // as Policy.
  Player(const Config& config, std::span<const float> weights, envs::VecEnv& env,
         std::uint64_t seed, bool greedy);
  // Plays random actions.
  Player(envs::VecEnv& env, std::uint64_t seed);

  // Takes one action in every environment. Adds the episodes that ended to `ended`.
  void Step(std::vector<envs::EpisodeEnd>& ended);

  // The policy and its outputs for the newest step. Null if actions are random.
  const Policy* policy() const { return policy_ ? &*policy_ : nullptr; }
  // The actions of the newest step: (envs, words).
  std::span<const std::int32_t> actions() const { return actions_; }

 private:
  std::span<float> Rows() { return policy_ ? policy_->rows() : unseen_; }  // the next observations
  void Begin();
  void ActAtRandom();

  envs::VecEnv& env_;
  std::optional<Policy> policy_;       // none: random actions
  std::vector<float> unseen_;          // (envs, observation); without a policy
  std::vector<RandomStream> streams_;  // one per environment; without a policy
  std::vector<float> rewards_;
  std::vector<std::int32_t> actions_;
  std::vector<std::uint8_t> terminals_;
};

}  // namespace starling::actors
