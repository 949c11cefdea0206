// The contract of a backend: the ops that every net consists of, on plain arrays (net/op_args.h).
//
// A backend implements ops, never networks: layers and models (net/model.h) are written once on
// top. net/reference defines correct results, net/cpu is fast on a CPU, net/cuda runs on a GPU. All
// arrays lie in the backend's memory().
//
// An op overwrites all of its output. It keeps nothing between calls except copies of held weights.
// It may return before its work is done (core/memory.h).
//
// Thread safety: none. A backend may own scratch memory, so one thread at a time uses it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <utility>

#include "core/config/words.h"
#include "core/gpu.h"
#include "core/memory.h"
#include "net/loss.h"
#include "net/op_args.h"
#include "net/pictures.h"
#include "net/rows.h"
#include "net/running.h"

namespace starling::net {

template <class T>
class Backend {
 public:
  virtual ~Backend() = default;
  virtual const char* name() const = 0;

  virtual Memory& memory() { return HostMemory(); }
  // Calls ops(), which calls ops of this backend and moves data in its memory; or replays the calls
  // recorded under the same id, without calling ops(). So these calls must be the same each time;
  // only the contents of arrays may change. Ids count from 0. REQUIRES: not called within another
  // Repeat.
  virtual void Repeat(int /*id*/, const std::function<void()>& ops) { ops(); }

  // Called only by HeldWeights (below), at the start and at the end of its life.
  virtual void HoldWeights(bool /*held*/) {}

  virtual void LinearForward(const LinearForwardArgs<T>& args) = 0;
  // y (n, OUT) += x (n, IN) . w (IN, OUT).
  virtual void LinearAccumulate(const LinearShape& shape, int n, const T* x, const T* w, T* y) = 0;
  virtual void LinearBackwardWeights(const LinearBackwardWeightsArgs<T>& args) = 0;
  virtual void LinearBackwardInput(const LinearBackwardInputArgs<T>& args) = 0;
  // One op for both gradients, because a backend can skip the zeros of x in both.
  virtual void LinearBackward(const LinearBackwardArgs<T>& args) {
    LinearBackwardWeights(args.weights());
    LinearBackwardInput(args.input());
  }
  // Two layers of one x, such as the heads. dx is the sum of both products. By default one layer
  // follows the other. REQUIRES: n, shape.in, x, put, relu_output and dx are the same in both.
  virtual void PairForward(const LinearForwardArgs<T>& first, const LinearForwardArgs<T>& second) {
    LinearForward(first);
    LinearForward(second);
  }
  virtual void PairBackwardWeights(const LinearBackwardWeightsArgs<T>& first,
                                   const LinearBackwardWeightsArgs<T>& second) {
    LinearBackwardWeights(first);
    LinearBackwardWeights(second);
  }
  virtual void PairBackwardInput(LinearBackwardInputArgs<T> first,
                                 LinearBackwardInputArgs<T> second) {
    first.relu_output = nullptr;  // once is enough
    second.put = Put::kAdd;
    LinearBackwardInput(first);
    LinearBackwardInput(second);
  }

  virtual void ConvForward(const ConvForwardArgs<T>& args) = 0;
  virtual void ConvBackwardWeights(const ConvBackwardWeightsArgs<T>& args) = 0;
  virtual void ConvBackwardInput(const ConvBackwardInputArgs<T>& args) = 0;

  // On rows (net/rows.h). The defaults run on the host.
  virtual void CopyColumns(const CopyColumnsArgs<T>& args) { net::CopyColumns(args); }
  virtual void SumRows(const SumRowsArgs<T>& args) { net::SumRows(args); }
  virtual void MaskLogits(const MaskLogitsArgs<T>& args) { net::MaskLogits(args); }

  // Around convolutions (net/pictures.h). The defaults run on the host.
  virtual void Pad(const PadArgs<T>& args) { net::Pad(args); }
  virtual void Crop(const CropArgs<T>& args) { net::Crop(args); }
  virtual void MaxPoolForward(const MaxPoolForwardArgs<T>& args) { net::MaxPoolForward(args); }
  virtual void MaxPoolBackward(const MaxPoolBackwardArgs<T>& args) { net::MaxPoolBackward(args); }
  virtual void Add(const AddArgs<T>& args) { net::Add(args); }

  // y (count) = activation(x (count)).
  virtual void Activate(Activation activation, int count, const T* x, T* y) = 0;
  virtual void ActivateBackward(const ActivateBackwardArgs<T>& args) = 0;

  virtual void LayerNormForward(const LayerNormForwardArgs<T>& args) = 0;
  virtual void LayerNormBackward(const LayerNormBackwardArgs<T>& args) = 0;

  virtual void LstmCellForward(const LstmCellForwardArgs<T>& args) = 0;
  virtual void LstmCellBackward(const LstmCellBackwardArgs<T>& args) = 0;
  virtual void GruCellForward(const GruCellForwardArgs<T>& args) = 0;
  virtual void GruCellBackward(const GruCellBackwardArgs<T>& args) = 0;
  // to (n, WIDTH) = from, or zero in samples whose `resets` (n) is not 0: passes a state or its
  // gradient across a step in which episodes may end. `to` and `from` may be the same array.
  virtual void KeepState(int width, int n, const std::uint8_t* resets, const T* from, T* to) = 0;

  // to (n, WIDTH): row i is row rows[i] of `from`; for a minibatch. The defaults run on the host.
  virtual void Gather(int n, int width, const std::int32_t* rows, const T* from, T* to);
  virtual void Gather(int n, int width, const std::int32_t* rows, const std::uint8_t* from,
                      std::uint8_t* to);

  // Below and beside a net (net/running.h). The defaults run on the host.
  virtual void Standardize(const StandardizeArgs<T>& args) { net::Standardize(args); }
  virtual void StandardizePictures(const StandardizePicturesArgs<T>& args) {
    net::StandardizePictures(args);
  }
  virtual void SumMoments(const SumMomentsArgs<T>& args) { net::SumMoments(args); }
  virtual void ScaleRewards(const ScaleRewardsArgs<T>& args) { net::ScaleRewards(args); }

  // The ops above a net (net/loss.h). The defaults run on the host.

  virtual void SampleActions(const SampleActionsArgs<T>& args) { net::SampleActions(args); }
  virtual void AddBootstrap(const AddBootstrapArgs<T>& args);
  virtual void Advantages(const AdvantagesArgs<T>& args) { GeneralisedAdvantages(args); }
  virtual void Loss(const LossArgs<T>& args) { ActorCriticLoss(args); }
  virtual void LogProbs(const LogProbsArgs<T>& args) { net::LogProbs(args); }
  virtual void AdvantageMoments(const MomentsArgs<T>& args) { net::AdvantageMoments(args); }
  // Scales gradient (size) as net::ClipByGlobalNorm does; norm (1) is the norm before.
  virtual void ClipByGlobalNorm(std::size_t size, double max_norm, T* gradient, double* norm);

  // A net calls `progress` between the layers of a backward pass, and of a forward pass over many
  // samples. An actor shows with it that it lives. May be empty.
  void OnProgress(std::function<void()> progress) { progress_ = std::move(progress); }
  void Progress() const {
    if (progress_) progress_();
  }

 private:
  std::function<void()> progress_;
};

// While it lives, the weights at the addresses that the backend sees do not change, so the backend
// may convert them once for many calls. Otherwise it converts them at every call. A backend, which
// must outlive it, permits one at a time.
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

// The plain loops that define correct results; float and double.
template <class T>
std::unique_ptr<Backend<T>> MakeReferenceBackend();

// The fast one: oneDNN for dense products, own loops for sparse observations. Sets OpenMP to one
// thread on the calling thread. Equal inputs of equal shapes give equal bits with the same
// instructions; those that do not run here, and kAuto, are replaced by the best that do
// (core/instructions.h). kBf16 rounds the factors of linear layers of at least 128 x 128 weights.
// Throws UserError for kTf32, for kBf16 if they cannot multiply bf16, and if this process has made
// one with other instructions.
std::unique_ptr<Backend<float>> MakeCpuBackend(Precision precision = Precision::kF32,
                                               Instructions instructions = Instructions::kAuto);

// Throws UserError if MakeCpuBackend would for this precision.
void CheckCpuBackend(Precision precision, Instructions instructions);

// That of a GPU: products by cuBLAS, all other ops by own kernels, queued on the stream of `gpu`,
// which must outlive the backend. With kF32, equal inputs of equal shapes give equal bits on one
// model of GPU. kTf32 and kBf16 round the factors of products. Throws UserError if cuBLAS is not
// found or the build has no CUDA.
std::unique_ptr<Backend<float>> MakeCudaBackend(Gpu& gpu, Precision precision = Precision::kF32);

}  // namespace starling::net
