// `starling doctor`: shows this machine, checks that it computes correctly, and lists missing
// parts.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "net/backend.h"
#include "net/checks/op_checks.h"
#include "tools/doctor/machine.h"

namespace starling::doctor {

struct DoctorOptions {
  bool json = false;  // print one JSON object instead of the text
};

// Prints to standard output. Returns the exit status: kExitFailed if an op disagrees.
int RunDoctor(const DoctorOptions& options);

// The parts of RunDoctor, for tests.

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

struct Diagnosis {
  Machine machine;
  std::vector<OpRow> rows;
  bool ok() const;
};
std::vector<std::string> MissingParts(const Diagnosis& diagnosis);  // sentences
std::string ToText(const Diagnosis& diagnosis);
// {"ok", "machine": {...}, "ops": [{"backend", "op", "ok", "error", "tolerance", ...}],
// "missing": [...]}; an error is null if it is NaN or infinite.
std::string ToJson(const Diagnosis& diagnosis);
int Print(const Diagnosis& diagnosis, const DoctorOptions& options);

}  // namespace starling::doctor
