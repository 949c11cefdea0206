// Acts with fixed weights, or at random: the player behind `starling eval`, the evaluator of a run
// and `starling record`. It plays the same episodes for all of them from the same seed.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "actors/normalizer.h"
#include "core/config/config.h"
#include "core/random.h"
#include "envs/env.h"
#include "net/backend.h"
#include "net/model.h"

namespace starling::actors {

// Not the slot of any actor, so a player shares no random stream with training.
inline constexpr std::uint32_t kPlayerSlot = 0xffffffff;

class Player {
 public:
  // Plays with `weights`, the flat vector of config's net on `env`: the likeliest action if
  // `greedy`, else a drawn one. `env` and `weights` must outlive this. Throws UserError as
  // net::MakeModel.
  Player(const Config& config, std::span<const float> weights, envs::VecEnv& env,
         std::uint64_t seed, bool greedy);
  // Plays random actions.
  Player(envs::VecEnv& env, std::uint64_t seed);

  // Takes one action in every environment. Adds the episodes that ended to `ended`.
  void Step(std::vector<envs::EpisodeEnd>& ended);

 private:
  std::span<float> Rows();  // for the next observations
  void Begin(std::uint64_t seed, Purpose purpose);
  void Act();
  void ActAtRandom();

  envs::VecEnv& env_;
  const int count_;  // of environments
  const bool greedy_ = false;
  std::span<const float> weights_;
  std::unique_ptr<net::Backend<float>> backend_;
  std::unique_ptr<net::Model<float>> model_;  // null: random actions
  net::ParameterLayout layout_;
  std::optional<Normalizer> normalizer_;
  std::vector<float> unseen_;          // (envs, observation); without a model
  std::vector<RandomStream> streams_;  // one per environment
  std::vector<float> rewards_;
  std::vector<std::int32_t> actions_;
  std::vector<std::uint8_t> terminals_;
};

}  // namespace starling::actors
