// `starling doctor`: shows this machine, checks that it computes correctly, and lists missing
// parts.
#pragma once

#include <string>
#include <vector>

#include "tools/doctor/checks.h"
#include "tools/doctor/machine.h"

namespace starling::doctor {

struct DoctorOptions {
  bool json = false;   // one JSON object at the end instead of the text
  bool gpu = false;    // fail if there is no GPU
  bool full = false;   // Sizes::kLarge
  std::string only{};  // run only checks whose name contains this
  int limit_s = 120;   // of a check
};

// Prints to standard output; the line of a check when it ends. Returns the exit status: kExitFailed
// if a check fails, or if there is no GPU and one is wanted (then nothing is checked). If a check
// hangs, ends the process with that status. A check that breaks a CHECK aborts the process: its
// message is on standard error, and there is no JSON. Throws UserError as Only.
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

// RunDoctor with a machine and its checks.
struct Diagnosed {
  int status = 0;
  std::thread hanging;  // RunChecks': the caller joins it, or ends the process
};
Diagnosed Diagnose(const Machine& machine, std::vector<CheckGroup> groups,
                   const DoctorOptions& options);

}  // namespace starling::doctor
