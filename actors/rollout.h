// One actor's environments and its replica of the net: unroll T steps in B environments, then one
// gradient over the T * B samples, or several (actors/minibatches.h).
//
// The weights do not change during an unroll, so its only gradient uses the activations of acting:
// there is one forward pass. Where several follow, or the loss is PPO's, each has newer weights and
// a forward pass of its own. Rows are time-major: sample (t, b) is row t * B + b. Row block T holds
// the observations after the last step, whose values bootstrap the returns. Row block T + 1 holds
// the final states of episodes that a time limit ended; their values bootstrap, too.
//
// The envs are in groups (actors.groups), which take turns: while one group is stepped in other
// processes, the net works on another. All of them make one gradient. A net in stages
// (actors/staged_net.h) works on several groups at once.
//
// On a GPU all buffers live on the device and work is queued asynchronously. It is recorded and
// replayed (Backend::Repeat) a turn at a time, or the whole unroll at once if the envs are played
// there, too: then only the weights and one flat gradient cross between host and GPU, and the next
// unroll can be queued before the last gradient is finished, so that the GPU need not wait for
// the host. Games on the host receive actions and return observations and rewards at every step.
//
// Between two unrolls its state can be saved (weights excepted): envs, streams of actions, the last
// observations and the net's memory. A restored rollout computes the gradients that the saved one
// would have computed, bit for bit, on the same kind of device.
//
// Thread safety: none; one thread. Buffers are allocated once.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "actors/minibatches.h"
#include "actors/normalizer.h"
#include "actors/replica.h"
#include "core/config/config.h"
#include "core/memory.h"
#include "core/random.h"
#include "envs/env.h"
#include "net/loss.h"
#include "net/model.h"

namespace starling::actors {

// Episodes since the last report.
struct RolloutEpisodes {
  std::vector<envs::EpisodeEnd> ended;  // the newest of each group, at most envs::kKeptEpisodes
  std::uint64_t untold = 0;             // number of the others, which ended before
  std::uint32_t cut = 0;       // episodes lost with their process; their returns are not counted
  std::uint32_t replaced = 0;  // number of processes

  friend bool operator==(const RolloutEpisodes&, const RolloutEpisodes&) = default;
};

struct RolloutGradient {
  std::span<const float> values;  // (layout.size()), clipped, rounded: Gradient's `gradient`
  double norm = 0;                // global L2 norm before both
  net::LossReport loss;
  std::uint32_t samples = 0;  // T * B / updates.minibatches
  // Times of the unroll less its waits for envs and of these waits, both with its first gradient;
  // and of this gradient.
  std::uint32_t act_us = 0, act_wait_us = 0, gradient_us = 0;
};

class Rollout {
 public:
  // `life`: from it and `slot` all random streams derive; new wherever the state of the life before
  // is lost. `between_steps` (the beats) is called after every env step, or once an unroll if the
  // games are on a GPU, and between the layers of a gradient; also while these envs are waited for,
  // unless they are given; may be empty. The envs keep no pace.
  Rollout(const Config& config, std::uint32_t slot, std::uint32_t life,
          std::function<void()> between_steps = {});
  // The same with a given replica and given envs for it; no groups: those of `config`.
  Rollout(const Config& config, std::uint32_t slot, std::uint32_t life, Replica replica,
          EnvGroups groups, std::function<void()> between_steps = {});
  ~Rollout();

  const net::ParameterLayout& layout() const { return layout_; }  // WithSums'
  // For the log: ", in 2 stages, on the NVIDIA H100, games too"; "" for one stage on the processor.
  std::string where() const;
  bool on_gpu() const { return replica_.gpu != nullptr; }
  // Time that each stage of the net has spent at work so far; empty if it has one.
  std::vector<std::int64_t> stage_busy_ns() const;

  // The replica's weights (layout().size()). The caller writes them before Act, and before a
  // Gradient where recomputes().
  std::span<float> weights() { return weights_.host.span(); }
  // Whether gradients are computed on the weights of their time, not on those that played.
  bool recomputes() const { return minibatches_ != nullptr; }
  // Whether the last unroll has gradients left.
  bool mid_unroll() const { return played_ && next_use_ < config_.gradients_per_unroll(); }

  // Whether an unroll with its gradient may be started before the one before it is finished: on a
  // GPU with its games, unless other weights come between playing and gradient.
  bool runs_ahead() const;

  // Plays T steps with the current weights. Rounds them to wire.weights first, so they are the same
  // whether they travel in messages or lie in shared memory, in a run and in its replay.
  void Act();
  // Writes gradient `use` of the last unroll, in [0, Config::gradients_per_unroll()), to `gradient`
  // (layout().size()), rounded to wire.gradient. `entropy` is the coefficient for it. Each use is
  // asked for once, in order; some at the end may be left out. REQUIRES: Act was called.
  RolloutGradient Gradient(std::uint64_t use, double entropy, std::span<float> gradient);
  // Gradient in two halves: StartGradient queues it, FinishGradient waits for it. At most
  // envs::kMaxUnderWay are under way; they finish in their order. REQUIRES: runs_ahead().
  void StartGradient(std::uint64_t use, double entropy);
  RolloutGradient FinishGradient(std::span<float> gradient);
  // Act and Gradient, for an unroll of one gradient.
  RolloutGradient Run(double entropy, std::span<float> gradient) {
    Act();
    return Gradient(0, entropy, gradient);
  }

  // Since the last call; on a GPU those of the oldest unroll that was not asked for, of which a
  // gradient must be finished. To be called after the first gradient of each unroll.
  RolloutEpisodes TakeEpisodes();

  // The life of its random streams: that of the constructor, or of the restored state.
  std::uint32_t life() const { return life_; }
  // As envs::VecEnv's: why it cannot be saved, or ""; appends its state; goes on from a state that
  // a rollout of the same configuration saved, of any slot and life. After a StateError from
  // Restore, make another rollout. Save drops the gradients that the last unroll has left.
  // REQUIRES: Save: WhyNotSaved().empty().
  std::string WhyNotSaved() const { return groups_[0]->WhyNotSaved(); }
  void Save(std::vector<std::byte>& to) {
    Carry();
    SaveState(*this, to);
  }
  void Restore(std::span<const std::byte> state) {
    played_ = false;
    RestoreState(*this, state);
  }
  void Fields(StateBytes& state);

 private:
  struct Report {
    net::LossReport loss;
    double norm = 0;
  };
  // The arrays that cross between host and GPU for one gradient, in page-locked memory.
  struct Flight {
    Flight(Gpu& gpu, std::size_t floats);
    Buffer<float> weights, gradient;
    Buffer<net::LossWeights> loss_weights;  // (1)
    Buffer<Report> report;                  // (1)
    // Ticks before and after the unroll (of its first gradient), before and after the gradient.
    std::unique_ptr<GpuWatch> watch;
    std::int64_t waited_ns = 0;  // for envs
  };
  // An array in the replica's memory and its copy on the host; on the CPU both are the same array.
  template <class T>
  struct Mirrored {
    Mirrored(std::size_t size, Memory& memory) : host(size, memory.host_side()) {
      if (!memory.on_host()) there = Buffer<T>(size, memory);
    }
    std::span<T> span() { return there.size() > 0 ? there.span() : host.span(); }
    Buffer<T> host, there;
  };
  // Nanoseconds: of an unroll without its waits for envs, of these waits, of one gradient.
  struct Times {
    std::int64_t act = 0, wait = 0, gradient = 0;
  };

  // The one of the next gradient to start.
  Flight& NextFlight() { return flights_[started_ % flights_.size()]; }
  void SendWeights();
  void Forward(const net::Block& block, int before);
  std::span<const float> NetWeights() { return weights_.span().first(layout_.trained()); }
  // The unroll (unroll.cc).
  void Unroll();
  void TakeTurns();
  void Observe(int t, int group);
  void Act(int t, int group);
  void Sample(const net::Block& block);
  std::span<std::int32_t> ActionsOf(const net::Block& block);  // (envs, words)
  void Finish(int t, int group);
  void ForwardFinals(int t, int group);
  void AddFinals(int t, int group);
  void Advantages();
  PlayedUnroll Played();
  // A gradient (rollout_gradient.cc).
  void BeginGradient(std::uint64_t use);
  net::LossWeights LossWeightsFor(double entropy) const;
  void ComputeGradient(std::uint64_t use, std::span<float> to);
  RolloutGradient Result(const Report& report, const Times& times, std::span<float> gradient) const;
  void Carry();
  void Repeat(int id, const std::function<void()>& ops);
  const envs::EnvSpec& spec() const { return groups_[0]->spec(); }
  std::int64_t WaitedNs() const;
  net::Block BlockOf(int t, int group) const;
  net::Block AllOf(int t) const { return {.step = t, .envs = envs_}; }
  std::span<float> Rows(const net::Block& block);           // as the envs give them: (envs, row)
  std::span<std::uint8_t> Resets(const net::Block& block);  // (envs): an episode begins here
  // (envs): values of envs::End of its steps; where one ended, the next row begins an episode.
  std::span<std::uint8_t> Ends(net::Block block) {
    ++block.step;
    return Resets(block);
  }
  // The rows of `block` in an array (steps, B, width).
  template <class T>
  std::span<T> Of(std::span<T> rows, const net::Block& block, std::size_t width = 1) const {
    return rows.subspan(static_cast<std::size_t>(block.step * envs_ + block.first) * width,
                        static_cast<std::size_t>(block.envs) * width);
  }

  // Numbers of recordings: 0 is a whole unroll, then come its turns, then these.
  enum class Recording : int { kKeep, kGradient, kProximal, kSums };
  int Samples() const { return minibatches_ ? minibatches_->samples() : unroll_ * envs_; }
  int NumberOf(Recording recording) const {
    return 1 + (unroll_ + 1) * static_cast<int>(groups_.size()) + static_cast<int>(recording);
  }

  const Config config_;
  const int unroll_, envs_;
  const bool staged_;
  std::function<void()> between_steps_;
  std::uint32_t life_;
  Replica replica_;
  EnvGroups groups_;
  std::vector<int> firsts_;  // the first env of each group
  std::unique_ptr<net::Model<float>> model_;
  const net::ParameterLayout layout_;
  Normalizer normalizer_;
  std::unique_ptr<Minibatches> minibatches_;  // nullptr: one gradient, of the activations of acting
  Memory& memory_;                            // the replica's, of all buffers below

  Mirrored<float> weights_;
  Buffer<net::LossWeights> loss_weights_;         // (1)
  Mirrored<RandomStream> action_streams_;         // (B)
  Buffer<std::int32_t> actions_;                  // (T, B, words of an action)
  Buffer<float> rewards_, advantages_, returns_;  // (T, B)
  Buffer<float> dlogits_, dvalues_;               // of a gradient's samples: (n, A), (n)
  Buffer<net::Moments> moments_;                  // (1)
  Buffer<Report> report_;                         // (1)
  Buffer<float> sums_;                            // the running sums of the last unroll
  Buffer<float> gradient_;  // (layout().size()); empty on the host: Gradient's is written directly
  // On a GPU: gradient k is in flight k % size.
  std::vector<Flight> flights_;
  std::uint64_t started_ = 0, finished_ = 0;
  // The weights are held from an unroll to its gradient, or during each of several.
  std::optional<net::HeldWeights<float>> held_;
  Times played_times_;                 // on the host: of the last unroll, until its first gradient
  bool fresh_ = true;                  // the rows of step 0 are not observed yet
  bool played_ = false;                // ... or are still those of the last unroll
  std::int64_t next_use_ = 0;          // of it
  std::uint64_t replaced_ = 0;         // processes already reported
  std::vector<std::uint64_t> untold_;  // of each group: episodes already reported
};

}  // namespace starling::actors
