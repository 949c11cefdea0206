// Holds a backend to the reference, op by op: the same inputs to both, the reference in double.
//
// Every op of net/backend.h, over shapes of the shipped nets, odd ones and random ones, in each of
// its variants. What it writes starts as noise, so that an element left out, or added to, is found; so
// is what is written behind the end. For tests, and for an operator who asks whether a machine computes
// correctly. A CPU takes well under 0.1 s for each op.
//
// **Add an op**: a function in the file of its kind, a line in OpChecks().
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "net/backend.h"

namespace starling::net {

namespace checks {
class Trial;
}

struct OpError {
  std::string op;  // "linear forward"
  // The largest difference, relative to the largest magnitude in the array: of all arrays and cases the
  // one that is worst beside its tolerance. Infinite if something is not a number, or not as written.
  double error = 0, tolerance = 0;
  std::string where;  // of that: "dw of 1024x128, 20 samples"
  bool ok() const { return error <= tolerance; }
};

struct OpCheck {
  const char* op;
  void (*run)(checks::Trial&);
};
std::span<const OpCheck> OpChecks();

inline constexpr std::uint64_t kOpCheckSeed = 12;

// `precision` is that of the backend's products: rounded factors have tolerances of their own. Throws
// what the backend throws.
OpError CheckOp(const OpCheck& check, Backend<float>& backend,
                Precision precision = Precision::kF32, std::uint64_t seed = kOpCheckSeed);

// All of OpChecks().
std::vector<OpError> CheckOps(Backend<float>& backend, Precision precision = Precision::kF32,
                              std::uint64_t seed = kOpCheckSeed);

}  // namespace starling::net
