// Compares a backend with the reference, op by op; the reference computes in double.
//
// The checks cover every op of net/backend.h in all variants, over shapes of the shipped nets, odd
// shapes and random ones. Output arrays start as noise, which reveals elements that an op leaves
// out or adds to; guards behind them reveal writes past the end. Used by the tests and by `starling
// doctor`. Each op takes well under 0.1 s on a CPU.
//
// **Add an op**: a function in the file of its kind, a line in OpChecks().
#pragma once

#include <span>
#include <string>

#include "net/backend.h"

namespace starling::net {

namespace checks {
class Trial;
}

struct OpError {
  std::string op;  // "linear forward"
  // The largest difference relative to the largest magnitude of an array, for the array with the
  // largest ratio of error to tolerance. Infinite if a value is NaN unlike the reference's or if
  // the op wrote past the end.
  double error = 0, tolerance = 0;
  std::string where;  // that array: "dw of 1024x128, 20 samples"
  bool ok() const { return error <= tolerance; }
};

struct OpCheck {
  const char* op;
  void (*run)(checks::Trial&);
};
std::span<const OpCheck> OpChecks();

// `precision` is that of the backend's products and widens the tolerances. Throws the exceptions of
// the backend.
OpError CheckOp(const OpCheck& check, Backend<float>& backend,
                Precision precision = Precision::kF32);

}  // namespace starling::net
