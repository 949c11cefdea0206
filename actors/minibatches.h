// The data of an unroll for several gradients: E epochs of M minibatches. Each gradient has a
// forward pass of its own, on the weights of its time (docs/spectrum/data-again.md).
//
// At the start of each epoch a random stream deals the environments out to the minibatches, each
// with all of its steps; with updates.shuffle = "samples" it deals out single samples, which a net
// with a memory cannot take. The net for them takes the rows of one minibatch: step by step if it
// has a memory, else all as one step.
//
// Thread safety: none; one thread.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "core/config/config.h"
#include "core/memory.h"
#include "core/random.h"
#include "core/state_bytes.h"
#include "net/backend.h"
#include "net/loss.h"
#include "net/model.h"

namespace starling::actors {

// An unroll of T steps of B environments, in the memory of the backend, as the net saw it that
// played it.
struct PlayedUnroll {
  std::span<const float> observations;         // (T, B, row)
  std::span<const std::uint8_t> resets;        // (T, B)
  std::vector<std::span<float>> carried;       // before step 0: (B, width) each
  std::span<const float> logits, values;       // (T, B, A), (T, B)
  std::span<const std::int32_t> taken;         // (T, B, words)
  std::span<const float> advantages, returns;  // (T, B)
};

class Minibatches {
 public:
  // `backend` must outlive it. Throws UserError as net::MakeModel.
  Minibatches(const Config& config, const net::ModelSpec& spec, net::Backend<float>& backend,
              const StreamId& shuffles);

  int samples() const { return samples_; }  // of a minibatch
  int count() const { return count_; }      // M
  net::Model<float>& model() { return *model_; }
  int model_steps() const { return recurrent_ ? steps_ : 1; }  // for its Backward

  // Ops of the backend: computes and keeps the log probabilities of the policy that played.
  void Keep(const PlayedUnroll& unroll);
  // Chooses the rows of gradient `use` of the unroll, and writes them to the memory.
  void Choose(std::uint64_t use);
  // Ops: brings the chosen rows into the net, and computes their logits and values.
  void Forward(std::span<const float> weights, const PlayedUnroll& unroll);
  // For loss.proximal = "grant", at the first gradient of an unroll: the log probabilities of all
  // samples on the weights of that time. Ops; leaves the first minibatch chosen.
  bool NeedsProximal(std::uint64_t use) const { return decoupled_ && use == 0; }
  void ForwardProximal(std::span<const float> weights, const PlayedUnroll& unroll);

  // What the loss reads of the chosen rows.
  net::Samples<float> Samples(const PlayedUnroll& unroll) const;

  void Fields(StateBytes& state) { state(shuffles_); }

 private:
  void Shuffle();
  void Deal(std::span<std::int32_t> order);
  void Take(int minibatch);

  net::Backend<float>& backend_;
  Memory& memory_;
  const int steps_, all_envs_, count_, samples_;  // T, B, M, T * B / M
  const bool by_sample_, ppo_, decoupled_;
  std::unique_ptr<net::Model<float>> model_;
  const bool recurrent_;
  RandomStream shuffles_;
  Buffer<std::int32_t> order_host_, order_;    // (B): environments in this epoch's order, if dealt
  Buffer<std::int32_t> rows_host_, all_rows_;  // (M, samples): rows of the unroll
  Buffer<std::int32_t> rows_;                  // (samples): of the chosen minibatch
  Buffer<std::int32_t> envs_chosen_;           // (B / M): likewise, for a memory
  Buffer<float> old_logps_, proximal_logps_;   // (T, B)
};

}  // namespace starling::actors
