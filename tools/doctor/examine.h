// Whether this machine computes what it should: each op of each backend beside the reference.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "net/backend.h"
#include "net/checks/op_checks.h"
#include "tools/doctor/machine.h"

namespace starling::doctor {

// A backend to be examined.
struct BackendToCheck {
  std::string name;    // "cpu bf16"
  std::string device;  // what it runs on; those of one device take turns
  net::Precision precision = net::Precision::kF32;
  std::function<std::shared_ptr<net::Backend<float>>()> make;
};

struct OpRow {
  std::string backend;
  net::OpError found;
  std::string trouble;  // what was thrown instead, or ""
  bool ok() const { return trouble.empty() && found.ok(); }
};

// All that `machine` can run.
std::vector<BackendToCheck> Backends(const Machine& machine);

// A row for each op of each, in their order. Never throws: what is thrown is in its row, and the
// others are still tried.
std::vector<OpRow> Examine(const std::vector<BackendToCheck>& backends);

}  // namespace starling::doctor
