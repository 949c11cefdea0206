// A trained net that acts: observations of several environments in, actions out. It owns no
// environment. Players ask it, and programs in C (api/).
//
// It computes on the processor, in one thread, as fixed weights and equal observations demand: the
// actions of the same seed and number of environments are equal, bit for bit.
//
// Thread safety: none; one thread at a time.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "actors/normalizer.h"
#include "core/config/config.h"
#include "core/random.h"
#include "envs/env.h"
#include "net/backend.h"
#include "net/model.h"

namespace starling::actors {

// Not the slot of any actor, so that players share no random stream with training.
inline constexpr std::uint32_t kPlayerSlot = 0xffffffff;

class Policy {
 public:
  // `weights`, which must outlive this: the flat vector of config's net on `env`. `greedy`: the
  // likeliest actions, not drawn ones. Throws UserError as net::MakeModel.
  Policy(const Config& config, const envs::EnvSpec& env, std::span<const float> weights, int envs,
         std::uint64_t seed, bool greedy);

  // The caller writes both before Evaluate:
  // observations as the environments give them, each with the mask of its actions (envs, row);
  std::span<float> rows();
  // not 0 where an observation is the first of an episode: memory is empty there (envs).
  std::span<std::uint8_t> begins() { return model_->resets(); }

  // Evaluate and Take.
  void Act(std::span<std::int32_t> actions) {
    Evaluate();
    Take(actions);
  }
  // Computes outputs() and values(). Draws nothing, and leaves the memory of the net as it is.
  void Evaluate();
  // (envs, outputs): the distributions of the actions (net/policy.h).
  std::span<const float> outputs() const { return model_->logits(); }
  std::span<const float> values() const { return model_->values(); }  // (envs): the critic's
  // Writes an action for each environment (envs, words): points of the whole space of a box
  // (core/action_space.h). The memory moves on. REQUIRES: Evaluate has just run.
  void Take(std::span<std::int32_t> actions);

  // Draws as from the beginning, of another seed.
  void Seed(std::uint64_t seed);

 private:
  const int envs_;
  const bool greedy_;
  const std::span<const float> weights_;
  const std::unique_ptr<net::Backend<float>> backend_;
  const std::unique_ptr<net::Model<float>> model_;
  const net::ParameterLayout layout_;
  Normalizer normalizer_;
  std::vector<RandomStream> streams_;  // one per environment
};

}  // namespace starling::actors
