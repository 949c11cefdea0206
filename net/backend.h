// The contract of a backend: the ops that every net is made of, on plain arrays.
//
// A backend implements ops, never networks: layers and models (net/model.h) are written once on
// top. net/reference says what is correct; net/cpu is the fast path, net/cuda that of a GPU. Arrays
// lie in the backend's memory() and are dense, C order:
//   activations     (n, H, W, C) or (n, features), n samples; one is the other flattened
//   conv weights    (KH, KW, CIN, COUT): one input cell meets COUT adjacent weights
//   linear weights  (IN, OUT)
//   recurrent state (n, HIDDEN)
// An op writes all of its output; nothing is kept between calls, but of weights that are held. It may
// return before it is done (core/memory.h).
//
// The elements of each array can be counted as int (MakeModel in net/model.h sees to it).
//
// Thread safety: none; a backend may own scratch memory, so one thread at a time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>

#include "core/memory.h"
#include "core/random.h"
#include "net/loss.h"

namespace starling::net {

struct LinearShape {
  int in = 1, out = 1;
};

// A convolution without padding.
struct ConvShape {
  int height = 1, width = 1, in_channels = 1;  // of the input
  int kernel_height = 3, kernel_width = 3, stride = 1, out_channels = 1;

  constexpr int out_height() const { return (height - kernel_height) / stride + 1; }
  constexpr int out_width() const { return (width - kernel_width) / stride + 1; }
  constexpr int in_size() const { return height * width * in_channels; }
  constexpr int out_cells() const { return out_height() * out_width(); }
  constexpr int out_size() const { return out_cells() * out_channels; }
  constexpr int patch() const {
    return kernel_height * kernel_width * in_channels;
  }  // inputs of one output
  constexpr int num_weights() const { return patch() * out_channels; }
  friend bool operator==(const ConvShape&, const ConvShape&) = default;
};

// kNone and kRelu are fused into the op that produces y; kTanh is an op of its own. All keep a NaN.
enum class Activation { kNone, kRelu, kTanh };
enum class Put { kReplace, kAdd };  // what to do with what the output held

inline constexpr double kLayerNormEpsilon = 1e-5;  // PyTorch's

// Of the factors of large products; sums are f32 always. kTf32: 10 bits of 23, and on GPUs only.
enum class Precision { kF32, kBf16, kTf32 };

// A (steps, envs) block of an unroll, and how its rewards are summed.
struct UnrollShape {
  int steps = 1, envs = 1;
  double gamma = 0.99, lambda = 1;
};

template <class T>
class Backend {
 public:
  virtual ~Backend() = default;
  virtual const char* name() const = 0;

  virtual Memory& memory() { return HostMemory(); }
  // Calls ops(), which asks for ops of this backend and moves in its memory; or does, without a call,
  // what was asked under this id before. So what is asked must depend on nothing that changes but the
  // contents of the arrays. Ids from 0; never within another Repeat.
  virtual void Repeat(int /*id*/, const std::function<void()>& ops) { ops(); }

  // Called by HeldWeights (below) alone, at the begin and the end of its life.
  virtual void HoldWeights(bool /*held*/) {}

  // y (n, OUT) = activation(x (n, IN) . w (IN, OUT) + b (OUT)).
  virtual void LinearForward(const LinearShape& shape, int n, const T* x, const T* w, const T* b,
                             Activation activation, T* y) = 0;
  // y (n, OUT) += x (n, IN) . w (IN, OUT).
  virtual void LinearAccumulate(const LinearShape& shape, int n, const T* x, const T* w, T* y) = 0;
  // dw (IN, OUT) = xT . dy, db (OUT) = sum of dy over n. dy (n, OUT) is the gradient *before* the
  // activation: whoever made it has applied the mask (see `relu_output`).
  virtual void LinearBackwardWeights(const LinearShape& shape, int n, const T* x, const T* dy,
                                     T* dw, T* db) = 0;
  // dx (n, IN) = dy . wT, or is added to dx. If x came out of a relu, `relu_output` is x: the final
  // dx is then set to zero where x is not positive, which makes it the gradient before that relu.
  // nullptr: no mask.
  virtual void LinearBackwardInput(const LinearShape& shape, int n, const T* w, const T* dy,
                                   Put put, const T* relu_output, T* dx) = 0;

  // Both gradients of a layer whose input x came out of a relu: LinearBackwardWeights, and
  // LinearBackwardInput with x as the mask. One op, because most of x is zero.
  virtual void LinearBackward(const LinearShape& shape, int n, const T* x, const T* w, const T* dy,
                              T* dw, T* db, T* dx) {
    LinearBackwardWeights(shape, n, x, dy, dw, db);
    LinearBackwardInput(shape, n, w, dy, Put::kReplace, x, dx);
  }

  // y (n, OH, OW, COUT) = activation(x (n, H, W, CIN) * w + b (COUT)), where
  // y[i,oy,ox,:] = sum over ky, kx, c of x[i, oy*stride+ky, ox*stride+kx, c] w[ky,kx,c,:].
  virtual void ConvForward(const ConvShape& shape, int n, const T* x, const T* w, const T* b,
                           Activation activation, T* y) = 0;
  // dw (KH, KW, CIN, COUT) and db (COUT), summed over n; dy as in LinearBackwardWeights.
  virtual void ConvBackwardWeights(const ConvShape& shape, int n, const T* x, const T* dy, T* dw,
                                   T* db) = 0;
  // dx (n, H, W, CIN); the mask as in LinearBackwardInput. Never called for a first layer.
  virtual void ConvBackwardInput(const ConvShape& shape, int n, const T* w, const T* dy,
                                 const T* relu_output, T* dx) = 0;

  // y (count) = activation(x).
  virtual void Activate(Activation activation, int count, const T* x, T* y) = 0;
  // dx (count) = dy times the slope, which is known from y. The mask as in LinearBackwardInput.
  virtual void ActivateBackward(Activation activation, int count, const T* y, const T* dy,
                                const T* relu_output, T* dx) = 0;

  // Each sample on its own (Ba et al. 2016): y (n, WIDTH) = activation((x - mean) rstd scale + bias)
  // with rstd = 1 / sqrt(variance + kLayerNormEpsilon), the variance over WIDTH. Writes moments (n, 2): mean, rstd.
  virtual void LayerNormForward(int width, int n, const T* x, const T* scale, const T* bias,
                                Activation activation, T* moments, T* y) = 0;
  // dscale, dbias (WIDTH), summed over n; dx (n, WIDTH) unless it is nullptr; dy as in
  // LinearBackwardWeights, the mask as in LinearBackwardInput.
  virtual void LayerNormBackward(int width, int n, const T* x, const T* scale, const T* moments,
                                 const T* dy, const T* relu_output, T* dscale, T* dbias, T* dx) = 0;

  // A step of an LSTM with a forget gate (Gers et al. 2000). gates (n, 4 HIDDEN): in, the sums of
  // the input, forget, cell and output gates; out, i = sigmoid, f = sigmoid, g = tanh, o = sigmoid of
  // them. c = f c_in + i g, h = o tanh(c), all (n, HIDDEN).
  virtual void LstmCellForward(int hidden, int n, T* gates, const T* c_in, T* c, T* h) = 0;
  // dy and dh, what the layer above and the next step say of h; dc: in, what the next step says of
  // c; out, the gradient of c_in. Writes dgates (n, 4 HIDDEN), of the sums.
  virtual void LstmCellBackward(int hidden, int n, const T* gates, const T* c_in, const T* c,
                                const T* dy, const T* dh, T* dc, T* dgates) = 0;
  // to (n, WIDTH) = from, but zero in the samples whose `resets` (n) is not 0. In place if they are
  // the same array. State, and its gradient, through the end of an episode.
  virtual void KeepState(int width, int n, const std::uint8_t* resets, const T* from, T* to) = 0;

  // What stands above a net, as net/loss.h defines it. If it is not overridden it is done by that, on
  // the host.

  // taken (n): an action for each row of logits (n, A), by one Uniform of each of streams (n).
  virtual void SampleActions(int n, int actions, const T* logits, RandomStream* streams,
                             std::int32_t* taken);
  // rewards (n) += gamma values (n), where ends (n) is `truncated`.
  virtual void AddBootstrap(int n, double gamma, const std::uint8_t* ends, std::uint8_t truncated,
                            const T* values, T* rewards);
  // GeneralisedAdvantages.
  virtual void Advantages(const UnrollShape& shape, const T* rewards, const std::uint8_t* terminals,
                          const T* values, const T* bootstrap, T* advantages, T* returns);
  // ActorCriticLoss; weights (1) and report (1) are arrays, too.
  virtual void Loss(int n, int actions, const T* logits, const T* values, const std::int32_t* taken,
                    const T* advantages, const T* returns, const LossWeights* weights, T* dlogits,
                    T* dvalues, LossReport* report);
  // ClipByGlobalNorm; norm (1) is that before.
  virtual void ClipByGlobalNorm(std::size_t size, double max_norm, T* gradient, double* norm);
};

// While it lives, the weights that the backend is given stay as they are, address by address, so that
// a backend may convert them once for many calls. Without it they are converted at every call. One
// at a time for a backend, which must outlive it.
template <class T>
class HeldWeights {
 public:
  explicit HeldWeights(Backend<T>& backend) : backend_(backend) { backend_.HoldWeights(true); }
  ~HeldWeights() { backend_.HoldWeights(false); }
  HeldWeights(const HeldWeights&) = delete;
  HeldWeights& operator=(const HeldWeights&) = delete;

 private:
  Backend<T>& backend_;
};

// The plain loops that define what is correct; float and double.
template <class T>
std::unique_ptr<Backend<T>> MakeReferenceBackend();

// The fast one: oneDNN for dense products, own loops for sparse observations. Calls UseOneThread.
// Equal inputs of equal shapes give equal bits. kBf16 rounds the factors of linear layers of at least
// 128 x 128 weights; throws UserError where the processor cannot multiply bf16, and of kTf32.
std::unique_ptr<Backend<float>> MakeCpuBackend(Precision precision = Precision::kF32);

}  // namespace starling::net
