// A policy-and-value net for batches: layers over one flat parameter vector, written once for every
// backend and scalar (float for training, double for gradient proofs).
//
// kinds, every convolution followed by relu:
//   "minatar"  16@3x3 stride 1
//   "atari"    16@8x8 stride 4, 32@4x4 stride 2 (A3C, arXiv 1602.01783)
//   "nature"   32@8x8 stride 4, 64@4x4 stride 2, 64@3x3 stride 1 (DQN, Nature 518, 2015)
//   "mlp"      none
// then all of them: a linear layer and relu for each width in `hidden`, then the policy head (A
// logits) and the value head (1).
//
// Buffers are allocated once, for `max_rows` samples. Forward(row, n) fills the activations of rows
// [row, row + n); an actor calls it once per unroll step with n = B and row = t * B, so that
// Backward(0, T * B) finds everything it needs and no forward pass is done twice.
//
// Thread safety: none; one net per thread.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "net/backend.h"
#include "net/parameters.h"

namespace starling::net {

struct ModelSpec {
  std::string kind = "minatar";  // "minatar", "atari", "nature", "mlp"
  std::vector<std::int64_t> hidden = {128};
  int height = 1, width = 1, channels = 1;  // observation
  int num_actions = 1;
};

template <class T>
class Model {
 public:
  virtual ~Model() = default;
  virtual const ParameterLayout& layout() const = 0;
  virtual int num_actions() const = 0;
  virtual int max_rows() const = 0;

  // Observations (max_rows, H, W, C): the caller writes rows here before Forward.
  virtual std::span<T> observations() = 0;
  // Outputs of Forward: logits (max_rows, A), values (max_rows).
  virtual std::span<const T> logits() const = 0;
  virtual std::span<const T> values() const = 0;

  // Forward over rows [row, row + n). parameters: layout().size() scalars.
  virtual void Forward(std::span<const T> parameters, int row, int n) = 0;

  // Gradient of a scalar loss with respect to the parameters: all of `gradient` (layout().size())
  // is overwritten, the gaps with zero. dlogits (n, A) and dvalues (n) are dLoss/dlogits and
  // dLoss/dvalues for rows [row, row + n), whose Forward must have run with the same parameters.
  virtual void Backward(std::span<const T> parameters, int row, int n, std::span<const T> dlogits,
                        std::span<const T> dvalues, std::span<T> gradient) = 0;
};

// The net has parameters "conv1", "fc1", "fc2" ..., "policy" and "value", each with ".weight" and
// ".bias", in that order; shapes as in net/backend.h. `backend` must outlive it. Throws UserError
// if the kind is unknown, a width is less than 1, the kind does not fit the observation (a
// convolution over a grid smaller than its kernel), or an array would have 2^31 elements or more.
template <class T>
std::unique_ptr<Model<T>> MakeModel(const ModelSpec& spec, Backend<T>& backend, int max_rows);

// Orthogonal initialisation (Saxe et al. 2014): a weight seen as a matrix (all but the last
// dimension, last dimension) has orthogonal columns (rows, if it has fewer) of length `gain`:
// sqrt(2) for hidden layers, 0.01 for the policy head, 1 for the value head; biases are 0. Drawn
// from StreamId{seed, purpose kInit}. Deterministic.
std::vector<float> InitialParameters(const ParameterLayout& layout, std::uint64_t seed);

}  // namespace starling::net
