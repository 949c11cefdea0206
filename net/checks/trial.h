// The check of one op: the backend, the reference, their inputs, and the largest error so far.
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "core/memory.h"
#include "net/checks/op_checks.h"

namespace starling::net::checks {

// Memory for the arrays of one case; the next case reuses it.
class Arena {
 public:
  explicit Arena(Memory& memory) : memory_(memory) {}

  struct Region {
    std::byte* there;   // in the backend's memory
    std::byte* staged;  // of equal size, in its host_side()
  };
  Region Take(std::size_t bytes);  // at a cache line
  void Reset();                    // frees everything taken
  Memory& memory() { return memory_; }

 private:
  struct Block {
    Buffer<std::byte> there, staged;
  };
  Memory& memory_;
  std::vector<Block> blocks_;
  std::size_t block_ = 0, used_ = 0;  // index of the current block, and its used bytes
};

inline constexpr int kGuard = 64;  // bytes behind an array that no op may write

// An array that exists twice: in the memory of a backend, and on the host for the reference. Valid
// until the next Reset of the arena.
template <class T, class Exact = T>
class Twin {
 public:
  // Both arrays hold `values`. The backend's begins `skip` elements after a cache line.
  Twin(Arena& arena, const std::vector<T>& values, std::size_t skip = 0)
      : exact(values.begin(), values.end()), memory_(arena.memory()) {
    const std::size_t bytes = values.size() * sizeof(T);
    Arena::Region region = arena.Take(skip * sizeof(T) + bytes + kGuard);
    there_ = reinterpret_cast<T*>(region.there) + skip;
    staged_ = reinterpret_cast<T*>(region.staged) + skip;
    std::copy(values.begin(), values.end(), staged_);
    std::fill_n(guard(), kGuard, kUntouched);
    memory_.Write(there_, staged_, bytes + kGuard);
  }

  T* there() { return there_; }
  std::size_t size() const { return exact.size(); }

  struct Content {
    std::vector<T> values;
    bool within = true;  // whether the guard is intact
  };
  // Waits for all queued work, then returns the backend's array.
  Content Read() {
    memory_.Read(staged_, there_, size() * sizeof(T) + kGuard);
    memory_.Wait();
    return {{staged_, staged_ + size()},
            std::all_of(guard(), guard() + kGuard, [](std::byte b) { return b == kUntouched; })};
  }

  std::vector<Exact> exact;

 private:
  static constexpr std::byte kUntouched{0xa5};
  std::byte* guard() { return reinterpret_cast<std::byte*>(staged_ + size()); }

  Memory& memory_;
  T *there_, *staged_;
};

using Floats = Twin<float, double>;

class Trial {
 public:
  Trial(Backend<float>& backend, Precision precision);

  // Begins the next case and frees the arrays of the previous one.
  void Begin(std::string name);

  // Uniform in [-1, 1), at a cache line, like the parameters of a layer in the flat vector.
  Floats Weights(int count) { return Floats(arena_, Values(count)); }
  // Uniform in [-1, 1), like rows of activations: in every second pair of cases at any alignment,
  // else at a cache line.
  Floats Noise(int count) { return Floats(arena_, Values(count), Skip()); }
  // Like the output of a relu: a share of `density` is positive, the rest zero. Noise if it is 1.
  Floats Sparse(int count, double density);
  // Signed, with some zeros.
  Floats Mask(int count);
  template <class T>
  Twin<T> Same(std::vector<T> values) {
    return Twin<T>(arena_, values, Skip());
  }
  Floats Given(const std::vector<float>& values) { return Floats(arena_, values, Skip()); }
  Floats Biases(const std::vector<float>& values) { return Floats(arena_, values); }  // as Weights
  // An output of the reference, as the input of another op.
  Floats Rounded(const std::vector<double>& exact) {
    return Given(std::vector<float>(exact.begin(), exact.end()));
  }

  // Calls ops(backend, of) with the backend and then with the reference. of(twin) is the array of
  // that backend; of(pointer to twin) likewise, or nullptr.
  template <class Ops>
  void Both(Ops ops) {
    ops(backend_, OfBackend{});
    ops(*reference_, OfReference{});
  }
  template <class Ops>
  void Reference(Ops ops) {
    ops(*reference_, OfReference{});
  }

  // Compares `output` with the reference. Errors are relative to the largest expected magnitude, or
  // to `at_least` if that is larger: where large terms cancel, their rounding errors remain.
  void Expect(Floats& output, const char* what, double tolerance, double at_least = 0);
  // The same for sums of `terms` products of noise, in the precision of the backend.
  void ExpectProducts(Floats& output, const char* what, double f32_tolerance, int terms);
  template <class T>
  void ExpectEqual(Twin<T>& output, const char* what) {
    const auto content = output.Read();
    Note(content.within && content.values == output.exact ? 0 : INFINITY, 0, what);
  }
  void Note(double error, double tolerance, const char* what);

  Backend<float>& backend() { return backend_; }
  RandomStream& random() { return random_; }
  int Between(int low, int high);
  const OpError& worst() const;

 private:
  struct OfBackend {
    template <class T, class Exact>
    T* operator()(Twin<T, Exact>& twin) const {
      return twin.there();
    }
    template <class T, class Exact>
    T* operator()(Twin<T, Exact>* twin) const {
      return twin == nullptr ? nullptr : twin->there();
    }
  };
  struct OfReference {
    template <class T, class Exact>
    Exact* operator()(Twin<T, Exact>& twin) const {
      return twin.exact.data();
    }
    template <class T, class Exact>
    Exact* operator()(Twin<T, Exact>* twin) const {
      return twin == nullptr ? nullptr : twin->exact.data();
    }
  };

  std::vector<float> Values(int count);
  std::size_t Skip() { return case_ / 2 % 2 == 0 ? 0 : skip_++ % 4; }

  Backend<float>& backend_;
  const Precision precision_;
  std::unique_ptr<Backend<double>> reference_ = MakeReferenceBackend<double>();
  RandomStream random_{StreamId{.seed = 12}};
  Arena arena_;
  std::size_t skip_ = 0;
  int case_ = -1;
  std::string name_;
  OpError worst_;
  double worst_share_ = -1;  // error / tolerance of worst_
};

// The checks, one for each op of net/backend.h; op_checks.cc lists them.

void LinearForward(Trial& trial);  // linear.cc
void LinearAccumulate(Trial& trial);
void LinearBackwardWeights(Trial& trial);
void LinearBackwardInput(Trial& trial);
void LinearBackward(Trial& trial);
void PairForward(Trial& trial);
void PairBackwardWeights(Trial& trial);
void PairBackwardInput(Trial& trial);

void ConvForward(Trial& trial);  // conv2d.cc
void ConvBackwardWeights(Trial& trial);
void ConvBackwardInput(Trial& trial);

void Pad(Trial& trial);  // pictures.cc
void Crop(Trial& trial);
void MaxPoolForward(Trial& trial);
void MaxPoolBackward(Trial& trial);
void Add(Trial& trial);

void Activate(Trial& trial);  // layers.cc
void ActivateBackward(Trial& trial);
void LayerNormForward(Trial& trial);
void LayerNormBackward(Trial& trial);
void LstmCellForward(Trial& trial);
void LstmCellBackward(Trial& trial);
void GruCellForward(Trial& trial);
void GruCellBackward(Trial& trial);
void KeepState(Trial& trial);

void CopyColumns(Trial& trial);  // rows.cc
void SumRows(Trial& trial);
void MaskLogits(Trial& trial);

void Standardize(Trial& trial);  // running.cc
void StandardizePictures(Trial& trial);
void SumMoments(Trial& trial);
void ScaleRewards(Trial& trial);

void SampleActions(Trial& trial);  // policy.cc
void Loss(Trial& trial);
void LogProbs(Trial& trial);

void AddBootstrap(Trial& trial);  // returns.cc
void Advantages(Trial& trial);
void AdvantageMoments(Trial& trial);
void Gather(Trial& trial);
void ClipByGlobalNorm(Trial& trial);

}  // namespace starling::net::checks
