// Checks that this machine computes correctly: each op of each backend beside the reference.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "net/backend.h"
#include "net/checks/op_checks.h"
#include "tools/doctor/machine.h"

namespace starling::doctor {

// A backend to examine.
struct BackendToCheck {
  std::string name;    // "cpu bf16"
  std::string device;  // backends of one device are examined one after the other
  Precision precision = Precision::kF32;
  std::function<std::shared_ptr<net::Backend<float>>()> make;
};

struct OpRow {
  std::string backend;
  net::OpError found;
  std::string failure;  // message of an exception, or ""
  bool ok() const { return failure.empty() && found.ok(); }
};

// Returns all backends that `machine` can run.
std::vector<BackendToCheck> Backends(const Machine& machine);

// Returns a row for each op of each backend, in order. Never throws: an exception is the failure of
// its row, and the other ops are still examined.
std::vector<OpRow> Examine(const std::vector<BackendToCheck>& backends);

}  // namespace starling::doctor
