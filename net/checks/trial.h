// One op under check: the backend, the reference, what they are given, and the worst that was found.
#pragma once

#include <fmt/format.h>

#include <cmath>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "net/checks/op_checks.h"
#include "net/checks/twins.h"

namespace starling::net::checks {

class Trial {
 public:
  Trial(Backend<float>& backend, Precision precision, std::uint64_t seed);

  // The next case. The arrays of the one before are gone.
  void Begin(std::string name);

  // Uniform in [-1, 1). Of whole layers, as they lie in the flat vector of parameters: at a cache line.
  Floats Weights(int count) { return Floats(arena_, Values(count)); }
  // Rows of something larger: anywhere.
  Floats Noise(int count) { return Floats(arena_, Values(count), Skip()); }
  // As a relu leaves it: positive in a share of `density`, else zero. All of it noise at 1.
  Floats Sparse(int count, double density);
  // Signed, and some of it zero.
  Floats Mask(int count);
  template <class T>
  Twin<T> Same(std::vector<T> values) {
    return Twin<T>(arena_, values, Skip());
  }
  Floats Given(const std::vector<float>& values) { return Floats(arena_, values, Skip()); }
  // What the reference made of something, as an input of the next op.
  Floats Rounded(const std::vector<double>& exact) {
    return Given(std::vector<float>(exact.begin(), exact.end()));
  }

  // Calls ops(backend, of) twice: with the backend, of(twin) being the array in its memory, and with the
  // reference, of(twin) being the exact one. of(pointer) is nullptr of nullptr.
  template <class Ops>
  void Both(Ops ops) {
    ops(backend_, OfBackend{});
    ops(*reference_, OfReference{});
  }
  template <class Ops>
  void Reference(Ops ops) {
    ops(*reference_, OfReference{});
  }

  // Compares. An error is relative to the largest magnitude expected, or to `at_least`: where a few
  // large terms cancel, their rounding is not that of what is left.
  void Expect(Floats& output, const char* what, double tolerance, double at_least = 0);
  // Sums of `terms` products of noise, in the backend's precision.
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
  std::size_t Skip() { return skip_++ % 4; }

  Backend<float>& backend_;
  const Precision precision_;
  std::unique_ptr<Backend<double>> reference_ = MakeReferenceBackend<double>();
  RandomStream random_;
  Arena arena_;
  std::size_t skip_ = 0;
  std::string name_;
  OpError worst_;
  double worst_share_ = -1;  // of its tolerance
};

}  // namespace starling::net::checks
