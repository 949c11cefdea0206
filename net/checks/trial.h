// The check of one op: the backend, the reference, their inputs, and the largest error so far.
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

  // Begins the next case and frees the arrays of the previous one.
  void Begin(std::string name);

  // Uniform in [-1, 1), at a cache line, like the parameters of a layer in the flat vector.
  Floats Weights(int count) { return Floats(arena_, Values(count)); }
  // Uniform in [-1, 1), at any alignment, like rows of activations.
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
  std::size_t Skip() { return skip_++ % 4; }

  Backend<float>& backend_;
  const Precision precision_;
  std::unique_ptr<Backend<double>> reference_ = MakeReferenceBackend<double>();
  RandomStream random_;
  Arena arena_;
  std::size_t skip_ = 0;
  std::string name_;
  OpError worst_;
  double worst_share_ = -1;  // error / tolerance of worst_
};

}  // namespace starling::net::checks
