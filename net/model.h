// A policy-and-value net for batches: a stack of layers (net/stack.h) over one flat parameter vector,
// written once for every backend and scalar (float for training, double for gradient proofs).
//
// On top of the stack stand the policy head (A logits) and the value head (1).
//
// Buffers are allocated once, in the backend's memory, for a batch of `envs` samples side by side and `steps` steps. Rows are
// time-major: sample (t, b) is row t * envs + b. Forward(t) fills the activations of step t; an actor
// calls it once per step of its unroll, so that Backward(T) finds everything it needs and no forward
// pass is done twice. A net with a memory ("lstm") goes on, at each step, from the state after the
// step before, or from nothing where an episode begins.
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
#include "net/stack.h"

namespace starling::net {

struct Batch {
  int envs = 1, steps = 1;
};

template <class T>
class Model {
 public:
  virtual ~Model() = default;
  virtual const ParameterLayout& layout() const = 0;
  virtual int num_actions() const = 0;
  virtual const Batch& batch() const = 0;
  virtual bool remembers() const = 0;  // an lstm is among the layers

  // Observations (steps, envs, H, W, C): the caller writes those of a step before its Forward.
  virtual std::span<T> observations() = 0;
  // (steps, envs): the caller sets 1 where a step is the first of an episode, else 0. Only a net that
  // remembers looks.
  virtual std::span<std::uint8_t> resets() = 0;
  // Outputs of Forward: logits (steps, envs, A), values (steps, envs).
  virtual std::span<const T> logits() const = 0;
  virtual std::span<const T> values() const = 0;

  // Step `step`, from the state after step `before`; -1: the state that was carried over, at first
  // none. parameters: layout().size() scalars.
  virtual void Forward(std::span<const T> parameters, int step, int before) = 0;
  void Forward(std::span<const T> parameters, int step) { Forward(parameters, step, step - 1); }
  // The state after `step` becomes the one that step 0 goes on from.
  virtual void Carry(int step) = 0;

  // Gradient of a scalar loss with respect to the parameters: all of `gradient` (layout().size())
  // is overwritten, the gaps with zero. dlogits (steps, envs, A) and dvalues (steps, envs) are
  // dLoss/dlogits and dLoss/dvalues of steps [0, steps), whose Forward must have run with the same
  // parameters; the state that was carried over is a constant (truncated backpropagation).
  virtual void Backward(std::span<const T> parameters, int steps, std::span<const T> dlogits,
                        std::span<const T> dvalues, std::span<T> gradient) = 0;
};

// Its parameters are "conv1", "fc1", "norm1", "lstm1" ... bottom up, then "policy" and "value";
// shapes as in net/backend.h. `backend` must outlive it. Throws UserError as LayersOf, if a
// convolution does not fit what is below it, or if an array would have 2^31 elements or more.
template <class T>
std::unique_ptr<Model<T>> MakeModel(const ModelSpec& spec, Backend<T>& backend, const Batch& batch);

enum class Initialisation : std::uint8_t { kOrthogonal, kKaiming, kFanIn };

// First values, drawn from StreamId{seed, purpose kInit}; deterministic. A weight is seen as a matrix
// (all but the last dimension: its fan-in; last dimension).
//   kOrthogonal  orthogonal columns (rows, if it has fewer) of length `gain`: sqrt(2) for hidden
//                layers, 1 for lstm (Saxe et al. 2014)
//   kKaiming     normal, standard deviation gain / sqrt(fan-in) (He et al. 2015)
//   kFanIn       uniform in +-1 / sqrt(fan-in), biases of hidden layers too: PyTorch's default, and
//                that of the A3C paper's implementations
// Always: the policy head orthogonal with gain 0.01, the value head with 1; biases 0 but for kFanIn,
// scales of layer norms 1, the bias of an lstm's forget gate 1 (Gers et al. 2000).
std::vector<float> InitialParameters(const ParameterLayout& layout, std::uint64_t seed,
                                     Initialisation init = Initialisation::kOrthogonal);

}  // namespace starling::net
