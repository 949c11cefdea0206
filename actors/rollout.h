// One actor's environments and its replica of the net: unroll T steps in B environments, then one
// gradient over the T * B samples.
//
// The weights do not change during an unroll, so the activations of acting are those of the
// gradient: nothing is computed forward twice. Rows are time-major: sample (t, b) is row t * B + b,
// and row block T holds the observations after the last step, whose values bootstrap the returns, as
// do those of states that a time limit cut off.
//
// Thread safety: none; one thread. Buffers are allocated once.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "core/config.h"
#include "core/random.h"
#include "envs/env.h"
#include "net/backend.h"
#include "core/buffer.h"
#include "net/loss.h"
#include "net/model.h"

namespace starling::actors {

// Of the net's products in actors.
net::Precision PrecisionOf(const Config& config);

// The net of a configuration; shared by actors, the evaluator and whoever makes first weights.
net::ModelSpec ModelSpecOf(const Config& config, const envs::EnvSpec& env);

// Episodes that ended, and those cut by the end of their process, whose returns are not the game's.
struct RolloutEpisodes {
  std::vector<envs::EpisodeEnd> ended;
  std::uint32_t cut = 0;
  std::uint32_t replaced = 0;  // processes
};

struct RolloutGradient {
  std::span<const float> values;  // (layout.size()), clipped: what Run was given
  double norm = 0;                // global L2 norm before clipping
  net::LossReport loss;
  std::uint32_t samples = 0;  // T * B
  std::uint32_t act_us = 0, gradient_us = 0;
};

class Rollout {
 public:
  // `between_steps` is called after every env step and while a slow env is waited for (beats); may
  // be empty.
  Rollout(const Config& config, std::uint32_t slot, std::uint32_t incarnation,
          std::function<void()> between_steps = {});

  const net::ParameterLayout& layout() const { return model_->layout(); }
  // The replica's weights (layout().size()): written by the caller between two Runs.
  std::span<float> weights() { return weights_.span(); }

  // T steps with the weights as they are, and their gradient, which goes into `gradient`
  // (layout().size()). `entropy` is the coefficient now.
  RolloutGradient Run(double entropy, std::span<float> gradient);

  // Since the last call.
  RolloutEpisodes TakeEpisodes();

 private:
  void GoOn();
  void Act(int t);
  void BootstrapTruncated(int t);
  void Gradient(double entropy, std::span<float> gradient, RolloutGradient& out);
  std::span<float> Rows(int t);           // observations (B, H, W, C) of step t
  std::span<std::uint8_t> Resets(int t);  // (B): an episode begins at step t

  const Config config_;
  const int unroll_, envs_;
  std::function<void()> between_steps_;
  std::unique_ptr<envs::VecEnv> env_;
  std::unique_ptr<net::Backend<float>> backend_;
  std::unique_ptr<net::Model<float>> model_;
  Buffer<float> weights_;                // at a cache line
  std::vector<RandomStream> action_streams_;  // per env

  std::vector<float> uniforms_;                                  // (B)
  std::vector<std::int32_t> actions_;                            // (T, B)
  std::vector<float> rewards_, advantages_, returns_, dvalues_;  // (T, B)
  std::vector<std::uint8_t> terminals_;                          // (T, B)
  std::vector<float> dlogits_;                                   // (T, B, A)
  bool fresh_ = true;                                            // nothing observed yet
  std::uint64_t replaced_ = 0;                                   // processes already told of
};

}  // namespace starling::actors
