// A policy-and-value net for batches: a stack of layers (net/stack.h) over one flat parameter
// vector, with a policy head (A outputs) and a value head (1) on top. It is written once for every
// backend and scalar (float for training, double for gradient proofs).
//
// All buffers are allocated once, in the backend's memory, for `steps` steps of `envs` samples
// each. Rows are time-major: sample (t, b) is row t * envs + b. Forward(t) fills the activations of
// step t. An actor calls it once per step of its unroll, so Backward(T) finds all activations and
// no forward pass runs twice. A recurrent net ("lstm", "gru") continues each step from the state
// after the previous step, or from a zero state where an episode begins.
//
// A net is one part with all of its layers (net/part.h), two with a head each (net/two_nets.h), or
// several that work side by side (actors/staged_net.h).
//
// Thread safety: none; one net per thread.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "core/state_bytes.h"
#include "net/backend.h"
#include "net/parameters.h"
#include "net/policy.h"
#include "net/stack.h"

namespace starling::net {

struct Batch {
  int envs = 1, steps = 1;
};

// Envs [first, first + envs) of one step.
struct Block {
  int step = 0, first = 0, envs = 1;
};

template <class T>
class Model {
 public:
  virtual ~Model() = default;
  virtual const ParameterLayout& layout() const = 0;
  virtual PolicyShape policy() const = 0;  // in the memory of the logits
  int outputs() const { return policy().outputs; }

  // The parameters of all calls until the next one, in host memory. Only a net in stages, which
  // keeps them in several memories, has to know.
  virtual void TakeWeights(std::span<const T> /*host*/) {}

  // Observations (steps, envs, row): H * W * C numbers and, behind them, the mask of the actions,
  // if they have one. The caller writes those of a step before its Forward.
  virtual std::span<T> observations() = 0;
  // (steps, envs). The caller writes them: 0 but where a step is the first of an episode. Only
  // recurrent layers read them.
  virtual std::span<std::uint8_t> resets() = 0;
  // Outputs of Forward: logits (steps, envs, A), which policy() explains, values (steps, envs).
  virtual std::span<const T> logits() const = 0;
  virtual std::span<const T> values() const = 0;

  // Computes `block` from the state after step `before`, or from the carried state if `before` is
  // -1 (zero until the first Carry). parameters: layout().size() scalars.
  virtual void Forward(std::span<const T> parameters, const Block& block, int before) = 0;
  void Forward(std::span<const T> parameters, const Block& block) {
    Forward(parameters, block, block.step - 1);
  }
  // The same for all envs.
  virtual void Forward(std::span<const T> parameters, int step) = 0;
  // A net in stages computes a block in the background: whether its logits and values are there,
  // and waits for them. Both throw the exception of a stage that failed.
  virtual bool Ready(const Block& /*block*/) { return true; }
  virtual void Await(const Block& /*block*/) {}
  // Makes the state after `step` the one that step 0 continues from.
  virtual void Carry(int step) = 0;
  // The carried state: arrays of `envs` rows each, none without a recurrent layer. Those of a net
  // in stages lie in the stages: here they are empty.
  virtual std::vector<std::span<T>> carried() = 0;
  virtual void CarriedFields(StateBytes& state) = 0;

  // Computes the gradient of a scalar loss with respect to the parameters. Overwrites all of
  // `gradient` (layout().size()), the gaps with zero. dlogits (steps, envs, A) and dvalues (steps,
  // envs) are dLoss/dlogits and dLoss/dvalues of steps [0, steps). The carried state counts as a
  // constant (truncated backpropagation).
  // REQUIRES: Forward has run for all these steps with the same parameters.
  virtual void Backward(std::span<const T> parameters, int steps, std::span<const T> dlogits,
                        std::span<const T> dvalues, std::span<T> gradient) = 0;
};

// The parameters are "conv1", "res1", "fc1", "norm1", "lstm1", "gru1" ... bottom up (those of entry
// 0, "camera", before all others, "entries.0.camera.conv1" ...), then "policy"
// ("policy.3x2" for two choices, "policy.box" or "policy.tanh" for a box, with ".log_std" where its
// deviations are parameters) and "value", in the shapes of net/op_args.h. With a separate critic:
// the layers, "policy", the critic's layers ("critic.conv1" ...), "value". `backend` must outlive
// the model. Throws UserError as LayersOf does, if a convolution is larger than its input, if
// choices are to have deviations, or if an array would have 2^31 elements or more.
template <class T>
std::unique_ptr<Model<T>> MakeModel(const ModelSpec& spec, Backend<T>& backend, const Batch& batch);

// Initial values, drawn from StreamId{seed, purpose kInit}: a pure function of its arguments. A
// weight counts as a matrix (fan-in, last dimension), the fan-in taking up all other dimensions.
//   kOrthogonal  orthogonal columns (or rows, if there are fewer) of length `gain`: sqrt(2) for
//                hidden layers, 1 for lstm and gru (Saxe et al. 2014)
//   kKaiming     normal, standard deviation gain / sqrt(fan-in) (He et al. 2015)
//   kFanIn       uniform in +-1 / sqrt(fan-in), also for biases of hidden layers: the default of
//                PyTorch and of the A3C paper's implementations
// In all three: the policy head is orthogonal with gain 0.01, the value head with gain 1; biases
// are 0 except for kFanIn, scales of layer norms 1, the bias of an lstm's forget gate 1 (Gers et
// al. 2000). Sums (net/running.h) start at 0. The deviations of a policy over a box start at
// `deviation`; predicted ones close to it, because it is only their bias.
// REQUIRES: deviation == 1 for choices.
std::vector<float> InitialParameters(const ParameterLayout& layout, std::uint64_t seed,
                                     Initialisation init = Initialisation::kOrthogonal,
                                     double deviation = 1);

}  // namespace starling::net
