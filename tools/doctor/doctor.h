// `starling doctor`: shows this machine, checks that it computes correctly, and lists missing
// parts.
#pragma once

#include <string>
#include <vector>

#include "tools/doctor/checks.h"
#include "tools/doctor/machine.h"

namespace starling::doctor {

struct DoctorOptions {
  bool json = false;     // print one JSON object at the end instead of the text
  bool gpu = false;      // without a GPU the machine is not as it should be
  bool full = false;     // Sizes::kLarge
  std::string only{};    // of the name of a check; "" = all checks
  double limit_s = 120;  // for a check
};

// Prints to standard output; the text as the checks are done. Returns the exit status: kExitFailed
// if a check fails, or if there is no GPU and one is wanted. If a check hangs, ends the process
// with it. Throws UserError as Only.
int RunDoctor(const DoctorOptions& options);

// The parts of RunDoctor, for tests.

struct Diagnosis {
  Machine machine;
  std::vector<Row> rows{};
  bool wants_gpu = false;

  bool ok() const;
};
std::vector<std::string> MissingParts(const Diagnosis& diagnosis);  // sentences
// {"ok", "machine": {...}, "checks": [{"kind", "device", "what", "ok", "text", "problem",
// "seconds", and the numbers of the kind}], "missing": [...]}; a number is null if it is NaN or
// infinite.
std::string ToJson(const Diagnosis& diagnosis);

// RunDoctor with a machine and its checks. Returns the exit status and the thread of RunChecks.
struct Diagnosed {
  int status = 0;
  std::thread hanging;
};
Diagnosed Diagnose(const Machine& machine, std::vector<CheckGroup> groups,
                   const DoctorOptions& options);

}  // namespace starling::doctor
