// One actor's environments and its replica of the net: unroll T steps in B environments, then one
// gradient over the T * B samples.
//
// The weights do not change during an unroll, so the activations of acting are those of the
// gradient: nothing is computed forward twice. Rows are time-major: sample (t, b) is row t * B + b,
// and row block T holds the observations after the last step, whose values bootstrap the returns, as
// do those of states that a time limit cut off.
//
// Where the replica is on a GPU, so is everything else here; what is asked of it is asked ahead, and
// recorded (Backend::Repeat): a step, or the whole unroll where the envs are played there, too. Weights go
// there and one flat gradient comes back.
//
// Thread safety: none; one thread. Buffers are allocated once.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "actors/replica.h"
#include "core/buffer.h"
#include "core/config/config.h"
#include "core/random.h"
#include "envs/env.h"
#include "net/loss.h"
#include "net/model.h"

namespace starling::actors {

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
  // `between_steps` is called after every env step (once an unroll where the games are on a GPU) and
  // while a slow env is waited for (beats); may be empty. The envs keep no pace.
  Rollout(const Config& config, std::uint32_t slot, std::uint32_t incarnation,
          std::function<void()> between_steps = {});
  // The same with a replica and envs for it that are there already.
  Rollout(const Config& config, std::uint32_t slot, std::uint32_t incarnation, Replica replica,
          std::unique_ptr<envs::VecEnv> env, std::function<void()> between_steps = {});

  const net::ParameterLayout& layout() const { return model_->layout(); }
  // ", on the NVIDIA H100, games too"; "" for the processor.
  std::string where() const;
  bool on_gpu() const { return replica_.gpu != nullptr; }

  // The replica's weights (layout().size()): written by the caller between two Runs.
  std::span<float> weights() { return weights_.host.span(); }

  // T steps with the weights as they are, and their gradient, which goes into `gradient`
  // (layout().size()). `entropy` is the coefficient now.
  RolloutGradient Run(double entropy, std::span<float> gradient);

  // Since the last call.
  RolloutEpisodes TakeEpisodes();

 private:
  // An array of the replica's, and its other side on the host.
  template <class T>
  struct Mirrored {
    Mirrored(std::size_t size, Memory& memory) : host(size, memory.host_side()) {
      if (!memory.on_host()) there = Buffer<T>(size, memory);
    }
    std::span<T> span() { return there.size() > 0 ? there.span() : host.span(); }
    Buffer<T> host, there;
  };
  struct Report {
    net::LossReport loss;
    double norm = 0;
  };

  void Send(double entropy);
  void Begin();
  void Unroll();
  void Act(int t);
  void StepEnvs(int t);
  void BootstrapTruncated(int t);
  void Gradient(std::span<float> gradient);
  void Fetch(std::span<float> gradient);
  void Repeat(int id, const std::function<void()>& ops);
  std::span<float> Rows(int t);           // observations (B, H, W, C) of step t
  std::span<std::uint8_t> Resets(int t);  // (B): an episode begins at step t
  template <class T>
  std::span<T> Step(Buffer<T>& rows, int t);  // (B) of (T, B)

  const Config config_;
  const int unroll_, envs_;
  std::function<void()> between_steps_;
  Replica replica_;
  std::unique_ptr<envs::VecEnv> env_;
  std::unique_ptr<net::Model<float>> model_;
  Memory& memory_;  // the replica's: of all that follows

  Mirrored<float> weights_;
  Mirrored<net::LossWeights> loss_weights_;                 // (1)
  Mirrored<RandomStream> action_streams_;                   // (B)
  Buffer<std::int32_t> actions_;                            // (T, B)
  Buffer<float> rewards_, advantages_, returns_, dvalues_;  // (T, B)
  Buffer<std::uint8_t> terminals_;                          // (T, B)
  Buffer<float> dlogits_;                                   // (T, B, A)
  Mirrored<Report> report_;                                 // (1)
  Mirrored<float> gradient_;    // (layout().size()); none where the caller's can be written at once
  bool fresh_ = true;           // nothing observed yet
  std::uint64_t replaced_ = 0;  // processes already told of
};

}  // namespace starling::actors
